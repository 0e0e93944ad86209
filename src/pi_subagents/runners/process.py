"""
Run supervisors as processes of this machine, attached to this one by a lifeline.

In: a run's specification.  Out: its result.  A child that is of the right kind and waits is used
again; while tasks queue, the child of the next one is prewarmed where none will be free.  What
shapes a child is looked at once more when it is acquired: one that read files which have changed
since is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.runners.attached import LocalRunner
from pi_subagents.runners.attachment import Attachment
from pi_subagents.store.local_order import LocalOrder, altered
from pi_subagents.system.identity import identify

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pi_subagents.core.run.spec import RunSpec
    from pi_subagents.runners.pool import Held
    from pi_subagents.store.run_dir import RunDir


class ProcessRunner(LocalRunner):
    """
    The runner whose supervisors are processes of this one; children may serve several runs.

    With one child that is prewarmed, there are never more children than one above those at once.
    """

    def prewarm(self, specs: Sequence[RunSpec], guessed: Sequence[RunSpec]) -> None:
        """Start the first children: nothing in a call takes longer."""
        self._place.pool.prewarm_all(
            [self._held.placed(spec) for spec in specs],
            [self._held.placed(spec) for spec in guessed],
            self._env,
            most=self._place.concurrency,
        )

    async def settle(self) -> None:
        """Leave nothing behind but what a host wants to keep."""
        await self._place.pool.settle()

    async def _attach(self, order: LocalOrder, on_event: Callable[[ev.Event], None]) -> Attachment:
        spec = order.spec
        kind = self._place.kind_now(spec)
        if kind != spec.reuse.kind:
            self._place.pool.retire(spec.reuse.kind)
        keep = bool(kind) and (self._place.pool.warm > 0 or self._is_wanted(kind))
        run_dir = self._held.run_dir(spec.run_id)
        held = self._place.pool.acquire(
            altered(order, kind=kind, keep=keep),
            self._env,
            most=self._place.concurrency + 1,
            to_come=len(self._upcoming),
        )

        def observe(event: ev.Event) -> None:
            if isinstance(event, ev.UserMessage):  # its child is up: there is time for another
                self._prewarm_next()
            on_event(event)

        try:
            return ProcessAttachment(held, run_dir, observe, self._release)
        except BaseException:
            self._place.pool.release(held, free=False, wanted=False)
            raise

    def _is_wanted(self, kind: str) -> bool:
        upcoming = self._upcoming.values()
        if any(spec.reuse.kind == kind for spec in upcoming):
            return True
        return any(self._place.kind_now(spec) == kind for spec in upcoming)

    def _release(self, held: Held, free: bool) -> None:  # noqa: FBT001 - a callback
        self._place.pool.release(held, free=free, wanted=self._is_wanted(held.kind))

    def _prewarm_next(self) -> None:
        if self._upcoming:
            spec = next(iter(self._upcoming.values()))
            kind = self._place.kind_now(spec)
            order = altered(self._held.placed(spec), kind=kind, keep=bool(kind))
            self._place.pool.prewarm(order, self._env, most=self._place.concurrency + 1)


RUNNER = ProcessRunner


class ProcessAttachment(Attachment):
    """A supervisor that we hold by a socket, and that wakes us by its standard output."""

    def __init__(
        self,
        held: Held,
        run_dir: RunDir,
        on_event: Callable[[ev.Event], None],
        on_release: Callable[[Held, bool], None],
    ) -> None:
        assert held.process.stdout is not None
        self._held = held
        self._on_release = on_release
        super().__init__(
            wake=held.process.stdout.fileno(),
            commands=held.channel.fileno(),
            run_dir=run_dir,
            on_event=on_event,
            supervisor=identify(held.process.pid),
        )

    def _release(self) -> None:
        if not self.free:
            self._held.release()
            self._held.wait()  # only then the kernel has released the run's lock
        self._on_release(self._held, self.free)
