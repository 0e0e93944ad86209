"""
Make the n-th write of a process fail, and check that what is told afterwards is the truth.

The supervisor finds the order to fail in its environment; the caller is this process, whose table
of calls is changed and put back.
"""

from __future__ import annotations

import asyncio
import errno
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.faults.aftermath import remains_in

from pi_subagents.errors import StoreUnwritable
from pi_subagents.store import messages
from pi_subagents.system import calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

    from pi_subagents.core.run.result import RunResult

ERRORS = ("ENOSPC", "EIO", "EDQUOT", "EFBIG", "EMFILE")
ANSWER = "All is well. " * 8000  # more than the space that is reserved for a result
AT_ONCE = 4


async def answer(child: FakeProcess, text: str) -> None:
    """Do some work, then answer; whoever reads it may be in trouble."""
    await child.tool("bash", {"command": "make"}, result="ok")
    await child.answer_and_exit(text)


def check_truth(place: Workplace, result: RunResult, answer: str) -> None:
    """Compare what the caller was told with what happened and with what is on disk."""
    run = place.store.run_dir(result.run_id)
    kept = run.read_result()
    assert kept in (result, None), "told and kept are not the same"
    assert not list(run.path.glob(".*.tmp")), "a temporary file was left"
    if result.completed:
        assert kept == result
        cut = messages.NOTE_OUTPUT_CUT in result.notes
        assert result.output == answer or (cut and answer.startswith(result.output))
        assert result.artifacts_truncated or not cut
    else:
        assert result.error_message
        assert result.status in ("failed", "interrupted")


async def fail_supervisor(place: Workplace, number: int, error: str, *, once: bool) -> RunResult:
    """Let the n-th write of a supervisor fail, and every later one too unless `once`."""
    order = f"{number}:{error}" + (":once" if once else "")
    work = place.delegate_by_api(order, env={**place.env, calls.VARIABLE: order})
    await answer(await place.child(order), ANSWER)
    result = await work.result()
    check_truth(place, result, ANSWER)
    # Not one of these writes is needed to know how the child ended.
    assert result.status == "completed", (order, result.error_message, result.notes)
    return result


async def fail_supervisors(
    place: Workplace, numbers: Iterable[int], error: str, *, once: bool
) -> dict[int, RunResult]:
    """Do so for several n, a few at a time, beside a sibling that must not notice."""
    limit = asyncio.Semaphore(AT_ONCE)
    found: dict[int, RunResult] = {}

    async def one(number: int) -> None:
        async with limit:
            found[number] = await fail_supervisor(place, number, error, once=once)

    numbers = list(numbers)
    name = f"sibling of {error} {once} {numbers}"
    sibling = place.delegate_by_api(name)
    child = await place.child(name)
    await asyncio.gather(*map(one, numbers))
    await child.echo()
    await answer(child, ANSWER)
    result = await sibling.result()
    assert (result.output, result.artifacts_truncated, result.notes) == (ANSWER, False, ())
    return found


def is_clean(result: RunResult) -> bool:
    """Tell whether a run noticed nothing at all."""
    return result.output == ANSWER and not result.notes and not result.artifacts_truncated


@contextmanager
def failing_here(number: int, error: str, *, once: bool) -> Iterator[None]:
    """Let the writes of this very process fail."""
    calls.fail_from(number, getattr(errno, error), once=once)
    try:
        yield
    finally:
        _put_back()


@contextmanager
def counting_here() -> Iterator[list[str]]:
    """Note every write of this very process."""
    made: list[str] = []

    def noting(name: str) -> Any:
        def attempt(*arguments: Any, **options: Any) -> Any:
            made.append(name)
            return getattr(os, name)(*arguments, **options)

        return attempt

    for name in calls.NAMES:
        setattr(calls.FileCalls, name, staticmethod(noting(name)))
    try:
        yield made
    finally:
        _put_back()


def _put_back() -> None:
    for name in calls.NAMES:
        setattr(calls.FileCalls, name, staticmethod(getattr(os, name)))


async def count_calls_of_caller(place: Workplace) -> int:
    """Return how many writes a caller makes for two tasks, in a store that exists already."""
    for prompt in ("count first", "count"):
        with counting_here() as made:
            work = place.delegate_by_api(prompt, f"{prompt} too")
            for each in (prompt, f"{prompt} too"):
                await answer(await place.child(each), ANSWER)
            await work.results()
    return len(made)


async def fail_caller(place: Workplace, number: int, error: str, *, once: bool) -> bool:
    """Let the n-th write of the caller fail; return whether nothing at all was noticed."""
    name = f"caller {number} {error} {once}"
    notices: list[str] = []
    before = {run.run_id for run in place.run_dirs()}
    with failing_here(number, error, once=once):
        work = place.delegate_by_api(name, f"{name} too", on_notice=notices.append)
        serving = [asyncio.create_task(_serve(place, prompt)) for prompt in (name, f"{name} too")]
        try:
            results = await work.results()
        except StoreUnwritable:
            assert not remains_in(place), "a refused call leaves nothing behind"
            assert {run.run_id for run in place.run_dirs()} == before
            return False
        finally:
            for task in serving:
                task.cancel()
    for result in results:
        check_truth(place, result, ANSWER)
    return all(is_clean(result) for result in results) and not notices


async def _serve(place: Workplace, prompt: str) -> None:
    await answer(await place.child(prompt), ANSWER)
