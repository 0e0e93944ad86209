"""
One thing that was looked at: how it stands, what was found, how to fix it.

A check that fails itself is a check too: a problem, never a traceback.  No text of a check holds
a key, a prompt or the value of a variable that may be one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable

# fatal: delegation cannot work.  problem: something will.  note: good to know.
State = Literal["ok", "note", "problem", "fatal"]


@value
class Check:
    """The outcome of one check; `public` is what a bug report says instead of `found`."""

    id: str
    title: str
    state: State
    found: str
    fix: str = ""
    public: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the check for a script."""
        return {
            "id": self.id,
            "title": self.title,
            "state": self.state,
            "found": self.found,
            "fix": self.fix,
        }


@value
class Subject:
    """What a check is about; builds its outcomes."""

    id: str
    title: str

    def ok(self, found: str, *, public: str = "") -> Check:
        """All is well."""
        return Check(self.id, self.title, "ok", found, public=public)

    def note(self, found: str, fix: str = "", *, public: str = "") -> Check:
        """Good to know."""
        return Check(self.id, self.title, "note", found, fix, public)

    def problem(self, found: str, fix: str, *, public: str = "") -> Check:
        """Something will not work as it should."""
        return Check(self.id, self.title, "problem", found, fix, public)

    def fatal(self, found: str, fix: str, *, public: str = "") -> Check:
        """Delegation cannot work."""
        return Check(self.id, self.title, "fatal", found, fix, public)

    def guarded(self, look: Callable[[], Check]) -> Check:
        """Return what the look found, or that the look itself failed."""
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - one broken thing must not hide the others
            # Messages of unexpected errors may quote anything; the system's own words do not.
            words = error.strerror if isinstance(error, OSError) else None
            return self.problem(
                f"could not be checked ({words or type(error).__name__})",
                "If this is not plain from the other lines, please report it: "
                "`subagents doctor --report` writes the text.",
            )
