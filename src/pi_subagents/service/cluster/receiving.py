"""
Get what an order needs beside itself: the bundles of its snapshot, and the session it goes on with.

In: an order.  Out: a repository that has the snapshot, and the session's bytes.  What is here
already is not fetched; what arrives is on disk, a part at a time, and gone once it was used.
"""

from __future__ import annotations

import asyncio
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING

from pi_subagents.cluster.packs import pack_parts
from pi_subagents.core.cluster.order import BUNDLE
from pi_subagents.errors import OrderRefused
from pi_subagents.service.cluster import messages
from pi_subagents.service.cluster.replanning import Received
from pi_subagents.store.child_sessions import session_limit
from pi_subagents.system.own_thread import in_own_thread
from pi_subagents.workspaces.bundle import lacking, open_bundles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.cluster.link import Link
    from pi_subagents.core.cluster.order import TravelOrder
    from pi_subagents.core.workspace.bundle import Bundle
    from pi_subagents.service.cluster.worker_place import WorkerPlace


class Receiver:
    """What fetches for all runs of a worker: one after the other, since most need the same."""

    def __init__(self, link: Link, place: WorkerPlace, env: Mapping[str, str]) -> None:
        self._link, self._place, self._env = link, place, env
        self._turn = asyncio.Lock()

    async def receive(self, order: TravelOrder) -> Received:
        """Return what it needs; WorkspaceNotMade or OrderRefused where that is not to be had."""
        async with self._turn:
            repository = None
            if order.workspace.kind == BUNDLE:
                chain, stores = order.workspace.packs, self._place.repositories
                missing = partial(lacking, chain, stores, self._env)
                for bundle in await in_own_thread("bundles", missing):
                    await self._fetch(bundle)
                opened = partial(open_bundles, chain, self._arrived, stores, self._env)
                try:
                    repository = await in_own_thread("bundles", opened)
                finally:
                    for bundle in chain:
                        self._arrived(bundle).unlink(missing_ok=True)
            session = await self._session(order.session) if order.session else None
        return Received(repository, session)

    def _arrived(self, bundle: Bundle) -> Path:
        return self._place.arriving / bundle.digest

    async def _fetch(self, bundle: Bundle) -> None:
        arrived = 0
        with self._arrived(bundle).open("wb") as file:
            async for part in pack_parts(self._link, bundle.digest):
                arrived += len(part)
                if arrived > bundle.size:
                    raise OrderRefused("workspace.packs", messages.NOT_THE_PACK)
                file.write(part)

    async def _session(self, digest: str) -> bytes:
        parts: list[bytes] = []
        async for part in pack_parts(self._link, digest):
            parts.append(part)
            if sum(map(len, parts)) > session_limit():
                raise OrderRefused("session", messages.NOT_THE_PACK)
        content = b"".join(parts)
        if sha256(content).hexdigest() != digest:
            raise OrderRefused("session", messages.NOT_THE_PACK)
        return content
