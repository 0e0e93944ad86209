"""
Let a person write a text in an editor of theirs.

In: a text and the environment.  Out: what the editor saved, or CANCEL if it did not end well.  The
text lies in a private directory for as long as the editor runs.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.core.profile.questions import CANCEL
from pi_subagents.faces.profile_wizard import messages

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.profile.questions import Gesture

FALLBACKS = ("vi", "nano")
MAX_BYTES = 1024 * 1024


def chosen_editor(env: Mapping[str, str]) -> list[str]:
    """Return the editor that the environment names, if it names one."""
    for name in ("EDITOR", "VISUAL"):
        try:
            argv = shlex.split(env.get(name, ""))
        except ValueError:  # a quotation mark that is not closed
            continue
        if argv and shutil.which(argv[0], path=env.get("PATH")):
            return argv
    return []


def any_editor(env: Mapping[str, str]) -> list[str]:
    """Return the editor to use: the chosen one, or one that most machines have."""
    there = [[name] for name in FALLBACKS if shutil.which(name, path=env.get("PATH"))]
    return next((argv for argv in (chosen_editor(env), *there) if argv), [])


def written_in(argv: list[str], text: str) -> str | Gesture:
    """Return the text after editing."""
    edited = _edited(argv, text)
    if edited is None:
        click.echo(messages.editor_failed(argv[0]), err=True)
        return CANCEL
    return edited


def _edited(argv: list[str], text: str) -> str | None:
    with tempfile.TemporaryDirectory(prefix="subagents-") as directory:
        path = Path(directory) / "prompt.md"
        # An editor ends a file with a line feed; one that was not there is taken away again.
        complete = not text or text.endswith("\n")
        written = (text if complete else f"{text}\n").encode(errors="replace")
        path.touch(0o600)
        path.write_bytes(written)
        try:
            done = subprocess.run([*argv, str(path)], check=False)
            if done.returncode:
                return None
            with path.open("rb") as file:
                saved = file.read(MAX_BYTES + 1)
        except OSError:
            return None
    if len(saved) > MAX_BYTES:
        return None
    if saved == written:
        return text
    edited = saved.decode(errors="replace")
    return edited if text.endswith("\n") else edited.removesuffix("\n")
