"""What holds the whole together: layers, light start-up, no shell, public names, clean files."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from scripts import measures, source_tree, trip
from scripts.source_tree import SOURCE, Tree

import pi_subagents
from pi_subagents.service.tools.registry import TOOLS

if TYPE_CHECKING:
    from pathlib import Path

TREE = Tree()
ROOT = SOURCE.parent
PACKAGE = TREE.package
NAME = PACKAGE.name
MODULES = TREE.modules

# Which rooms a room may import from.  `engines` and `hosts` know nothing of runs, `runners` nothing
# of engines, and the faces ask the service.
ROOMS = {
    "errors": "",
    "core": "errors",
    "view": "core errors",
    "system": "core errors",
    "config": "system core errors",
    "store": "workspaces system core errors",
    "workspaces": "system core errors",
    "engines": "config system core errors",
    "cluster": "system core errors",
    "supervisor": "engines store workspaces system core errors",
    "runners": "cluster store system core errors",
    "hosts": "engines config system view core errors",
    "service": "runners cluster hosts engines store workspaces config system view core errors",
    "api": "service view core errors",
    "faces": "api service view core errors",
}
# What everybody may know.
EVERYWHERE = {"_version"}


def room(module: str) -> str:
    """Return the part of the house a module is in; whoever runs the package is a face."""
    first = measures.room(module)
    return "faces" if first == "__main__" else first


@cache
def read_before() -> dict[str, ast.Module]:
    return {TREE.texts[path]: TREE.parsed[module] for module, path in MODULES.items()}


def syntax(source: str) -> ast.Module:
    """Return the tree of a text; those of our modules are made once."""
    return read_before().get(source) or ast.parse(source)


def imported(source: str) -> set[str]:
    return set(source_tree.imported(syntax(source), MODULES))


def wrong_imports(module: str, source: str) -> list[str]:
    """Return the imports that go against the direction."""
    here = room(module)
    allowed = {here, *EVERYWHERE, *ROOMS.get(here, "").split()}
    ours = sorted(each for each in imported(source) if each.split(".")[0] == NAME)
    return [f"{module} -> {target}" for target in ours if room(target) not in allowed]


def test_imports_go_one_way() -> None:
    found = (wrong_imports(module, TREE.texts[path]) for module, path in MODULES.items())
    assert [wrong for each in found for wrong in each] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("pi_subagents.core.x", "from pi_subagents.system import safe_io"),
        ("pi_subagents.core.x", "import pi_subagents.api"),
        ("pi_subagents.errors", "from pi_subagents.core.run.events import Note"),
        ("pi_subagents.store.x", "def f():\n    from pi_subagents.supervisor.child import Child"),
        ("pi_subagents.runners.x", "from pi_subagents.engines.base import Engine"),
        ("pi_subagents.engines.x", "from pi_subagents.runners.base import Runner"),
        ("pi_subagents.api", "from pi_subagents.faces import cli"),
        ("pi_subagents.api", "from pi_subagents.runners.pool import ChildPool"),
        ("pi_subagents.config.x", "from pi_subagents.engines.base import Engine"),
        ("pi_subagents.engines.x", "from pi_subagents.hosts.catalogue import HOSTS"),
        ("pi_subagents.faces.x", "if TYPE_CHECKING:\n    import pi_subagents.engines.base"),
        ("pi_subagents.faces.x", "def f():\n    from pi_subagents.system import home"),
        ("pi_subagents.store.x", "from pi_subagents import delegate"),
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
    tops = {module.split(".")[0] for module in imported(source)} - {NAME, "__future__"}
    calls = {
        node.func.id
        for node in ast.walk(syntax(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return (
        (tops & IMPURE)
        | (tops - sys.stdlib_module_names - {"yaml"})
        | (calls & {"open", "print", "input"})
    )


@pytest.mark.parametrize("pure", ["core", "view"])
def test_the_core_and_the_views_know_no_files_processes_clock_or_environment(pure: str) -> None:
    found = {
        str(path): impurities(text)
        for path, text in TREE.texts.items()
        if path.is_relative_to(PACKAGE / pure)
    }
    assert {name: impure for name, impure in found.items() if impure} == {}


def test_an_impurity_is_seen() -> None:
    source = "import os.path\nfrom time import monotonic\nimport msgspec\nopen('x')\nimport json"
    assert impurities(source) == {"os", "time", "msgspec", "open"}


def test_the_errors_import_nothing_of_ours() -> None:
    strangers = {
        module
        for path in PACKAGE.glob("errors/*.py")
        for module in imported(TREE.texts[path])
        if module.split(".")[0] not in sys.stdlib_module_names
    }
    assert {room(module) for module in strangers} == {"errors"}


def modules_after(statement: str, *flags: str) -> set[str]:
    """Return what a fresh interpreter has loaded after one statement."""
    code = f"import sys; sys.path.insert(0, sys.argv[1]); {statement}\nprint(*sys.modules)"
    argv = [sys.executable, "-I", *flags, "-c", code, str(SOURCE)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_the_supervisor_needs_the_standard_library_and_us_and_no_event_loop() -> None:
    loaded = modules_after("import pi_subagents.supervisor.main", "-S")
    tops = {name.split(".")[0] for name in loaded}
    assert tops - sys.stdlib_module_names == {NAME, "__main__"} - sys.stdlib_module_names
    # decision 013: these alone would take longer than all the rest
    slow = {"asyncio", "dataclasses", "inspect", "sqlite3", "http", "email", "logging"}
    assert tops & slow == set()
    ours = {room(name) for name in loaded if name.split(".")[0] == NAME and name != NAME}
    assert ours == {"supervisor", "store", "system", "engines", "core", "_version"}


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
        for module in imported(TREE.texts[MODULES[name]])
        if name != f"{NAME}.faces.cli.machine.serve"
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
    assert loaded == {f"{NAME}.faces.cli.{room}" for room in ("main", "console", "suggesting")}


def test_importing_the_package_loads_nothing_else_of_ours() -> None:
    loaded = {name for name in modules_after("import pi_subagents") if name.startswith(NAME)}
    assert loaded == {NAME, f"{NAME}._version"}


# A child's calls are previewed by their names, as the seeds do it: ours stand among all others.
NAMES_TOOLS = {f"{NAME}.view.toolcall"}


def decided_by_tool(source: str) -> list[str]:
    """Return the tools of ours on whose name something depends: compared, matched, looked up."""
    found: list[ast.expr | None] = []
    for node in ast.walk(syntax(source)):
        if isinstance(node, ast.Compare):
            listed = (each for each in node.comparators if isinstance(each, ast.Tuple | ast.Set))
            found += [
                node.left,
                *node.comparators,
                *(name for each in listed for name in each.elts),
            ]
        elif isinstance(node, ast.Dict):
            found += node.keys
        elif isinstance(node, ast.MatchValue):
            found.append(node.value)
    names = (str(each.value) for each in found if isinstance(each, ast.Constant))
    return [name for name in names if name in TOOLS]


def test_which_tool_it_is_decides_nothing_outside_the_registry() -> None:
    home = f"{NAME}.service.tools."
    found = {
        module: decided_by_tool(TREE.texts[path])
        for module, path in MODULES.items()
        if not module.startswith(home) and module not in NAMES_TOOLS
    }
    assert {module: names for module, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "source",
    ["tool == 'subagent'", "tool in ('subagent', 'x')", "{'subagent': 1}",
     "match tool:\n    case 'subagent': pass"],
)  # fmt: skip
def test_what_depends_on_a_tools_name_is_seen(source: str) -> None:
    assert decided_by_tool(source) == ["subagent"]


SHELLS = {
    ("os", "system"), ("os", "popen"), ("subprocess", "getoutput"), ("subprocess", "getstatusoutput"),
    ("asyncio", "create_subprocess_shell"),
}  # fmt: skip


def shells(source: str) -> list[str]:
    """Return every way in which a file would have a shell read a text."""
    found = []
    for node in ast.walk(syntax(source)):
        if isinstance(node, ast.keyword) and node.arg == "shell":
            found.append("shell=")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if (node.value.id, node.attr) in SHELLS:
                found.append(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found += [a.name for a in node.names if (node.module, a.name) in SHELLS]
    return found


def test_no_shell_is_ever_involved() -> None:
    assert [found for text in TREE.texts.values() for found in shells(text)] == []


@pytest.mark.parametrize(
    "source",
    ["subprocess.run('ls', shell=True)", "os.system('ls')", "os.popen('ls')",
     "from os import system", "subprocess.getoutput('ls')"],
)  # fmt: skip
def test_a_shell_is_seen(source: str) -> None:
    assert len(shells(source)) == 1


# Versions of something else than pi, and the order in which installed pis are looked at.
OTHER_VERSIONS = {
    "core.json_rpc": {"value.get('jsonrpc') != '2.0'"},
    "engines.pi.command": {"version >= node.MINIMUM"},
    "engines.pi.inspector": {"version >= (23, 7, 0)", "(22, 14, 0) <= version < (23, 0, 0)"},
    "engines.pi.install.managed": {"version_numbers"},
    "engines.pi.install.node": {"version >= MINIMUM"},
    "service.doctor.machine": {"sys.version_info < OLDEST_PYTHON"},
    "store.ledger": {"version > _VERSION"},
    "store.run_index": {"version < VERSION"},
    "system.landlock": {"found < TRUNCATE_SINCE"},
    "workspaces.git": {"version_of(words) < OLDEST"},
    "system.identity": {"version >= _HANDLES_ARE_NUMBERED"},
}


def version_comparisons(source: str) -> set[str]:
    return set(source_tree.version_comparisons(syntax(source)))


def test_what_differs_between_versions_of_pi_stands_in_one_table() -> None:
    found = {
        module.removeprefix(f"{NAME}."): comparisons
        for module, tree in TREE.parsed.items()
        if (comparisons := set(source_tree.version_comparisons(tree)))
    }
    assert found.pop("engines.pi.versions")
    assert found == OTHER_VERSIONS


@pytest.mark.parametrize(
    "source",
    ["pi.version >= '1.5.0'", "traits.version == '0.87.1'", "pi.version in ('1.4.0', '1.5.0')",
     "numbers < NO_MCP_SINCE", "pi_version.startswith('1.')", "version_numbers(pi.version)",
     "versions.version_numbers(told)", "PiTraits(version='1.5.0')", "(1, 5, 0) <= pi.version",
     "pi.version.split('.')[0] == '1'"],
)  # fmt: skip
def test_a_comparison_of_versions_is_seen(source: str) -> None:
    assert version_comparisons(source)


@pytest.mark.parametrize(
    "source",
    ["traits.has_mcp", "found.version == host.version", "message(pi.version, MCP_SINCE)",
     "from x import version_numbers", "def f(traits: PiTraits): ..."],
)  # fmt: skip
def test_a_trait_or_a_message_is_no_comparison(source: str) -> None:
    assert version_comparisons(source) == set()


def test_the_public_names_are_sorted_and_come_from_where_a_type_checker_sees_them() -> None:
    (block,) = (node for node in TREE.parsed[NAME].body if isinstance(node, ast.If))
    seen = {
        alias.asname or alias.name: (node.module or "").removeprefix(f"{NAME}.")
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    names = list(pi_subagents.__all__)
    assert names == sorted([*seen, "__version__"])
    values = {name: getattr(pi_subagents, name) for name in seen}
    assert {name: value.__module__ for name, value in values.items()} == {
        name: f"{NAME}.{module}" for name, module in seen.items()
    }


def test_a_name_that_is_not_ours_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pi_subagents' has no attribute 'nothing'"):
        pi_subagents.nothing  # noqa: B018 - looking it up is the test


def test_every_file_says_what_it_is() -> None:
    unsaid = [name for name, tree in TREE.parsed.items() if not ast.get_docstring(tree)]
    assert unsaid == []


# Words of which a newcomer cannot guess what is meant: a history, a context, an orphan, a callback.
ODD_WORDS = {
    "told", "tells", "stray", "leftover", "ears", "shelf", "ground", "surroundings", "forerunner",
    "foretell", "ahead",
}  # fmt: skip


def odd_names(tree: ast.AST) -> set[str]:
    """Return the names in a file, of whatever it defines, that are made of such a word."""
    names = (
        getattr(node, field, None)
        for node in ast.walk(tree)
        for field in ("id", "name", "arg", "attr")
    )
    words = {name: name.lower().split("_") for name in names if isinstance(name, str)}
    return {name for name, parts in words.items() if ODD_WORDS.intersection(parts)}


def test_names_are_made_of_ordinary_words() -> None:
    found = {module: odd_names(tree) for module, tree in TREE.parsed.items()}
    assert {module: names for module, names in found.items() if names} == {}
    source = "def told(ears): self.on_shelf = 1\nstory = 1"
    assert odd_names(syntax(source)) == {"told", "ears", "on_shelf"}


# Where the house is better than its target: how much of it there may be today.  Tighten it, never
# widen it; a measure that is not here holds its target.
AT_MOST = {
    "functions from `subagents run` to its supervisor": 23,
}


def test_the_house_is_in_order() -> None:
    """`python scripts/measures.py --where` shows every place that counts."""
    way = measures.way(trip.counted(trip.trip()))
    found = {each.name: each for each in (*measures.measures(TREE), way)}
    bounds = {name: AT_MOST.get(name, each.target) for name, each in found.items()}
    over = {
        name: (found[name].now, bound, found[name].where)
        for name, bound in bounds.items()
        if bound is not None and found[name].now > bound
    }
    assert over == {}
    assert AT_MOST.keys() <= found.keys()


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


PRIVATE = re.compile(r"_[a-z]\w*")


def private_names(source: str) -> list[str]:
    """Return what a test imports or replaces though its module keeps it to itself."""
    found: list[str] = []
    for node in ast.walk(syntax(source)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(NAME):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            (".setattr", ".delattr")
        ):
            given = [each.value for each in node.args if isinstance(each, ast.Constant)]
            found += [str(name).rpartition(".")[2] for name in given[:1]]
    return [name for name in found if PRIVATE.fullmatch(name)]


def test_tests_leave_alone_what_a_module_keeps_to_itself() -> None:
    """Attributes of values are ruff's affair (SLF001); these are names as texts and imports."""
    found = {
        path.name: private_names(path.read_text("utf-8")) for path in (ROOT / "tests").rglob("*.py")
    }
    assert {name: names for name, names in found.items() if names} == {}
    assert private_names(
        "from pi_subagents.x import _a, __version__\nmonkeypatch.setattr(b, '_c', 1)\n"
        "monkeypatch.setattr('d._e', 1)\nmonkeypatch.setattr(f, 'g', '_h')"
    ) == ["_a", "_c", "_e"]


