"""
Children that wait for the next call of a host.

In: nothing; the calls that are given the pool fill it.  Out: calls that begin sooner; none of the
children is alive once the pool is closed.
"""

from __future__ import annotations

from typing import Self

from pi_subagents.runners.pool import ChildPool


class Pool:
    """
    What a host keeps between its calls.

    One that calls again and again keeps one, `async with Pool() as pool`, and hands it to each
    call; how many children then wait for the next call is for the settings to say.
    """

    def __init__(self) -> None:
        self.children = ChildPool()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def takes_more(self) -> bool:
        """Tell whether another child can be made ready; if not, those that wait go on waiting."""
        if self.children.is_full:
            self.children.settle_later()
        return not self.children.is_full

    async def close(self) -> None:
        """Let every child go, and see it gone."""
        await self.children.close()
