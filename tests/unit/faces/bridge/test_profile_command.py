"""`/profile` in pi: the verbs of `subagents profile`, asked through dialogs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.odd_profiles import ODD_PROFILES
from tests.fakes.profile_home import ProfileHome, make_profile_home, write_profile

from pi_subagents import errors
from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.core import messages as core_messages
from pi_subagents.core.json_rpc import Failure
from pi_subagents.core.profile.messages import QUIT_TITLE
from pi_subagents.core.profile.profile import THINKING_LEVELS
from pi_subagents.faces.bridge import messages as bridge_messages
from pi_subagents.faces.bridge.params import ProfileLine
from pi_subagents.faces.bridge.profile_command import (
    Dialogs,
    ProfileReply,
    completions,
    run_profile_line,
)
from pi_subagents.faces.cli import messages as cli_messages
from pi_subagents.faces.cli.definitions import profile_write

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

GONE = object()
JS_BLANKS = " \t\n\x0b\x0c\r\xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200B))
)
MODELS = ("acme/big", "acme/small", "other/one")


@pytest.fixture
def home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    made = make_profile_home(tmp_path, monkeypatch, capsys)
    invalidate_profiles_cache()
    return made


# What the arguments of pi's own dialogs are.
_NAMES = {
    "select": ("title", "options"),
    "confirm": ("title", "message"),
    "input": ("title", "placeholder"),
    "editor": ("title", "prefill"),
}


class Asked:
    """A host whose user answers by a function; keeps every dialog."""

    def __init__(self, answer: Callable[[dict[str, Any]], object]) -> None:
        self._answer = answer
        self.dialogs: list[dict[str, Any]] = []
        self.hints: list[str] = []  # what Escape does in each

    async def request(self, method: str, params: dict[str, Any]) -> object | Failure:
        assert method == "dialog"
        kind, given = params["kind"], params["arguments"]
        whole = {"kind": kind, **dict(zip(_NAMES[kind], given, strict=False))}
        place = "message" if kind == "confirm" else "title"
        shown, _, hint = whole[place].rpartition("\n(Escape: ")
        self.hints.append(hint.removesuffix(")"))
        dialog = {**whole, place: shown}
        self.dialogs.append(dialog)
        value = self._answer(dialog)
        if value is GONE:
            raise asyncio.CancelledError
        return value

    @property
    def titles(self) -> list[str]:
        return [dialog["title"] for dialog in self.dialogs]


async def said(
    line: str, host: Asked | None = None, *, trusted: bool | None = None
) -> ProfileReply:
    asked = host or Asked(lambda _: pytest.fail("nobody is to be asked"))
    dialogs = Dialogs(asked, asyncio.get_running_loop())  # type: ignore[arg-type]  # all that is used of a Host
    given = ProfileLine(line, has_ui=True, models=MODELS, trusted=trusted)
    return await asyncio.to_thread(run_profile_line, given, dialogs)


# Looking


@pytest.mark.parametrize("verb", ["list", "ls"])
async def test_profiles_are_listed_as_the_command_lists_them(home: ProfileHome, verb: str) -> None:
    write_profile(home.user, "fast", "model: m", "thinkingLevel: off")
    write_profile(home.project, "slow", "model: n")
    text = "Subagent profiles:\n  profile: fast, model=m, thinking=off (global)"
    assert await said(verb) == ProfileReply(f"{text}\n  profile: slow, model=n (project)", "info")


async def test_what_a_script_would_read_is_said_too(home: ProfileHome) -> None:
    heard = json.loads((await said("list --json")).text)
    assert heard == {"schemaVersion": 1, "profiles": [], "problems": []}


async def test_without_any_it_says_where_to_put_them(home: ProfileHome) -> None:
    assert await said("list") == ProfileReply(
        f"{core_messages.NO_PROFILES}\n{cli_messages.ADD_PROFILE}", "info"
    )


@pytest.mark.parametrize("line", ["show fast", "fast", "  fast ", "show 'fast'"])
async def test_one_is_shown_by_its_bare_name_too(home: ProfileHome, line: str) -> None:
    write_profile(home.user, "fast", "model: m", "apiKey: sk-secret-key-12345")
    shown = await said(line)
    lines = shown.text.split("\n")
    assert lines[:2] == ["Profile: fast", "  model:             m"]
    assert "sk-secret" not in shown.text


@pytest.mark.parametrize(("decided", "is_warned"), [(True, False), (False, True), (None, False)])
async def test_a_projects_profile_is_shown_with_the_trust_that_the_host_has(
    home: ProfileHome, decided: bool | None, is_warned: bool
) -> None:
    write_profile(home.project, "own", "model: m", "apiKey: sk-secret-key-12345")
    if decided is not True:
        home.trust()
    warning = (await said("show own", trusted=decided)).warning
    assert ("the project is not trusted" in warning) is is_warned


async def test_a_quote_that_nobody_closed_is_part_of_a_word(home: ProfileHome) -> None:
    assert await said('show "fast') == ProfileReply(
        str(errors.ProfileNameInvalid('"fast')), "error"
    )


async def test_a_broken_file_is_a_warning_beside_the_list(home: ProfileHome) -> None:
    home.user.mkdir(parents=True, exist_ok=True)
    (home.user / "bad.md").write_text("---\nname: bad\n")
    write_profile(home.user, "odd", "model: m", "colour: red")
    heard = await said("list")
    assert heard.text == "Subagent profiles:\n  profile: odd, model=m (global)"
    assert heard.level == "info"
    broken, odd = heard.warning.split("\n")
    assert broken.startswith("Not loaded: ")
    assert core_messages.FENCE_NOT_CLOSED in broken
    assert odd.startswith(str(home.user / "odd.md")), "that it is a warning, pi says"


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("show nope", 'Profile "nope" not found. Available: (none)'),
        ("nope", 'Profile "nope" not found. Available: (none)'),
        ("show a b", "Got unexpected extra argument (b)"),
    ],
)
async def test_what_cannot_be_done_is_an_error(home: ProfileHome, line: str, text: str) -> None:
    assert await said(line) == ProfileReply(text, "error")


@pytest.mark.parametrize("line", ["", "   ", "--help", "create --help", "-h", "show", "create"])
async def test_what_says_too_little_is_answered_with_the_usage(
    home: ProfileHome, line: str
) -> None:
    assert await said(line) == ProfileReply(bridge_messages.PROFILE_USAGE, "warning")


async def test_a_fault_of_ours_is_told_and_not_raised(
    home: ProfileHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(profile_write, "candidates", fail)
    heard = await said("create x")
    assert heard == ProfileReply("internal error, please report it: ZeroDivisionError:", "error")


# Creating


async def test_a_profile_is_created_by_dialogs(home: ProfileHome) -> None:
    def answer(dialog: dict[str, Any]) -> object:
        replies: dict[str, object] = {
            "Save to which scope?": dialog.get("options", [""])[-1],
            "Provider (e.g. anthropic, openai, dashscope):": "acme\nhub\n",
            "Model (supports provider/id and :thinking shorthand):": "big",
            "System prompt?": True,
            "System prompt:": "Be kind.\nAlways.",
            "Thinking level?": True,
            "Thinking level:": "high",
            "Configure tools?": True,
            "Tools:": "Allow only some tools (all others are excluded)",
            "Tools to allow (comma-separated):": "read, grep",
            'Save profile "demo"?': True,
        }
        return replies.get(
            dialog["title"].partition("\n")[0], False if dialog["kind"] == "confirm" else None
        )

    host = Asked(answer)
    heard = await said("new demo", host)
    assert heard.text.startswith('Profile "demo" saved to project agent-profiles.')
    assert (home.project / "demo.md").read_text() == (
        "---\nname: demo\nprovider: acme hub\nmodel: big\nthinkingLevel: high\ntools:\n- read\n- grep\n---\n\n"
        "Be kind.\nAlways.\n"
    )
    kinds = {dialog["title"]: dialog["kind"] for dialog in host.dialogs}
    assert kinds["Save to which scope?"] == "select"
    assert kinds["Model (supports provider/id and :thinking shorthand):"] == "input"
    assert kinds["System prompt:"] == "editor"
    offered = [dialog.get("placeholder") for dialog in host.dialogs if dialog["kind"] == "input"]
    assert offered[0] == "acme, other"
    review = host.dialogs[-1]
    assert (review["kind"], review["title"]) == ("confirm", 'Save profile "demo"?')
    assert review["message"].startswith("---\nname: demo\nprovider: acme hub\n")
    assert review["message"].endswith("\n\nSave this profile?")


async def test_leaving_every_dialog_saves_nothing(home: ProfileHome) -> None:
    host = Asked(lambda _: None)
    heard = await said("create demo", host)
    assert heard.text.endswith(cli_messages.NOTHING_SAVED)
    assert not home.user.exists() or list(home.user.iterdir()) == []
    assert host.titles.count(QUIT_TITLE) == 5  # after every two
    assert len(host.dialogs) == 15
    assert host.hints[:3] == ["take global", bridge_messages.SKIPS_FIELD, "go on"]
    assert host.hints[-2:] == ["save nothing", "go on"]


async def test_who_leaves_two_dialogs_in_a_row_can_answer_them_again_or_quit(
    home: ProfileHome,
) -> None:
    answers = iter([None, None, "Answer the last two questions again", None, None])
    host = Asked(lambda _: next(answers, "Quit without saving"))
    told = await said("create demo", host)
    assert told.text.endswith(cli_messages.NOTHING_SAVED)
    first, second = host.titles[:2]
    assert host.titles == [first, second, QUIT_TITLE, first, second, QUIT_TITLE]
    assert list(home.user.iterdir()) == []


async def test_a_name_that_does_not_exist_is_asked_about_again(home: ProfileHome) -> None:
    answers = {"Model (supports provider/id and :thinking shorthand):": iter(["gtp", "openai/gpt"])}

    def answer(dialog: dict[str, Any]) -> object:
        title, _, _ = dialog["title"].partition("\n")
        if title in answers:
            return next(answers[title])
        if dialog["kind"] == "confirm":
            return title.startswith("Save")
        return dialog["options"][0] if dialog["kind"] == "select" else ""

    host = Asked(answer)
    told = await said("create demo", host)
    assert told.text.startswith('Profile "demo" saved')
    again = [dialog for dialog in host.dialogs if "Enter keeps it" in dialog["title"]]
    assert [(dialog["kind"], dialog["prefill"]) for dialog in again] == [("editor", "gtp")]
    assert "model: openai/gpt" in (home.user / "demo.md").read_text()


@pytest.mark.parametrize("value", [GONE, Failure(-32603, "no ui"), 7, "no such option", ["x"]])
async def test_an_answer_that_is_none_saves_nothing(home: ProfileHome, value: object) -> None:
    host = Asked(lambda dialog: value if dialog["kind"] != "confirm" else None)
    assert (await said("create demo", host)).text.endswith(cli_messages.NOTHING_SAVED)
    assert not (home.user / "demo.md").exists()
    if value is GONE:
        assert len(host.dialogs) == 1


async def test_options_on_the_line_need_no_dialog(home: ProfileHome) -> None:
    heard = await said("create quick --model m --scope global")
    assert heard.text.startswith('Profile "quick" saved to global agent-profiles.')
    there = str(errors.ProfileExists("quick", str(home.user / "quick.md")))
    assert await said("create quick") == ProfileReply(there, "error")


# Editing and deleting


async def test_what_is_there_is_edited_in_place_and_stands_first(home: ProfileHome) -> None:
    write_profile(home.user, "p", "provider: acme", "model: m", "thinkingLevel: medium")

    def keep(dialog: dict[str, Any]) -> object:
        """Press Enter everywhere."""
        match dialog["kind"]:
            case "select":
                return dialog["options"][0]
            case "confirm":
                kept = ("Thinking level?", 'Save profile "p"?')
                return dialog["title"] in kept
            case _:
                return dialog.get("prefill", "")

    host = Asked(keep)
    heard = await said("edit p", host)
    assert heard.text.endswith(cli_messages.NOTHING_CHANGED)
    prefilled = {d["title"]: d["prefill"] for d in host.dialogs if d["kind"] == "editor"}
    assert list(prefilled.values()) == ["acme", "m"]
    levels = next(d["options"] for d in host.dialogs if d["title"] == "Thinking level:")
    assert levels == ["medium", *(each for each in THINKING_LEVELS if each != "medium")]


def enter_in_pi(dialog: dict[str, Any]) -> object:
    """Return what pi answers if its user does nothing but press Enter."""
    match dialog["kind"]:
        case "select":
            return dialog["options"][0]
        case "confirm":
            return True  # its cursor stands on Yes, whatever is asked
        case "editor":  # it changes these by itself
            text = dialog["prefill"].replace("\r\n", "\n").replace("\r", "\n")
            return text.replace("\t", "    ").strip(JS_BLANKS)
        case _:
            return ""


@pytest.mark.parametrize("what", ODD_PROFILES)
async def test_enter_at_every_dialog_of_an_edit_leaves_the_file_as_it_is_to_the_byte(
    home: ProfileHome, what: str
) -> None:
    path = home.user / "demo.md"
    path.write_bytes(ODD_PROFILES[what])
    host = Asked(enter_in_pi)
    heard = await said("edit demo", host)
    assert (heard.text, heard.level) == (cli_messages.NOTHING_CHANGED, "info")
    assert path.read_bytes() == ODD_PROFILES[what]
    assert [each.name for each in home.user.iterdir()] == ["demo.md"]
    assert list(home.project.iterdir()) == []
    assert host.titles[-1] == 'Save profile "demo"?'


async def test_in_an_edit_a_no_comes_first_where_enter_must_not_mean_yes(home: ProfileHome) -> None:
    write_profile(home.user, "p", "loadSkills: a")
    host = Asked(enter_in_pi)
    await said("edit p", host)
    (removing,) = [d for d in host.dialogs if d["title"].startswith("Remove skill")]
    assert removing == {
        "kind": "select",
        "title": "Remove skill configuration?\nRemove the skills that are configured?",
        "options": ["No", "Yes"],
    }

    def clear(dialog: dict[str, Any]) -> object:
        return "Yes" if dialog["title"].startswith("Remove skill") else enter_in_pi(dialog)

    await said("edit p", Asked(clear))
    assert (home.user / "p.md").read_text() == "---\nname: p\n---\n"


@pytest.mark.parametrize("verb", ["delete", "rm", "remove"])
async def test_a_profile_is_deleted_after_a_yes(home: ProfileHome, verb: str) -> None:
    write_profile(home.user, "old", "model: m")
    for value in (False, None, "yes", 1):
        refused = await said(f"{verb} old", Asked(lambda _, value=value: value))  # type: ignore[misc]  # bound now
        assert refused == ProfileReply("Nothing was deleted.", "info")
        assert (home.user / "old.md").exists()
    host = Asked(lambda _: True)
    heard = await said(f"{verb} old", host)
    assert heard == ProfileReply(
        f'Deleted the global profile "old": {home.user / "old.md"}', "info"
    )
    assert not (home.user / "old.md").exists()
    (dialog,) = host.dialogs
    assert (dialog["kind"], dialog["title"]) == ("confirm", "Delete profile?")
    assert dialog["message"] == (
        f'global profile: {home.user / "old.md"}\n\nDelete subagent profile "old"?'
    )


# Completion


async def test_verbs_and_names_complete_and_a_value_is_the_whole_line(home: ProfileHome) -> None:
    write_profile(home.user, "lion", "model: m")
    first = completions("l")
    assert [(item["value"], item["label"]) for item in first] == [
        ("list", "list"), ("lint", "lint"), ("lion", "lion"),
    ]  # fmt: skip
    assert first[2]["description"] == "profile: lion, model=m"
    for verb in ("show", "edit", "delete", "rm", "remove", "path"):
        (item,) = completions(f"{verb} li")
        assert (item["value"], item["label"]) == (f"{verb} lion", "lion")
    assert completions("list") == completions("show lion") == completions("lion") == []
    assert completions("show x") == completions("create l") == completions("show lion x") == []
