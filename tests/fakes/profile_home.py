"""A home and a project for profiles or presets, and the command run in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.fakes.driver import FAKE_PI_COMMAND
from tests.fakes.pty_terminal import ENTER

from pi_subagents.config.preset_files import invalidate_presets_cache
from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.faces.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fakes.pty_terminal import PtyTerminal

ELSEWHERE = ("PI_AGENT_DIR", "PI_CODING_AGENT_DIR", "PI_SUBAGENTS_CHILD", "COLUMNS")


@dataclass
class ProfileHome:
    """Where `subagents profile` is asked: `user` and `project` are the directories of profiles."""

    root: Path
    capsys: pytest.CaptureFixture[str]
    verb: str = "profile"
    directory: str = "agent-profiles"

    @property
    def user(self) -> Path:
        return self.root / "home/.pi/agent" / self.directory

    @property
    def project(self) -> Path:
        return self.root / "project/.pi" / self.directory

    def run(self, *arguments: str) -> tuple[object, str, str]:
        """Run `subagents profile …` and return its exit code and what it printed."""
        invalidate_profiles_cache()
        invalidate_presets_cache()
        with pytest.raises(SystemExit) as stop:
            main([self.verb, *arguments])
        return (stop.value.code, *self.capsys.readouterr())

    def trust(self) -> None:
        """Decide, as pi would, that the project is trusted."""
        path = self.root / "home/.pi/agent/trust.json"
        path.write_text(f'{{"{self.root / "project"}": true}}')


def make_profile_home(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    """Make an empty one with a pi of the version that we install, and go there."""
    monkeypatch.setenv("PI_SUBAGENTS_PI", FAKE_PI_COMMAND)
    return _made(ProfileHome(root.resolve(), capsys), monkeypatch)


def make_wizard_home(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    prompt: str,
) -> ProfileHome:
    """Make one without a pi, on a terminal with arrow keys, whose editor always writes the same."""
    home = make_profile_home(root, monkeypatch, capsys)
    written = root / "prompt.md"
    written.write_text(prompt)
    for name, value in {
        "PI_SUBAGENTS_PI": str(root / "no-pi"),
        "TERM": "xterm",
        "EDITOR": f"cp {written}",
    }.items():
        monkeypatch.setenv(name, value)
    return home


def keep_the_rest_and_save(screen: PtyTerminal) -> None:
    """Take what the last questions of the wizard offer, and see it end well."""
    for question in ("Configure extension", "Configure skill", "Save this profile?"):
        screen.press(question, ENTER)
    assert screen.ended() == 0


def make_preset_home(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> ProfileHome:
    """Make one for `subagents preset` and its directories, and go there."""
    return _made(ProfileHome(root.resolve(), capsys, "preset", "subagents"), monkeypatch)


def _made(home: ProfileHome, monkeypatch: pytest.MonkeyPatch) -> ProfileHome:
    home.user.mkdir(parents=True)
    home.project.mkdir(parents=True)
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home.root / "home"))
    monkeypatch.chdir(home.root / "project")
    return home


def write_profile(directory: Path, name: str, *lines: str, body: str = "") -> Path:
    """Write a private file of that name; the lines follow `name:`."""
    path = directory / f"{name}.md"
    path.write_text("\n".join(["---", f"name: {name}", *lines, "---", body]))
    path.chmod(0o600)
    return path


def write_preset(directory: Path, name: str, *lines: str, body: str = "") -> Path:
    """Write a file of that name; the lines follow `name:` and `description:`."""
    return write_profile(directory, name, "description: For tests", *lines, body=body)
