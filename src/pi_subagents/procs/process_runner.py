"""
Run supervisors as processes of this machine, attached to this one by a lifeline.

In: a run's specification.  Out: its result.  A child that is of the right kind and waits is used
again; while tasks queue, the child of the next one is started ahead where none will be free.  What
shapes a child is looked at once more when it is taken: one that read files which have changed since
is let go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core import events as ev
from pi_subagents.core.value import replace
from pi_subagents.procs.attached_runner import AttachedRunner, run_dir_of
from pi_subagents.procs.attachment import Attachment
from pi_subagents.procs.pool import Held, Pool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.run_spec import RunSpec
    from pi_subagents.disk.run_dir import RunDir


class ProcessRunner(AttachedRunner):
    """
    The runner for foreground runs; children inherit `env`.

    `concurrency` is how many runs there are at once: with one child that is started ahead, there
    are never more children than one above that.  `kind_now` tells what a kind has become.
    """

    def __init__(
        self,
        env: Mapping[str, str],
        pool: Pool | None = None,
        *,
        concurrency: int = 1,
        kind_now: Callable[[str], str] = lambda kind: kind,
    ) -> None:
        super().__init__(env)
        self._pool = pool or Pool()
        self._most = concurrency + 1
        self._kind_now = kind_now

    async def settle(self) -> None:
        """Leave nothing behind but what a host wants to keep."""
        await self._pool.settle()

    async def _attach(self, spec: RunSpec, on_event: Callable[[ev.Event], None]) -> Attachment:
        kind = self._kind_now(spec.kind)
        if kind != spec.kind:
            self._pool.retire(spec.kind)
        keep = bool(kind) and (self._pool.warm > 0 or self._is_wanted(kind))
        held = self._pool.obtain(replace(spec, kind=kind, keep=keep), self._env, most=self._most)

        def observe(event: ev.Event) -> None:
            if isinstance(event, ev.UserMessage):  # its child is up: there is time for another
                self._look_ahead()
            on_event(event)

        try:
            return _Attachment(held, run_dir_of(spec), observe, self._give_back)
        except BaseException:
            self._pool.give_back(held, free=False, wanted=False)
            raise

    def _is_wanted(self, kind: str) -> bool:
        planned = {spec.kind for spec in self._upcoming.values()}
        return kind in planned or any(self._kind_now(other) == kind for other in planned)

    def _give_back(self, held: Held, free: bool) -> None:  # noqa: FBT001 - a callback
        self._pool.give_back(held, free=free, wanted=self._is_wanted(held.kind))

    def _look_ahead(self) -> None:
        if self._upcoming:
            spec = next(iter(self._upcoming.values()))
            kind = self._kind_now(spec.kind)
            spec = replace(spec, kind=kind, keep=bool(kind))
            self._pool.start_ahead(spec, self._env, most=self._most)


class _Attachment(Attachment):
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
