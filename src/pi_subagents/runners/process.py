"""
Run supervisors as processes of this machine, attached to this one by a lifeline.

In: a run's specification.  Out: its result.  A child that is of the right kind and waits is used
again; while tasks queue, the child of the next one is started ahead where none will be free.  What
shapes a child is looked at once more when it is taken: one that read files which have changed since
is let go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.spec import changed
from pi_subagents.runners.attached import LocalRunner
from pi_subagents.runners.attachment import Attachment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.runners.pool import Held
    from pi_subagents.runners.table import RunnerPlace
    from pi_subagents.store.run_dir import RunDir


class ProcessRunner(LocalRunner):
    """
    The runner whose supervisors are processes of this one; children may serve several runs.

    With one child that is prewarmed, there are never more children than one above those at once.
    """

    def __init__(self, place: RunnerPlace) -> None:
        super().__init__(place)
        self._pool = place.pool
        self._most = place.concurrency + 1
        self._kind_now = place.kind_now

    def prewarm(self, specs: Iterable[RunSpec]) -> None:
        """Let the first children start: nothing in a call takes longer."""
        ready = [self._held.placed(spec) for spec in specs if spec.reuse.kind]
        self._pool.prewarm_all(ready, self._env, most=self._most - 1)

    async def settle(self) -> None:
        """Leave nothing behind but what a host wants to keep."""
        await self._pool.settle()

    async def _attach(self, spec: RunSpec, on_event: Callable[[ev.Event], None]) -> Attachment:
        kind = self._kind_now(spec.reuse.kind)
        if kind != spec.reuse.kind:
            self._pool.retire(spec.reuse.kind)
        keep = bool(kind) and (self._pool.warm > 0 or self._is_wanted(kind))
        run_dir = self._held.run_dir(spec.run_id)
        held = self._pool.obtain(changed(spec, kind=kind, keep=keep), self._env, most=self._most)

        def observe(event: ev.Event) -> None:
            if isinstance(event, ev.UserMessage):  # its child is up: there is time for another
                self._prewarm_next()
            on_event(event)

        try:
            return _ProcessAttachment(held, run_dir, observe, self._give_back)
        except BaseException:
            self._pool.give_back(held, free=False, wanted=False)
            raise

    def _is_wanted(self, kind: str) -> bool:
        planned = {spec.reuse.kind for spec in self._upcoming.values()}
        return kind in planned or any(self._kind_now(other) == kind for other in planned)

    def _give_back(self, held: Held, free: bool) -> None:  # noqa: FBT001 - a callback
        self._pool.give_back(held, free=free, wanted=self._is_wanted(held.kind))

    def _prewarm_next(self) -> None:
        if self._upcoming:
            spec = next(iter(self._upcoming.values()))
            kind = self._kind_now(spec.reuse.kind)
            spec = changed(self._held.placed(spec), kind=kind, keep=bool(kind))
            self._pool.prewarm(spec, self._env, most=self._most)


class _ProcessAttachment(Attachment):
    """A supervisor that we hold by a socket, and that wakes us by its standard output."""

    def __init__(
        self,
        held: Held,
        run_dir: RunDir,
        on_event: Callable[[ev.Event], None],
        give_back: Callable[[Held, bool], None],
    ) -> None:
        assert held.process.stdout is not None
        self._held = held
        self._give_back = give_back
        super().__init__(
            wake=held.process.stdout.fileno(),
            commands=held.channel.fileno(),
            run_dir=run_dir,
            on_event=on_event,
            pid=held.process.pid,  # of a child that nobody has reaped: it cannot be another's
        )

    def _let_go(self) -> None:
        if not self.free:
            self._held.let_go()
            self._held.wait_until_gone()  # only then the kernel has let go of the run's lock
        self._give_back(self._held, self.free)
