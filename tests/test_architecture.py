"""What holds the whole together: layers, light start-up, no shell, public names, clean files."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

import pi_subagents

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src"
PACKAGE = SRC / "pi_subagents"
NAME = PACKAGE.name
FILES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__"): path
    for path in FILES
}

# faces -> api -> delegation | procs | engines -> disk -> core -> errors
LEVELS = {
    "faces": 5, "api": 4, "delegation": 3, "procs": 3, "engines": 3, "disk": 2, "core": 1,
    "errors": 0, "messages": 0, "profile_messages": 0, "setup_messages": 0, "host_messages": 0, "watch_messages": 0,
    "child_messages": 0, "fault_messages": 0, "store_messages": 0, "_version": 0,
}  # fmt: skip
COMPOSITION_ROOTS = (
    "api",
    "background",
    "definition_questions",
    "doctor",
    "fleet",
    "fleet_actions",
    "launch",
    "presets",
    "runs",
    "sessions",
    "steering",
    "tool_calls",
)
MAX_LINES = 400


def room(module: str) -> str:
    """Return the part of the house a module is in; the public package counts as its API."""
    first = module.removeprefix(NAME).lstrip(".").split(".")[0]
    if first == "__main__":
        return "faces"
    return "api" if first in {"", *COMPOSITION_ROOTS} else first


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield every module that is imported anywhere in a file, also for types only."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module or ""


def wrong_imports(module: str, source: str) -> list[str]:
    """Return the imports that go against the direction."""
    here = room(module)
    found = []
    for target in imported(ast.parse(source)):
        there = room(target) if target.split(".")[0] == NAME else None
        if there in (None, here):
            continue
        if there not in LEVELS or here not in LEVELS or LEVELS[there] >= LEVELS[here]:
            found.append(f"{module} -> {target}")
    return found


@pytest.mark.parametrize("module", MODULES)
def test_imports_go_one_way(module: str) -> None:
    assert wrong_imports(module, MODULES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pi_subagents.core.x", "from pi_subagents.disk import safe_io"),
        ("pi_subagents.core.x", "import pi_subagents.api"),
        ("pi_subagents.errors", "from pi_subagents.core.events import Note"),
        ("pi_subagents.disk.x", "def f():\n    from pi_subagents.procs.child import Child"),
        ("pi_subagents.procs.x", "from pi_subagents.engines.node import find"),
        ("pi_subagents.delegation.x", "from pi_subagents.procs import identity"),
        ("pi_subagents.engines.x", "from pi_subagents.delegation.ports import Runner"),
        ("pi_subagents.api", "from pi_subagents.faces import cli"),
        ("pi_subagents.disk.x", "from pi_subagents import delegate"),
        ("pi_subagents.somewhere.x", "from pi_subagents import errors"),
    ],
)
def test_an_import_against_the_direction_is_seen(module: str, source: str) -> None:
    assert len(wrong_imports(module, source)) == 1


IMPURE = {
    "asyncio", "concurrent", "ctypes", "datetime", "email", "fcntl", "getpass", "glob", "http", "io",
    "logging", "mmap", "multiprocessing", "os", "pathlib", "platform", "pwd", "random", "resource",
    "secrets", "select", "selectors", "shutil", "signal", "socket", "socketserver", "sqlite3", "ssl",
    "stat", "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip


def impurities(source: str) -> set[str]:
    """Return what a file of the core may not touch: the outside world, and other people's code."""
    tree = ast.parse(source)
    tops = {module.split(".")[0] for module in imported(tree)} - {NAME, "__future__"}
    calls = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return (
        (tops & IMPURE)
        | (tops - sys.stdlib_module_names - {"yaml"})
        | (calls & {"open", "print", "input"})
    )


@pytest.mark.parametrize("path", sorted((PACKAGE / "core").rglob("*.py")), ids=lambda p: p.name)
def test_the_core_knows_no_files_processes_clock_or_environment(path: Path) -> None:
    assert impurities(path.read_text(encoding="utf-8")) == set()


def test_an_impurity_is_seen() -> None:
    source = "import os.path\nfrom time import monotonic\nimport msgspec\nopen('x')\nimport json"
    assert impurities(source) == {"os", "time", "msgspec", "open"}


def test_the_errors_import_nothing_of_ours() -> None:
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in PACKAGE.glob("errors/*.py"))
    strangers = {
        module
        for tree in trees
        for module in imported(tree)
        if module.split(".")[0] not in sys.stdlib_module_names
    }
    assert {room(module) for module in strangers} == {"errors"}


