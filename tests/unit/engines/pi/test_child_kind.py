"""Which children could take each other's place, and which must not."""

from __future__ import annotations

import json
import os
import time
from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.value import replace
from pi_subagents.engines.pi import child_kind
from pi_subagents.engines.pi.child_kind import PACKAGE_DIR, ChildKinds, ChildShape
from pi_subagents.engines.pi.models.config import MAX_CONFIG_BYTES, config_content
from pi_subagents.engines.pi.versions import traits_of

if TYPE_CHECKING:
    from pathlib import Path

OURS = str(PACKAGE_DIR / "engines" / "pi" / "offline_provider.mjs")


class Home:
    """A home and a project, and the kind of a child that would be started there."""

    def __init__(self, root: Path) -> None:
        self.agent = root / "home" / ".pi" / "agent"
        self.project = root / "work" / "project"
        for folder in (self.agent, self.project / ".pi"):
            folder.mkdir(parents=True)
        self.env = {"HOME": str(root / "home"), "LANG": "C"}
        self.version = "0.87.1"
        self.shape = ChildShape(
            argv=("/bin/pi", "--mode", "rpc", "--system-prompt", "/runs/1/system-prompt.md"),
            environment={"PI_SUBAGENTS_RUN": "1" * 32, "PI_SUBAGENTS_CHILD": "1"},
            cwd=str(self.project),
            trusted=False,
            texts={"/runs/1/system-prompt.md": b"Be brief."},
            isolation="",
        )

    def kind(self, **changes: object) -> str:
        shape = replace(self.shape, **changes)
        return ChildKinds(self.env, traits_of(self.version)).kind_of(shape)

    def arguments(self, *more: str) -> tuple[str, ...]:
        return (*self.shape.argv, *more)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_runs_that_differ_in_their_ids_alone_are_of_one_kind(home: Home) -> None:
    other = home.kind(
        argv=("/bin/pi", "--mode", "rpc", "--system-prompt", "/runs/2/system-prompt.md"),
        environment={"PI_SUBAGENTS_RUN": "2" * 32, "PI_SUBAGENTS_CHILD": "1"},
        texts={"/runs/2/system-prompt.md": b"Be brief."},
    )
    assert home.kind() == other != ""


