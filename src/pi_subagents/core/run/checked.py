"""
What the check of a task said of its work: run by us, not reported by the sub-agent.

In: a command's end, or decoded JSON.  Out: a Checked, or JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core.value import as_dict, value

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject


CHECKED, CHECK_FAILED, CLAIMED = "checked", "check failed", "claimed, not checked"


@value
class Checked:
    """How a check ended; `exit_code` None means that it had to be ended or never began."""

    command: str
    exit_code: int | None
    tail: str = ""  # of what it printed

    @property
    def passed(self) -> bool:
        """Return whether the work is what was wanted."""
        return self.exit_code == 0

    @property
    def word(self) -> str:
        """Return in a word what it said."""
        return CHECKED if self.passed else CHECK_FAILED


def checked_to_json(checked: Checked) -> JsonObject:
    """Return it as it stands in `result.json`."""
    content = as_dict(checked)
    return {"passed": checked.passed, "exitCode": content.pop("exit_code"), **content}


def checked_from_json(given: Any) -> Checked | None:
    """Return it, or None where there is none."""
    match given:
        case {"command": str(command), "exitCode": int() | None as code, "tail": str(tail)}:
            return Checked(command, code, tail)
    return None
