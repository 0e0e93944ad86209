"""
What a file defines, as text for a person: a heading, and each field that is set in a line or more.

In: names and values of fields.  Out: printable text of limited length.  Whatever must not be seen
is masked by the caller.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core import messages
from pi_subagents.core.plain_text import one_line, printable, shortened

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

MAX_WIDTH = 500
_MAX_PROMPT_LINES = 20
_KEY_WIDTH = 18


def definition_detail(
    heading: str, fields: Iterable[tuple[str, object]], prompts: Collection[str]
) -> str:
    """Return the heading and the fields; only `prompts` may have several lines."""
    lines = [one_line(heading, MAX_WIDTH)]
    for key, value in fields:
        first, *more = _prompt_lines(str(value)) if key in prompts else [_shown(value)]
        lines.append(detail_line(key, first))
        lines += [" " * (_KEY_WIDTH + 3) + line if line else "" for line in more]
    return "\n".join(lines)


def detail_line(key: str, value: str) -> str:
    """Return one more line for below a detail."""
    return f"  {key + ':':<{_KEY_WIDTH}} {value}"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return one_line(f"[{', '.join(value)}]", MAX_WIDTH)
    if isinstance(value, dict):
        return one_line(", ".join(f"{key}: {each}" for key, each in value.items()), MAX_WIDTH)
    if isinstance(value, bool):
        return "true" if value else "false"
    return one_line(str(value), MAX_WIDTH)


def _prompt_lines(text: str) -> list[str]:
    lines = printable(text).strip().split("\n")
    more = len(lines) - _MAX_PROMPT_LINES
    kept = [shortened(line.rstrip(), MAX_WIDTH) for line in lines[:_MAX_PROMPT_LINES]]
    return [*kept, messages.more_lines(more)] if more > 0 else kept
