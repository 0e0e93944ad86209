"""Lines of windows as they come from calls of tools, and from messages to a child."""

from __future__ import annotations

from pi_subagents.view.preview import LineSpan, path_line, span_line
from pi_subagents.view.window import FAILED_MARK, MARK, NO_MARK, WindowLine


def tool_line(*pieces: str | LineSpan) -> WindowLine:
    """Return the line of a call; a bare text is muted."""
    return WindowLine(span_line(*pieces), "tool", MARK)


def following_line(*pieces: str | LineSpan) -> WindowLine:
    """Return a line that goes on with the call before it."""
    return WindowLine(span_line(*pieces), "tool", NO_MARK)


def path_call(name: str, path: str, *behind: str | LineSpan) -> WindowLine:
    """Return the line of a call that is about a file."""
    return WindowLine(path_line(f"{name} → ", path, *behind), "tool", MARK)


def failed_call(call: str, reason: str) -> WindowLine:
    """Return the line of a call that failed."""
    return WindowLine((LineSpan(call), LineSpan(f": {reason}", "failed")), "failed", FAILED_MARK)


def steer_line(text: str) -> WindowLine:
    """Return the line of a message to a child at work."""
    return WindowLine((LineSpan(text, "steer"),), "steer", MARK)


def added(text: str) -> LineSpan:
    """Return a figure that is good news."""
    return LineSpan(text, "added")


def figure(text: str) -> LineSpan:
    """Return what belongs to a figure and has no colour of its own."""
    return LineSpan(text, "figure")


def removed(text: str) -> LineSpan:
    """Return a figure of what is gone."""
    return LineSpan(text, "removed")


def kept(text: str) -> LineSpan:
    """Return the end of a line that stays where the line is cut."""
    return LineSpan(text, kept=True)
