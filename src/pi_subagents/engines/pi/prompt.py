"""
Compose the text a child reads on its standard input.

In: the task's prompt.  Out: the same text, made to be read as text.
"""

from __future__ import annotations

import re

# pi trims its input (a byte order mark too), then runs a first `/word` as a command or expands
# it as a template.  A leading space would be trimmed away; a zero-width space is not.
# docs/decisions/002-prompts-are-data.md
GUARD = "\u200b"
_COMMAND = re.compile(r"[\s\ufeff]*/")


def compose_prompt(prompt: str) -> str:
    """Return the prompt, guarded where pi would take its beginning for a command."""
    return GUARD + prompt if _COMMAND.match(prompt) else prompt
