"""
Prove that a pi works, by starting it with an extension.

In: how it is started, and the version it should be.  Out: nothing, or what is wrong with it.
That it prints its version proves little: a pi that lacks packages does so too, and fails at its
first task.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.asking import ask_pi

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

LIMIT_S = 60.0  # a cold disk; normally half a second
COMMAND = "pi-subagents-proof"
# TypeScript, and it needs what pi gives to extensions: both have to work for ours.
EXTENSION = f"""\
import {{ type ExtensionAPI, VERSION }} from "@earendil-works/pi-coding-agent";

export default function proof(pi: ExtensionAPI): void {{
  pi.registerCommand("{COMMAND}", {{ description: VERSION, handler: async () => {{}} }});
}}
"""
_MAX_ERROR = 500


def why_unusable(
    argv: Sequence[str], version: str, *, env: Mapping[str, str], directory: Path
) -> tuple[str, ...]:
    """Start pi with everything it writes below a directory; return what is wrong, if anything."""
    agent_dir = directory / "agent"
    agent_dir.mkdir()
    extension = directory / "proof.ts"
    extension.write_text(EXTENSION)
    options = ("--mode", "rpc", "--no-session", "--no-approve", "--extension", str(extension))
    answers = ask_pi(
        (*argv, *options),
        ("get_state", "get_commands"),
        # Its own home: the user's agent directory must not be touched, nor decide anything.
        env={**env, "PI_CODING_AGENT_DIR": str(agent_dir)},
        cwd=directory,
        limit_s=LIMIT_S,
    )
    if answers.reason:
        return (answers.reason, *answers.output)
    for reply in answers.replies.values():
        if reply.get("success") is not True:
            return (one_line(str(reply.get("error")), _MAX_ERROR),)
    match answers.replies["get_commands"]:
        case {"data": {"commands": list(commands)}}:
            for command in commands:
                if isinstance(command, dict) and command.get("name") == COMMAND:
                    found = str(command.get("description"))
                    other = messages.pi_is_another(one_line(found, _MAX_ERROR))
                    return () if found == version else (other,)
    return (messages.PI_LOADED_NO_EXTENSION,)