CLOCKS = {"monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time"}
DURATIONS = {"duration_ms", "durationMs", "elapsed_ms", "elapsedMs", "elapsed", "took", "took_s"}


def elapsed_asserted(source: str) -> list[int]:
    """Return the lines that assert how long something took, as opposed to giving up in the end."""
    return [
        asserted.lineno
        for asserted in ast.walk(syntax(source))
        if isinstance(asserted, ast.Assert)
        if any(_is_time_that_passed(node) for node in ast.walk(asserted.test))
    ]


def _is_time_that_passed(node: ast.AST) -> bool:
    """Return whether a clock's times are subtracted, or a duration is more or less than a limit."""
    match node:
        case ast.BinOp(left, ast.Sub(), right):
            called = [each.func for each in (left, right) if isinstance(each, ast.Call)]
            return any(isinstance(each, ast.Attribute) and each.attr in CLOCKS for each in called)
        case ast.Compare(left, operators, others):
            return any(map(_is_duration, (left, *others))) and any(
                isinstance(each, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for each in operators
            )
    return False


def _is_duration(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=str(name)) | ast.Name(name):
            return name in DURATIONS
        case ast.Subscript(slice=ast.Constant(name)):
            return name in DURATIONS
    return False


def test_no_test_asserts_how_long_something_took() -> None:
    """A machine may be busy; what is quick is measured in benchmarks/."""
    found = {
        path.name: elapsed_asserted(path.read_text("utf-8"))
        for path in (ROOT / "tests").rglob("*.py")
    }
    assert {name: lines for name, lines in found.items() if lines} == {}
    assert elapsed_asserted(
        "assert time.monotonic() - began < 2\nassert time.monotonic() < end\n"
        'assert result.duration_ms >= 2\nassert 0 <= found["durationMs"] < 5\n'
        "assert elapsed == 3\nassert elapsed < 3"
    ) == [1, 3, 4, 6]
