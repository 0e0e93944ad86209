"""
Ask a person what the sub-agents of a call ask, where the caller has one.

In: what happens in the runs, and how the person is asked.  Out: answers, given as anybody else
gives them: the first one counts.  One question is put at a time; one that was answered elsewhere is
taken back.  A person who turns away, or cannot be asked, leaves the question to others.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run import events as ev
from pi_subagents.core.run.answering import AnswerRequest, checked_answer
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.value import value
from pi_subagents.errors import SubagentsError
from pi_subagents.service import messages
from pi_subagents.service.questions.answering import answer_run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from pi_subagents.core.stop_switch import StopSwitch
    from pi_subagents.service.delegation import Update
    from pi_subagents.service.runs import Runs


@value
class PutQuestion:
    """A question as it is put to a person; `problem` is what was wrong with the last answer."""

    run_id: str
    name: str
    text: str
    options: tuple[str, ...] = ()
    problem: str = ""


class PeopleAsked:
    """The questions of one call; to be closed in every case."""

    def __init__(
        self,
        ask: Callable[[PutQuestion], Awaitable[str | None]],
        notice: Callable[[str], None],
        runs: Runs,
        stop: StopSwitch,
    ) -> None:
        self._ask = ask
        self._notice = notice
        self._runs = runs
        self._stop = stop
        self._one_at_a_time = asyncio.Lock()
        self._open: dict[tuple[int, str], asyncio.Task[None]] = {}

    def observe(self, update: Update) -> None:
        """Ask what is asked, and stop asking what is closed."""
        index = update.run.index
        match update.what:
            case ev.Asked():
                task = asyncio.create_task(self._put(update, update.what))
                self._open[index, update.what.number] = task
            case ev.Replied(question, ev.GIVEN | ev.UNANSWERED):
                self._take_back((index, question))
            case RunResult():
                for key in [key for key in self._open if key[0] == index]:
                    self._take_back(key)

    async def close(self) -> None:
        """Ask nothing more."""
        tasks = list(self._open.values())
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)

    def _take_back(self, key: tuple[int, str]) -> None:
        if (task := self._open.pop(key, None)) is not None:
            task.cancel()

    async def _put(self, update: Update, asked: ev.Asked) -> None:
        run, problem = update.run, ""
        async with self._one_at_a_time:
            # As the desk has it: a child can write into its journal.
            waiting = self._runs.store.run_dir(run.spec.run_id).desk.questions()
            question = next((each for each in waiting if each.id == asked.number), None)
            while question is not None:
                put = PutQuestion(
                    run.spec.run_id, run.task.name, question.text, question.options, problem
                )
                try:
                    text = await self._ask(put)
                except Exception as error:  # noqa: BLE001 - a host's or a program's own
                    self._notice(messages.not_asked(put.name, str(error) or type(error).__name__))
                    return
                if text is None:
                    return
                try:
                    request = AnswerRequest(put.run_id, checked_answer(text), asked.number)
                    # Whether it was the first shows even if the question is taken back meanwhile.
                    report = await asyncio.shield(answer_run(request, self._runs, self._stop))
                except SubagentsError as error:
                    problem = str(error)
                    continue
                if report.status == "given":
                    return
                problem = report.reason
                if report.waiting_for is None or report.waiting_for.id != asked.number:
                    self._notice(report.text)
                    return
