"""The way of somebody new: a profile made with the wizard, used, changed and used again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.command import ENTRY, Ran, subagents
from tests.e2e.conftest import Project
from tests.e2e.pi_under_test import TRAITS
from tests.e2e.served_models import serving
from tests.fakes.profile_home import keep_the_rest_and_save
from tests.fakes.pty_terminal import DOWN, ENTER, ESC, TAB, UP, PtyTerminal

from pi_subagents.core import messages as core_messages
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.faces.cli import messages as cli_messages
from pi_subagents.faces.profile_wizard import messages as profile_wizard_messages

pytestmark = pytest.mark.pi

PROMPT = "You walk and say what you see."
NO_BASH = "This needs the bash tool, which I was not given: nothing was done.\n"
COUNTED = "notes.txt has 2 lines.\n"
SAVED = 'Profile "walker" saved to project agent-profiles.'


@pytest.fixture
def walk(project: Project, tmp_path: Path) -> Project:
    """A project to walk in, and an editor that always writes the same."""
    (project.path / "notes.txt").write_text("one\ntwo\n")
    prompt = tmp_path / "prompt.md"
    prompt.write_text(f"{PROMPT}\n")
    project.env |= {"EDITOR": f"cp {prompt}", "PI_OFFLINE": "1", "LC_ALL": "C.UTF-8"}
    return project


@pytest.fixture
def model(walk: Project) -> Iterator[OfflineModel]:
    """A provider of the user's own, so that pi has models to offer: `one` and `two`."""
    with serving(walk.agent_dir, {"id": "one"}, {"id": "two"}) as model:
        yield model


def wizard(walk: Project, verb: str, term: str = "xterm") -> PtyTerminal:
    argv = [*ENTRY, "profile", verb, "walker"]
    return PtyTerminal(argv, {**walk.env, "TERM": term}, cwd=walk.path)


def counted(walk: Project) -> Ran:
    task = "Count the lines in notes.txt"
    return subagents(walk, "run", "--plain", "--offline", "--profile", "walker", task)


def test_with_arrow_keys_a_profile_is_made_used_edited_and_used_again(
    walk: Project, model: OfflineModel
) -> None:
    with wizard(walk, "create") as screen:
        screen.press("Save to which scope?", DOWN, ENTER)
        screen.press("Provider (e.g.", "scri", TAB, ENTER)
        screen.press("Model (supports")
        screen.press("  two", DOWN, DOWN, ENTER)  # as the real pi lists them
        screen.press("Set a custom system prompt?", UP, ENTER)
        screen.press("Append text to the default", ESC)
        screen.press("Set a thinking level?", ENTER)
        screen.press("Restrict which tools", UP, ENTER)
        screen.press("→ Allow only some", ENTER)
        screen.press("Tools to allow", DOWN, ENTER, ENTER)
        keep_the_rest_and_save(screen)
        assert [line for line in screen.screen() if line][-2:] == [
            SAVED,
            f"{{2}}{cli_messages.use_profile('walker')}{{0}}",
        ]
    file = walk.path / ".pi" / "agent-profiles" / "walker.md"
    made = "---\nname: walker\nprovider: scripted\nmodel: two\ntools:\n- read\n---\n\n"
    assert file.read_text() == f"{made}{PROMPT}\n"

    ran = subagents(walk, "run", "--plain", "--profile", "walker", "Hello.")
    assert (ran.code, ran.out) == (0, "Hello.\n")
    (request,) = model.requests("all")
    assert request["model"] == "two"
    assert [tool["function"]["name"] for tool in request["tools"]] == ["read"]
    assert str(request["messages"][0]["content"]).startswith(PROMPT)
    assert NO_BASH in counted(walk).out

    with wizard(walk, "edit") as screen:
        screen.press("→ Project (.pi/agent-profiles/walker.md)", ENTER)
        screen.press("> scripted", ENTER)
        screen.press("> two", ENTER)
        screen.press("Keep a custom system prompt?", ENTER)
        screen.press("Append text to the default", ENTER)
        screen.press("Set a thinking level?", ENTER)
        screen.press("Restrict which tools", ENTER)
        screen.press("→ Allow only some", ENTER)
        screen.press("> read", DOWN, ENTER, ENTER)
        keep_the_rest_and_save(screen)
    assert file.read_text() == f"{made}{PROMPT}\n".replace("- read\n", "- read\n- bash\n")
    assert COUNTED in counted(walk).out


def test_on_a_dumb_terminal_without_a_model_the_way_is_the_same(walk: Project) -> None:
    with wizard(walk, "create", "dumb") as screen:
        screen.press("1-2 [1]: ", "2\n")
        screen.press(profile_wizard_messages.models_not_offered("")[:40])
        screen.press("[] > ", "\n")
        screen.press("[] > ", "\n")
        screen.press("Set a custom system prompt? [y/N]: ", "y\n")
        screen.press("[y/N]: ", "\n")
        screen.press("Set a thinking level? [y/N]: ", "\n")
        screen.press("use? [y/N]: ", "y\n")
        screen.press("1-3 [2]: ", "\n")
        screen.press(f"  known: {', '.join(TRAITS.tools)}\r\n[] > ", "read\n")
        screen.press("loading? [y/N]: ", "\n")
        screen.press("[y/N]: ", "\n")
        screen.press("Save this profile? [Y/n]: ", "\n")
        assert screen.ended() == 0
        # A notice is cut between words where the terminal ends.
        assert core_messages.NOTE_NO_MODEL in screen.shown.replace("\r\n", " ")
    assert NO_BASH in counted(walk).out

    with wizard(walk, "edit", "dumb") as screen:
        screen.press("1-2 [2]: ", *["\n"] * 7)
        screen.press("1-3 [2]: ", "3\n")
        screen.press("[] > ", "write, edit\n")
        screen.press("loading? [y/N]: ", *["\n"] * 2)
        screen.press("Save this profile? [Y/n]: ", "\n")
        assert screen.ended() == 0
        assert SAVED in screen.shown
    file = walk.path / ".pi" / "agent-profiles" / "walker.md"
    assert file.read_text() == (
        f"---\nname: walker\nexcludeTools:\n- write\n- edit\n---\n\n{PROMPT}\n"
    )
    assert COUNTED in counted(walk).out
