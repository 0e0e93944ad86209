"""
Compose the text a child reads on its standard input.

In: the task's prompt.  Out: the same text, made to be read as text.
"""

from __future__ import annotations


def compose_prompt(prompt: str) -> str:
    """Return the prompt; one leading space keeps pi from running a first `/word` as a command."""
    return f" {prompt}" if prompt.startswith("/") else prompt
