"""
Run tasks on the workers of a cluster: what this machine has of them is a mirror.

In: a run's specification, and what of it travels.  Out: its result.  Its records come into the
run's directory as its worker writes them, and from there to the caller, like those of a run here.
Nothing but the cluster says that such a run is over: where it cannot be reached, nobody guesses.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from pi_subagents.cluster.caller import Submission, submit
from pi_subagents.core import messages as core_messages
from pi_subagents.core.cluster.order_json import order_to_bytes
from pi_subagents.core.plain_text import one_line
from pi_subagents.errors import SubagentsError
from pi_subagents.runners import messages
from pi_subagents.runners.call_link import CallLink
from pi_subagents.runners.followed import FollowedRun
from pi_subagents.runners.planned import PlannedRuns, without_supervisor
from pi_subagents.store.desk import SUPERVISOR
from pi_subagents.store.remote.mirror import Mirror
from pi_subagents.store.remote.note import RemoteNote, remove_note
from pi_subagents.store.rescue import ensure_dir
from pi_subagents.system.own_thread import in_own_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pi_subagents.cluster.link import Link
    from pi_subagents.core.run.events import Event
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.runners.table import ClusterPlace, Departure, RunnerPlace
    from pi_subagents.store.run_dir import RunDir

_MAX_NAME = 200


class ClusterRunner(PlannedRuns):
    """The runner whose supervisors are on other machines."""

    def __init__(self, place: RunnerPlace) -> None:
        super().__init__(place)
        assert place.cluster is not None, "opened by the service, which knows the cluster"
        self._cluster: ClusterPlace = place.cluster
        self._call = CallLink(place.cluster, place.notice)

    def prewarm(self, specs: Sequence[RunSpec], guessed: Sequence[RunSpec]) -> None:
        """Do nothing: the children are on other machines."""

    async def settle(self) -> None:
        """Leave no connection behind."""
        await self._call.close()

    async def run(
        self, spec: RunSpec, on_event: Callable[[Event], None], stop: StopSwitch
    ) -> RunResult:
        """Execute one run; on cancellation have it ended, then pass the cancellation on."""
        self._upcoming.pop(spec.run_id, None)
        run_dir = self._held.run_dir(spec.run_id)
        if run_dir.never_began() and (ended := run_dir.now().read_result()) is not None:
            self._held.release(spec.run_id)
            return ended  # stopped while it waited its turn
        try:
            packed = partial(self._cluster.departure, spec)
            departure = await in_own_thread("depart", packed)
            link = await self._call.open()
        except SubagentsError as error:
            return self.refuse(spec, str(error), aborted=False)
        except OSError as error:  # no room for what is to travel
            why = error.strerror or str(error)
            return self.refuse(spec, core_messages.SPAWN_FAILED, aborted=False, note=why)
        if not self._takes_turn(run_dir):
            return self.refuse(spec, core_messages.STOPPED_ON_REQUEST, aborted=True)
        mirror = Mirror.open(run_dir, self._note(spec, departure, link.address.shown))
        if mirror is None:  # no room for the note
            return self._failed(spec, core_messages.SPAWN_FAILED)
        followed = FollowedRun(spec, self._call, link, mirror)
        try:
            return await followed.until_done(
                partial(self._submit, spec, departure, link), on_event, stop, self._cluster.accept
            )
        finally:
            self._call.leave(spec.run_id)
            mirror.close()
            self._held.release(spec.run_id)

    def start(self, spec: RunSpec) -> RunResult | None:
        """Hand a run over that outlives its caller; return a result only if that fails."""
        from pi_subagents.cluster.caller import submit_now
        from pi_subagents.cluster.link import ShortLink
        from pi_subagents.cluster.packs import put_pack_now

        run_dir = self._held.run_dir(spec.run_id)
        mirror: Mirror | None = None
        try:
            departure = self._cluster.departure(spec)
            with ShortLink(self._cluster.address(), "pi-subagents caller") as look:
                if not self._takes_turn(run_dir):
                    return self.refuse(spec, core_messages.STOPPED_ON_REQUEST, aborted=True)
                mirror = Mirror.open(run_dir, self._note(spec, departure, look.address.shown))
                if mirror is None:
                    return self._failed(spec, core_messages.SPAWN_FAILED)
                for pack in departure.packs:
                    put_pack_now(look, pack)
                submission = _submission(spec, departure)
                call = self._cluster.call_id
                refused = submit_now(look, call, [submission], attached=False)
        except SubagentsError as error:
            if mirror is None:
                return self.refuse(spec, str(error), aborted=False)
            return self._failed(spec, str(error))
        except OSError as error:
            why = error.strerror or str(error)
            return self.refuse(spec, core_messages.SPAWN_FAILED, aborted=False, note=why)
        finally:
            if mirror is not None:
                mirror.close()
        if refused:
            return self._failed(spec, messages.cluster_refused(refused[spec.run_id]))
        self._held.release(spec.run_id)
        return None

    async def _submit(self, spec: RunSpec, departure: Departure, link: Link) -> RunResult | None:
        """Hand a run over; return a result only if that fails."""
        from pi_subagents.cluster.packs import put_pack

        try:
            for pack in departure.packs:
                await put_pack(link, pack)
            submission = _submission(spec, departure)
            refused = await submit(link, self._cluster.call_id, [submission], attached=True)
        except SubagentsError as error:
            return self._failed(spec, str(error))
        if refused:
            return self._failed(spec, messages.cluster_refused(refused[spec.run_id]))
        return None

    def _takes_turn(self, run_dir: RunDir) -> bool:
        """Return whether the run is ours to begin: nobody has stopped it before."""
        try:
            return run_dir.desk.take_turn(SUPERVISOR)
        except OSError:
            return False

    def _note(self, spec: RunSpec, departure: Departure, shown: str) -> RemoteNote:
        limit = spec.limits.max_run_bytes
        return RemoteNote(self._cluster.call_id, shown, departure.tag, limit)

    def _failed(self, spec: RunSpec, message: str) -> RunResult:
        """Record that a run never got to the cluster."""
        result = without_supervisor(spec, "failed", message, "")
        run_dir = self._held.run_dir(spec.run_id)
        with suppress(OSError):
            ensure_dir(run_dir).write_result(result)
        remove_note(run_dir.desk)
        run_dir.desk.clear_ours()
        self._held.release(spec.run_id)
        return result


def _submission(spec: RunSpec, departure: Departure) -> Submission:
    return Submission(
        run_id=spec.run_id,
        session_id=spec.session_id,
        name=one_line(spec.name, _MAX_NAME),
        order=order_to_bytes(departure.order),
        tag=departure.tag,
    )


RUNNER = ClusterRunner
