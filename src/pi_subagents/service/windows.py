"""
Keep a window per run of a delegation, ready to be shown at any time.

In: the planned runs, then every update.  Out: their windows, in task order.  Any face can paint
them; the tool's return value carries how they looked at the end.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pi_subagents.core.run.result import RunResult
from pi_subagents.core.value import replace
from pi_subagents.view.window import Window, WindowBuilder, WindowTitle

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.core.settings import Settings
    from pi_subagents.service.planned_task import PlannedTask, Update


class Windows:
    """The windows of one delegation."""

    def __init__(
        self,
        runs: Iterable[PlannedTask],
        settings: Settings,
        *,
        home: str,
        columns: int | None = None,
    ) -> None:
        self.max_lines = settings.max_lines_per_window
        self._builders = [
            WindowBuilder(
                _title(run),
                cwd=run.spec.child.cwd,
                home=home,
                max_lines=settings.max_lines_per_window,
                width=settings.preview_width(columns),
            )
            for run in runs
        ]

    def apply(self, update: Update) -> None:
        """Take what happened into account."""
        builder = self._builders[update.run.index]
        if isinstance(update.what, RunResult):
            builder.finish(update.what)
        else:
            builder.apply(update.what, _now_ms())

    def now(self) -> tuple[Window, ...]:
        """Return every window as it is."""
        now_ms = _now_ms()
        return tuple(builder.window(now_ms) for builder in self._builders)


def _title(run: PlannedTask) -> WindowTitle:
    task, profile = run.task, run.needs.profile
    return replace(
        WindowTitle(task.name) if profile is None else _profile_title(run, profile),
        # A preset is a profile here, though nobody asked for it as one.
        profile=task.profile or (profile.name if profile else ""),
        file_count=len(task.files),
        timeout_s=task.timeout_s,
        session_id=run.spec.session_id,
    )


def _profile_title(run: PlannedTask, profile: Profile) -> WindowTitle:
    return WindowTitle(
        run.task.name,
        provider=profile.provider,
        model=profile.model,
        thinking_level=profile.thinking_level,
        tool_count=run.tool_count,
    )


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