CHANGES: list[dict[str, object]] = [
    {"texts": {"/runs/1/system-prompt.md": b"Be long."}},
    {"cwd": "/"},
    {"trusted": True},
    {"environment": {"PI_API_KEY": "another"}},
    {"argv": ("/bin/pi", "--mode", "rpc")},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_whatever_else_differs_makes_another_kind(home: Home, change: dict[str, object]) -> None:
    assert home.kind() != home.kind(**change) != ""


def test_where_there_is_no_directory_no_file_is_looked_at_and_no_child_shared(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_kind, "config_content", None)  # nobody may ask for it
    for cwd in ("/" + "a/" * 600, str(home.project / "none"), "/" + "a" * 300, "/a\0b"):
        assert home.kind(cwd=cwd, isolation="reuse") == ""


def test_one_call_tells_its_children_apart_as_calls_of_their_own_do(home: Home) -> None:
    more: list[dict[str, object]] = [{"isolation": "fresh"}, {"environment": {"PI_API_KEY": "3"}}]
    changes = [{}, *CHANGES, *more, {}]
    kinds = ChildKinds(home.env, traits_of(home.version))
    shapes = [replace(home.shape, **change) for change in changes]
    assert list(map(kinds.kind_of, shapes)) == [home.kind(**change) for change in changes]


def test_the_callers_environment_and_the_version_of_pi_count(home: Home) -> None:
    before = home.kind()
    home.env["SOME_VARIABLE"] = "x"
    with_variable = home.kind()
    home.version = "0.87.2"
    assert len({before, with_variable, home.kind()}) == 3


@pytest.mark.parametrize(
    "name",
    [
        *(f"home/.pi/agent/{name}" for name in ("models.json", "auth.json", "settings.json")),
        *(f"home/.pi/agent/{name}" for name in ("trust.json", "SYSTEM.md", "APPEND_SYSTEM.md")),
        *(f"home/.pi/agent/{name}" for name in ("AGENTS.md", "CLAUDE.md")),
        *(f"work/project/{name}" for name in ("AGENTS.md", "AGENTS.override.md", "CLAUDE.md")),
        *(f"work/{name}" for name in ("AGENTS.md", "CLAUDE.MD")),
        "AGENTS.MD",
    ],
)
def test_the_content_of_every_file_pi_reads_counts(home: Home, tmp_path: Path, name: str) -> None:
    without = home.kind()
    (tmp_path / name).write_text('{"a": 1}')
    first = home.kind()
    (tmp_path / name).write_text('{"a": 2}')
    assert len({without, first, home.kind()}) == 3


@pytest.mark.parametrize("folder", ["skills", "prompts"])
def test_files_in_the_directories_that_pi_looks_through_count(home: Home, folder: str) -> None:
    without = home.kind()
    path = home.agent / folder / "some" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("one")
    first = home.kind()
    path.write_text("two!")
    assert len({without, first, home.kind()}) == 3


def test_what_a_kind_has_become_is_looked_up_anew(home: Home) -> None:
    kinds = ChildKinds(home.env, traits_of(home.version))
    kind = kinds.kind_of(home.shape)
    assert kinds.kind_now(kind) == kind
    (home.project / "AGENTS.md").write_text("Be brief.")
    assert kinds.kind_of(home.shape) == kind  # as it was planned
    assert kinds.kind_now(kind) == home.kind() != kind
    (home.agent / "extensions").mkdir()
    (home.agent / "extensions" / "planted.ts").touch()
    assert kinds.kind_now(kind) == ""
    assert kinds.kind_now("") == kinds.kind_now("0" * 32) == ""


def test_what_has_not_changed_for_a_while_is_not_read_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.agent / "settings.json").write_text('{"a": 1}')
    kinds = ChildKinds(home.env, traits_of(home.version))
    kind = kinds.kind_of(home.shape)
    later = time.time_ns() + child_kind.SETTLED_NS + 1
    monkeypatch.setattr(time, "time_ns", lambda: later)
    assert (
        kinds.kind_now(kind) == kind
    )  # read once more: it was too new for its times to be trusted
    monkeypatch.setattr(child_kind, "config_content", None)  # nobody may ask for it
    assert kinds.kind_now(kind) == kind
    monkeypatch.setattr(child_kind, "config_content", config_content)
    (home.agent / "settings.json").write_text('{"a": 2}')
    assert kinds.kind_now(kind) == home.kind() != kind


def test_what_is_too_new_for_its_times_to_be_trusted_is_read_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = home.agent / "settings.json"
    settings.write_text('{"a": 1}')
    kinds = ChildKinds(home.env, traits_of(home.version))
    kind = kinds.kind_of(home.shape)
    found = settings.stat()
    settings.write_text('{"a": 2}')
    real = os.stat  # the same in every respect, as within one tick of the kernel's clock
    monkeypatch.setattr(
        os, "stat", lambda path, **more: found if path == str(settings) else real(path, **more)
    )
    assert kinds.kind_now(kind) == home.kind() != kind


