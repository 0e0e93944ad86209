"""Which of a project's and the user's own definitions are listed and shown, by setting and trust."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.fakes.profile_home import (
    ProfileHome,
    make_preset_home,
    make_profile_home,
    write_preset,
    write_profile,
)

from pi_subagents.api import call_tool
from pi_subagents.core import messages
from pi_subagents.faces.cli import messages as cli_messages
from pi_subagents.service.tools.messages import profile_to_ask_about

if TYPE_CHECKING:
    from pathlib import Path

WRITERS = {"profile": write_profile, "preset": write_preset}
MAKERS = {"profile": make_profile_home, "preset": make_preset_home}
BOTH = pytest.mark.parametrize("kind", ["profile", "preset"])
THEIRS = pytest.mark.parametrize(
    ("policy", "trusted"), [("allow", True), ("ask", True), ("deny", True), ("allow", False)]
)


@pytest.fixture
def home(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> ProfileHome:
    """A user and a project that both have a `scout`; `new` is the project's alone."""
    made = MAKERS[kind](tmp_path, monkeypatch, capsys)
    write = WRITERS[kind]
    write(made.user, "scout", "model: mine")
    write(made.project, "scout", "model: theirs")
    write(made.project, "new", "model: theirs")
    return made


def decide(home: ProfileHome, policy: str, *, trusted: bool) -> None:
    settings = home.root / "home/.pi/agent/settings.json"
    settings.write_text(json.dumps({"subagents": {"project_definitions": policy}}))
    if trusted:
        home.trust()


def line(kind: str, name: str, model: str, origin: str) -> str:
    purpose = " — For tests" if kind == "preset" else ""
    return f"  {kind}: {name}{purpose}, model={model} ({origin})\n"


def not_used(kind: str) -> str:
    own = messages.note_own_instead(kind, "scout", messages.FOREIGN_DENIED)
    alone = messages.foreign_refused(kind, "new", messages.FOREIGN_DENIED)
    return f"{alone}\n{own}\n"


def paths(home: ProfileHome) -> tuple[str, str]:
    return str(home.user / "scout.md"), str(home.project / "scout.md")


@BOTH
@THEIRS
def test_where_the_projects_count_they_are_listed_and_shown(
    home: ProfileHome, kind: str, policy: str, trusted: bool
) -> None:
    decide(home, policy, trusted=trusted)
    assert home.run("list") == (
        0,
        f"Subagent {kind}s:\n"
        + line(kind, "new", "theirs", "project")
        + line(kind, "scout", "theirs", "project, overrides global"),
        "",
    )
    own, theirs = paths(home)
    code, out, err = home.run("show", "scout")
    assert (code, f"project, overrides {own}" in out) == (0, True)
    replaces = messages.note_replaces(kind, "scout", theirs)
    assert err == ("" if trusted else f"{replaces}\n")
    assert home.run("path", "scout") == (0, f"{theirs}\n", "")


@BOTH
def test_denied_the_users_own_are_listed_and_shown_and_why(home: ProfileHome, kind: str) -> None:
    decide(home, "deny", trusted=False)
    origin = f"global, {cli_messages.PROJECTS_NOT_USED}"
    listed = f"Subagent {kind}s:\n" + line(kind, "scout", "mine", origin)
    assert home.run("list") == (0, listed, not_used(kind))
    own, _ = paths(home)
    code, out, err = home.run("show", "scout")
    assert (code, "model:             mine" in out, f"path:              {own}" in out) == (
        0,
        True,
        True,
    )
    assert err == f"{messages.note_own_instead(kind, 'scout', messages.FOREIGN_DENIED)}\n"
    assert home.run("path", "scout") == (0, f"{own}\n", "")


@BOTH
def test_what_only_a_denied_project_has_is_shown_with_why_no_task_gets_it(
    home: ProfileHome, kind: str
) -> None:
    decide(home, "deny", trusted=False)
    code, out, err = home.run("show", "new")
    assert (code, "model:             theirs" in out) == (0, True)
    assert messages.foreign_refused(kind, "new", messages.FOREIGN_DENIED) in err


@BOTH
def test_one_to_be_asked_about_is_listed_by_its_name_alone(home: ProfileHome, kind: str) -> None:
    decide(home, "ask", trusted=False)
    asked = "".join(f"  {kind}: {n} ({cli_messages.ASKS_FIRST})\n" for n in ("new", "scout"))
    assert home.run("list") == (0, f"Subagent {kind}s:\n{asked}", "")


@BOTH
def test_for_scripts_the_list_says_which_counts_which_asks_and_which_does_not_count(
    home: ProfileHome, kind: str
) -> None:
    own, theirs = paths(home)
    decide(home, "deny", trusted=False)
    denied = json.loads(home.run("list", "--json")[1])
    assert [(row["path"], row["overrides"]) for row in denied[f"{kind}s"]] == [(own, None)]
    assert denied["notes"] == not_used(kind).splitlines()
    decide(home, "ask", trusted=False)
    asked = json.loads(home.run("list", "--json")[1])
    assert asked[f"{kind}s"][1] == {
        "name": "scout",
        "scope": "project",
        "path": theirs,
        "overrides": own,
        "summary": f"{kind}: scout",
        "asksFirst": True,
    }


@pytest.mark.parametrize("kind", ["profile"])
@pytest.mark.parametrize(
    ("policy", "trusted", "lines", "scopes"),
    [
        *(
            (
                policy,
                trusted,
                ["profile: new, model=theirs", "profile: scout, model=theirs"],
                {"new": "project", "scout": "project"},
            )
            for policy, trusted in (
                ("allow", True),
                ("ask", True),
                ("deny", True),
                ("allow", False),
            )
        ),
        (
            "ask",
            False,
            [profile_to_ask_about("new"), profile_to_ask_about("scout")],
            {"new": "project", "scout": "project"},
        ),
        ("deny", False, ["profile: scout, model=mine"], {"scout": "global"}),
    ],
)
async def test_the_tool_lists_what_a_task_would_get(
    home: ProfileHome, policy: str, trusted: bool, lines: list[str], scopes: dict[str, str]
) -> None:
    decide(home, policy, trusted=trusted)
    said = {
        "allow": [messages.note_replaces("profile", "scout", paths(home)[1])],
        "ask": [],
        "deny": not_used("profile").splitlines(),
    }
    answer = await call_tool("list_subagent_profiles", {})
    assert answer["content"] == [{"type": "text", "text": "\n".join(lines)}]
    details = answer["details"]
    assert isinstance(details, dict)
    assert (details["scopes"], details.get("problems", [])) == (
        scopes,
        [] if trusted else said[policy],
    )
