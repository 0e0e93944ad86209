"""
Bytes that travel beside an order, in the database, called by their SHA-256: workspaces, sessions.

In: bytes, or a digest.  Out: the digest, or the bytes, one part of 1 MB at a time.  The database
proves that a pack has its digest; a pack that is there already is not sent again.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.errors.cluster import ClusterRunUnknown

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from pathlib import Path

    from pi_subagents.cluster.link import Link, ShortLink

PART_BYTES = 1024 * 1024
MAX_PACK_BYTES = 256 * PART_BYTES


@value
class Pack:
    """A file that is to travel, and what it is called."""

    path: Path
    digest: str
    size: int


def pack_of(path: Path) -> Pack:
    """Return what a file is called as a pack."""
    seen, size = sha256(), 0
    with path.open("rb") as file:
        while part := file.read(PART_BYTES):
            seen.update(part)
            size += len(part)
    return Pack(path=path, digest=seen.hexdigest(), size=size)


async def packs_there(link: Link, digests: Iterable[str]) -> set[str]:
    """Return which of these packs the database has; they are kept for a while from now on."""
    return {row["digest"] for row in await link.call("packs_there", list(digests))}


async def put_pack(link: Link, pack: Pack) -> None:
    """Send a file, if it is not there."""
    if pack.digest not in await packs_there(link, [pack.digest]):
        for question in _questions(pack):
            await link.call("put_pack_part", *question)


def put_pack_now(look: ShortLink, pack: Pack) -> None:
    """Do the same without an event loop."""
    if not look.call("packs_there", [pack.digest]):
        for question in _questions(pack):
            look.call("put_pack_part", *question)


async def pack_parts(link: Link, digest: str) -> AsyncIterator[bytes]:
    """Give the parts of a pack, in order; ClusterRunUnknown where it is not there (any more)."""
    part = parts = 1
    while part <= parts:
        rows = await link.call("pack_part", digest, part)
        if not rows:
            raise ClusterRunUnknown(f"the pack {digest[:12]} is not there any more")
        parts = rows[0]["parts"]
        yield rows[0]["data"]
        part += 1


def _questions(pack: Pack) -> Iterator[tuple[object, ...]]:
    parts = max(1, -(-pack.size // PART_BYTES))
    with pack.path.open("rb") as file:
        for part in range(1, parts + 1):
            yield pack.digest, pack.size, parts, part, file.read(PART_BYTES)