def test_an_extension_of_ours_that_leads_elsewhere_by_now_is_not_ours(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = home.agent / "ours.mjs"
    link.symlink_to(OURS)
    (home.agent / "settings.json").write_text(json.dumps({"extensions": [str(link)]}))
    later = time.time_ns() + 2 * child_kind.SETTLED_NS
    monkeypatch.setattr(time, "time_ns", lambda: later)
    kinds = ChildKinds(home.env, traits_of(home.version))
    kind = kinds.kind_of(home.shape)
    assert kinds.kind_now(kind) == kind != ""
    link.unlink()
    link.symlink_to(home.project / "other.mjs")
    assert kinds.kind_now(kind) == ""


def test_a_projects_own_configuration_counts_where_it_is_trusted(home: Home) -> None:
    kinds = [home.kind(trusted=trusted) for trusted in (False, True)]
    (home.project / ".pi" / "settings.json").write_text('{"a": 1}')
    changed = [home.kind(trusted=trusted) for trusted in (False, True)]
    assert changed[0] == kinds[0]
    assert changed[1] != kinds[1]


def test_the_empty_object_that_pi_writes_by_itself_is_no_change(home: Home) -> None:
    before = home.kind()
    (home.agent / "auth.json").write_text("{}\n")
    assert home.kind() == before


def test_a_file_too_large_to_be_read_counts_all_the_same(home: Home) -> None:
    without = home.kind()
    (home.project / "AGENTS.md").write_bytes(b"a" * (MAX_CONFIG_BYTES + 1))
    first = home.kind()
    (home.project / "AGENTS.md").write_bytes(b"b" * (MAX_CONFIG_BYTES + 2))
    assert len({without, first, home.kind()}) == 3


def test_a_fresh_child_is_of_no_kind(home: Home) -> None:
    assert home.kind(isolation="fresh") == ""


def test_a_foreign_extension_makes_a_child_nobody_elses_unless_it_is_asked_for(home: Home) -> None:
    argv = home.arguments("--extension", "/some/extension.ts")
    assert home.kind(argv=argv) == ""
    assert home.kind(argv=argv, isolation="reuse") != ""
    assert home.kind(argv=home.arguments("--extension=/some/extension.ts")) == ""
    assert home.kind(argv=home.arguments("-e", OURS)) != ""
    assert home.kind(argv=home.arguments("-e", OURS, "-e", "/some/extension.ts")) == ""


@pytest.mark.parametrize("trusted", [False, True])
def test_extensions_that_pi_finds_by_itself_count(home: Home, trusted: bool) -> None:
    folder = home.project / ".pi" / "extensions"
    folder.mkdir()
    (folder / "one.ts").touch()
    assert (home.kind(trusted=trusted) == "") is trusted
    assert home.kind(trusted=trusted, argv=home.arguments("--no-extensions")) != ""
    (home.agent / "extensions").mkdir()
    (home.agent / "extensions" / "two.ts").touch()
    assert home.kind(trusted=trusted) == ""


@pytest.mark.parametrize(
    ("settings", "foreign"),
    [
        ({"packages": ["npm:something"]}, True),
        ({"packages": [{"source": "git:host/some"}]}, True),
        ({"extensions": ["./mine.ts"]}, True),
        ({"packages": [str(PACKAGE_DIR / "pi_extension")]}, False),
        ({"packages": [str(PACKAGE_DIR / "pi_extension"), "npm:something"]}, True),
        ({"packages": [], "extensions": []}, False),
    ],
)
def test_packages_and_extensions_in_pis_settings_count_but_for_our_own(
    home: Home, settings: object, foreign: bool
) -> None:
    (home.agent / "settings.json").write_text(json.dumps(settings))
    assert (home.kind() == "") is foreign


@pytest.mark.parametrize(
    ("version", "name", "trusted", "counts"),
    [
        ("1.5.0", "home/.pi/agent/mcp.json", False, True),
        ("1.5.0", "home/.pi/agent/mcp.json", True, True),
        ("1.5.0", "work/project/.pi/mcp.json", True, True),
        ("1.5.0", "work/project/.pi/mcp.json", False, False),
        ("0.87.1", "home/.pi/agent/mcp.json", True, False),
        ("0.87.1", "work/project/.pi/mcp.json", True, False),
    ],
)
def test_mcp_servers_count_where_the_pi_reads_of_them(
    home: Home, tmp_path: Path, version: str, name: str, *, trusted: bool, counts: bool
) -> None:
    home.version = version
    kinds = [home.kind(trusted=trusted)]
    for server in ("a", "b"):
        (tmp_path / name).write_text(json.dumps({"mcpServers": {server: {}}}))
        kinds.append(home.kind(trusted=trusted))
    assert (len(set(kinds)), "" in kinds) == (3 if counts else 1, False)
