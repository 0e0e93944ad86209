"""
What was perhaps meant by a word that is no verb.

In: the word, and the verbs there are.  Out: the end of a message, empty where nothing is like it;
a group that refuses such a word with it.  The same words in every group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

LIKENESS = 0.5  # of what was typed and a verb: `rnu` is like `run` and `runs`


def meant(word: str, verbs: Iterable[str], likeness: float = LIKENESS) -> str:
    """Return a sentence with the verbs that are most like a word, after a space."""
    from difflib import get_close_matches

    close = get_close_matches(word, list(verbs), n=2, cutoff=likeness)
    return f" Did you mean {' or '.join(close)}?" if close else ""


class SuggestingGroup(click.Group):
    """A group that names the verbs that were perhaps meant."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb, or refuse what is none."""
        verbs = self.list_commands(ctx)
        if args[0] not in verbs and not args[0].startswith("-"):
            ctx.fail(f'No such command "{args[0]}".{meant(args[0], verbs)}')
        return super().resolve_command(ctx, args)
