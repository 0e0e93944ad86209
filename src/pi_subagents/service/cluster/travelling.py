"""
Make of a planned task what travels to a worker.

In: a call, its planned tasks, and which of them go where.  Out: a Departure for each: the order,
with everything resolved here, and the files that have to be there before it.  Keys, environment and
command lines stay at home; a task that cannot do without something of this machine is refused by
name, before anything starts.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents._version import __version__
from pi_subagents.config.attachments import read_files
from pi_subagents.core.cluster.destination import destination_of
from pi_subagents.core.cluster.limits_json import travelling
from pi_subagents.core.cluster.order import (
    BUNDLE,
    MAX_ORDER_BYTES,
    NOWHERE,
    SHARED_PATH,
    TravelOrder,
    TravelWork,
    TravelWorkspace,
)
from pi_subagents.core.cluster.order_json import order_to_bytes
from pi_subagents.core.cluster.profile_json import STAYS_AT_HOME
from pi_subagents.core.offline.script_json import script_to_text
from pi_subagents.core.profile.profile import FIELDS
from pi_subagents.core.run.spec import NATIVE, REPLAY
from pi_subagents.core.task.attachment import format_blocks
from pi_subagents.core.task.resume import resume_prompt
from pi_subagents.core.value import replace
from pi_subagents.errors import CannotTravel
from pi_subagents.runners.table import Departure
from pi_subagents.service.cluster import messages
from pi_subagents.service.cluster.skills_to_send import skills_to_send

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from pi_subagents.cluster.packs import Pack
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.core.task.request import DelegateRequest, Task
    from pi_subagents.core.workspace.bundle import Bundle
    from pi_subagents.service.call import CallContext
    from pi_subagents.service.delegation import PlannedTask, Preparation

PACKS = Path("cluster") / "packs"
_KEPT_S = 7 * 86_400


def refuse_what_stays(
    context: CallContext, request: DelegateRequest, prepared: Sequence[Preparation]
) -> None:
    """Refuse the call if a task for a worker needs what only this machine has."""
    for task, needs in zip(request.tasks, prepared, strict=True):
        if destination_of(task.on, context.usual_runner).tag and needs.profile is not None:
            for key in STAYS_AT_HOME:
                if getattr(needs.profile, FIELDS[key]):
                    whose = needs.profile.name or task.name
                    words = messages.profile_has(whose, key)
                    raise CannotTravel(task.name, words, messages.STAYS_HERE)


class Departures:
    """The tasks of one call that go to workers."""

    def __init__(self, context: CallContext, planned: Sequence[PlannedTask]) -> None:
        self._context = context
        self._planned = {run.spec.run_id: run for run in planned}
        self._packing = threading.Lock()  # departures are made beside each other
        self._chains: dict[str, list[tuple[Bundle, Pack]]] = {}

    def departure(self, spec: RunSpec) -> Departure:
        """Return what travels of a run; CannotTravel where that is impossible."""
        run = self._planned[spec.run_id]
        tag = destination_of(run.task.on, self._context.usual_runner).tag
        workspace, packs = self._workspace(run)
        session = self._session(spec)
        order = TravelOrder(
            run_id=spec.run_id,
            session_id=spec.session_id,
            work=self._work(run),
            limits=travelling(spec.limits),
            resume=replace(spec.resume, why=_storable(spec.resume.why)),
            session=session[0].digest if session else "",
            workspace=workspace,
            attached=spec.attached,
            made_by=__version__,
        )
        size = len(order_to_bytes(order))
        if size > MAX_ORDER_BYTES:
            raise CannotTravel(run.task.name, messages.ITS_ORDER, messages.too_large(size))
        return Departure(order, tag, (*packs, *session))

    def _work(self, run: PlannedTask) -> TravelWork:
        task, needs, spec, context = run.task, run.needs, run.spec, self._context
        files = read_files(task.files, Path(task.cwd or context.cwd))
        prompt, alone = format_blocks(files, task.prompt), ""
        if spec.resume.how == REPLAY:
            limit = int(context.settings.max_resume_kilobytes * 1024)
            alone = prompt
            earlier = resume_prompt(needs.earlier, task.prompt, max_bytes=limit)
            prompt = format_blocks(files, earlier)
        skills, notes = skills_to_send(task.name, needs.skill_paths)
        offline = context.options.get("offline", False)
        return TravelWork(
            name=_storable(spec.name),
            prompt=_storable(prompt),
            task=_storable(alone),
            engine=spec.child.engine,
            profile=needs.profile,
            skills=skills,
            schema="" if needs.schema is None else json.dumps(needs.schema),
            check=spec.check,
            trusted=context.trusted(Path(task.cwd or context.cwd)),
            offline=offline is not False,
            script="" if isinstance(offline, bool) else script_to_text(offline),
            notes=tuple(map(_storable, (*needs.notes, *notes))),
        )

    def _workspace(self, run: PlannedTask) -> tuple[TravelWorkspace, tuple[Pack, ...]]:
        order, cwd = run.spec.workspace, run.task.cwd or self._context.cwd
        if not order.home:
            if self._shares(run.task, run.needs):
                path = os.path.realpath(cwd)
                return TravelWorkspace(SHARED_PATH, path=path), ()
            return TravelWorkspace(NOWHERE), ()
        chain = self._packed(order.home)
        workspace = TravelWorkspace(
            BUNDLE,
            tuple(bundle for bundle, _ in chain),
            prefix="" if order.prefix == "." else order.prefix,
            max_bytes=order.max_bytes,
            keep=order.keep,
            setup=order.setup,
        )
        return workspace, tuple(pack for _, pack in chain)

    def _packed(self, home: str) -> list[tuple[Bundle, Pack]]:
        """Return the bundles of a snapshot with their files; the tasks of a call share them."""
        from pi_subagents.cluster.packs import Pack
        from pi_subagents.system.safe_io import make_private_dirs
        from pi_subagents.workspaces.bundle import keep_chain, pack_snapshot, read_chain
        from pi_subagents.workspaces.snapshot import load_snapshot

        data_dir = self._context.runs.store.data_dir
        into = data_dir / PACKS
        make_private_dirs(into)
        with self._packing, _held(into / "lock"):
            if home not in self._chains:
                snapshot = load_snapshot(Path(home))
                # Those whose files are here: the database may have removed any of them.
                known = read_chain(data_dir, snapshot.repository)
                there = tuple(takewhile(lambda each: (into / each.digest).exists(), known))
                chain = pack_snapshot(snapshot, there, into, self._context.env)
                keep_chain(data_dir, snapshot, chain)
                _prune(into, {each.digest for each in chain})
                self._chains[home] = [
                    (each, Pack(path=into / each.digest, digest=each.digest, size=each.size))
                    for each in chain
                ]
            return self._chains[home]

    def _shares(self, task: Task, needs: Preparation) -> bool:
        """Return whether somebody said that the task works in the caller's own directory."""
        of_profile = needs.profile.workspace if needs.profile else ""
        return "shared" in (task.workspace, of_profile, self._context.options.get("workspace"))

    def _session(self, spec: RunSpec) -> tuple[Pack, ...]:
        """Return the child's own session as it lies on the desk, where the run goes on with it."""
        path = self._context.held.run_dir(spec.run_id).desk.child_session
        if spec.resume.how != NATIVE or not path.exists():
            return ()
        from pi_subagents.cluster.packs import pack_of

        return (pack_of(path),)


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Let one process of this user at a time make packs."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _prune(into: Path, needed: Container[str]) -> None:
    """Remove files that no call has made or used for long; a commit is packed once more then."""
    old = time.time() - _KEPT_S
    for path in into.iterdir():
        with suppress(OSError):
            if path.name in needed:
                os.utime(path)
            elif path.name != "lock" and path.stat().st_mtime < old:
                path.unlink()


def _storable(text: str) -> str:
    """Return a text that every database and every file can hold."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
