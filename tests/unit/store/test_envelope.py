from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.run.result import RunResult
from pi_subagents.core.value import replace
from pi_subagents.store.rescue import make_envelope, put_result, take_result

if TYPE_CHECKING:
    from collections.abc import Iterator

RESULT = RunResult("a" * 32, "b" * 16, "build", "completed", "Done \ud800." * 100_000)
IDS = (RESULT.run_id, RESULT.session_id)


@pytest.fixture
def envelope() -> Iterator[int]:
    made = make_envelope()
    yield made
    os.close(made)


def test_what_was_put_in_is_taken_out(envelope: int) -> None:
    assert take_result(envelope, *IDS) is None
    put_result(envelope, RESULT)
    assert take_result(envelope, *IDS) == RESULT == take_result(envelope, *IDS)


def test_the_last_that_was_put_in_counts(envelope: int) -> None:
    put_result(envelope, RESULT)
    short = replace(RESULT, output="short")
    put_result(envelope, short)
    assert take_result(envelope, *IDS) == short


def test_it_is_nobodys_file_and_nobody_inherits_it(envelope: int) -> None:
    assert os.fstat(envelope).st_nlink == 0 or "memfd" in os.readlink(f"/proc/self/fd/{envelope}")
    assert os.get_inheritable(envelope) is False


def test_half_a_result_is_none(envelope: int) -> None:
    put_result(envelope, RESULT)
    os.ftruncate(envelope, os.fstat(envelope).st_size // 2)
    assert take_result(envelope, *IDS) is None


@pytest.mark.parametrize("ids", [("c" * 32, IDS[1]), (IDS[0], "c" * 16)])
def test_a_result_of_another_run_or_session_is_none(envelope: int, ids: tuple[str, str]) -> None:
    put_result(envelope, RESULT)
    assert take_result(envelope, *ids) is None


def test_without_an_envelope_or_room_in_it_nothing_happens() -> None:
    put_result(None, RESULT)
    reader, writer = os.pipe()
    os.close(reader)
    put_result(writer, RESULT)
    os.close(writer)
    assert take_result(writer, *IDS) is None