def modules_after(statement: str, *flags: str) -> set[str]:
    """Return what a fresh interpreter has loaded after one statement."""
    code = f"import sys; sys.path.insert(0, sys.argv[1]); {statement}\nprint(*sys.modules)"
    argv = [sys.executable, "-I", *flags, "-c", code, str(SRC)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_the_supervisor_needs_the_standard_library_and_us_and_no_event_loop() -> None:
    loaded = modules_after("import pi_subagents.procs.supervise", "-S")
    tops = {name.split(".")[0] for name in loaded}
    assert tops - sys.stdlib_module_names == {NAME, "__main__"} - sys.stdlib_module_names
    # decision 013: these alone would take longer than all the rest
    slow = {"asyncio", "dataclasses", "inspect", "sqlite3", "http", "email", "logging"}
    assert tops & slow == set()
    ours = {room(name) for name in loaded if name.split(".")[0] == NAME and name != NAME}
    words = {"messages", "child_messages", "fault_messages"}
    assert ours == {"procs", "disk", "core", "_version"} | words


HEAVY = {"asyncio", "http.server", "msgspec", "textual", "rich", "yaml", "sqlite3"}


@pytest.mark.parametrize("module", ["pi_subagents", "pi_subagents.faces.cli.main"])
def test_importing_us_loads_nothing_heavy(module: str) -> None:
    assert modules_after(f"import {module}") & HEAVY == set()


PROTOCOL = {"mcp", "mcp_types", "pydantic", "starlette", "uvicorn"}


def test_the_library_of_the_protocol_is_loaded_by_its_server_alone() -> None:
    """Loading it takes a second, which no other command has to spare."""
    server = f"{NAME}.faces.mcp_server."
    others = [
        name for name in MODULES if not name.startswith(server) and name != f"{NAME}.__main__"
    ]
    loaded = modules_after("import " + ", ".join(others))
    assert {name.split(".")[0] for name in loaded} & PROTOCOL == set()
    everywhere = {
        module.split(".")[0]
        for name in others
        for module in imported(ast.parse(MODULES[name].read_text(encoding="utf-8")))
        if name != f"{NAME}.faces.cli.mcp"
    }
    assert everywhere & PROTOCOL == set()


def test_the_list_of_verbs_is_told_without_loading_one() -> None:
    help_told = (
        "import contextlib, os; from pi_subagents.faces.cli import main\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(open(os.devnull, 'w')):\n"
        "    main.main(['--help'])\n"
        "pass"
    )
    loaded = {name for name in modules_after(help_told) if name.startswith(f"{NAME}.faces.cli.")}
    assert loaded == {f"{NAME}.faces.cli.main", f"{NAME}.faces.cli.console"}


def test_importing_the_package_loads_nothing_else_of_ours() -> None:
    loaded = {name for name in modules_after("import pi_subagents") if name.startswith(NAME)}
    assert loaded == {NAME, f"{NAME}._version"}


SHELLS = {
    ("os", "system"), ("os", "popen"), ("subprocess", "getoutput"), ("subprocess", "getstatusoutput"),
    ("asyncio", "create_subprocess_shell"),
}  # fmt: skip


def shells(source: str) -> list[str]:
    """Return every way in which a file would have a shell read a text."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.keyword) and node.arg == "shell":
            found.append("shell=")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in SHELLS:
                found.append(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found += [a.name for a in node.names if (node.module, a.name) in SHELLS]
    return found


@pytest.mark.parametrize("module", MODULES)
def test_no_shell_is_ever_involved(module: str) -> None:
    assert shells(MODULES[module].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    ["subprocess.run('ls', shell=True)", "os.system('ls')", "os.popen('ls')",
     "from os import system", "subprocess.getoutput('ls')"],
)  # fmt: skip
def test_a_shell_is_seen(source: str) -> None:
    assert len(shells(source)) == 1


def test_the_public_names_are_sorted_and_each_has_a_home() -> None:
    names = list(pi_subagents.__all__)
    assert names == sorted(names)
    assert set(names) == {*pi_subagents._HOMES, "__version__"}


@pytest.mark.parametrize("name", pi_subagents.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    value = getattr(pi_subagents, name)
    if name in pi_subagents._HOMES:
        assert value.__module__ == f"{NAME}.{pi_subagents._HOMES[name]}"


def test_the_names_a_type_checker_sees_are_the_names_there_are() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.asname or alias.name: (node.module or "").removeprefix(f"{NAME}.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == pi_subagents._HOMES


def test_a_name_that_is_not_ours_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pi_subagents' has no attribute 'nothing'"):
        pi_subagents.nothing  # noqa: B018 - looking it up is the test


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_every_file_says_what_it_is_and_is_short_enough_to_read(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(source)), "no docstring"
    assert source.count("\n") <= MAX_LINES


# Nothing of the machine it was written on.  Put together from words, so as not to find itself.
HOMES = (b"work/", b"root/", b"home/[a-z_]")
MACHINE_PATHS = re.compile(rb"(?<![\w.~-])/(?:%s)" % b"|".join(HOMES))
PACKAGE_INDEX = re.compile(rb"https?://([\w.:@-]+)/(?:[\w.-]+/)*(?:simple|npm|pypi)\b")
INDEX_VARIABLES = (
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX", "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
)  # fmt: skip


def project_files() -> list[Path]:
    argv = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(argv, cwd=ROOT, capture_output=True, check=True, timeout=60)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    paths = (ROOT / os.fsdecode(name) for name in done.stdout.split(b"\0") if name)
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def machine_traces(data: bytes) -> list[bytes]:
    hosts = {
        host.encode()
        for name in INDEX_VARIABLES
        for url in os.environ.get(name, "").split()
        if (host := urlsplit(url).hostname)
    }
    return [
        *(found.group() for found in MACHINE_PATHS.finditer(data)),
        *PACKAGE_INDEX.findall(data),
        *(host for host in hosts if host in data),
    ]


def test_no_file_names_the_machine_it_was_written_on() -> None:
    traces = {
        str(path.relative_to(ROOT)): machine_traces(path.read_bytes()) for path in project_files()
    }
    assert {name: found for name, found in traces.items() if found} == {}


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("cd /{work}/x", 1),
        ("'/{root}/.cache'", 1),
        ("/{home}/jane/x", 1),
        ("see packages.corp.test", 1),
        ("index = https://mirror.corp.test/{index}/simple", 1),
        ("src/{work}/x ~/{work}/ $HOME/{root}/ /{home}s/", 0),
    ],
)
def test_a_trace_of_the_machine_is_seen(
    monkeypatch: pytest.MonkeyPatch, text: str, seen: int
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://user:secret@packages.corp.test/x")
    words = {word: word for word in ("work", "root", "home", "index")}
    assert len(machine_traces(text.format(**words).encode())) == seen
