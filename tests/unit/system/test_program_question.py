from __future__ import annotations

import os
import select
from pathlib import Path
from typing import BinaryIO

from pi_subagents.system.programs import ProgramAnswer, ProgramQuestion


def ask(script: str, limit_s: float = 30) -> ProgramQuestion:
    return ProgramQuestion(["/bin/sh", "-c", script], env={}, cwd=Path("/"), limit_s=limit_s)


def nobody_writes(held: BinaryIO) -> bool:
    """Return whether every process that had the other end is gone, once it is."""
    ended = select.poll()
    ended.register(held, select.POLLHUP)
    return ended.poll(10_000) == [(held.fileno(), select.POLLHUP)]


def test_a_question_has_its_answer() -> None:
    question = ask("echo yes; echo no >&2; exit 3")
    assert question.answer() == question.answer() == ProgramAnswer(3, "yes\n")


def test_a_program_that_does_not_answer_in_time_is_ended_with_all_it_started(
    tmp_path: Path,
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    question = ask(f"exec 3> {fifo}; sleep 1000 & echo started >&3; wait", limit_s=0)
    with fifo.open("rb") as held:
        assert held.readline() == b"started\n"
        assert question.answer() == ProgramAnswer(None, "")
        assert nobody_writes(held)


def test_a_program_that_never_stops_talking_is_ended() -> None:
    answer = ask("while :; do echo flood; done", limit_s=5).answer()
    assert answer.exit_code is None
    assert len(answer.text) < 2 * 1024 * 1024


def test_a_question_nobody_waits_for_leaves_no_process(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    question = ask(f"exec 3> {fifo}; echo started >&3; sleep 1000")
    with fifo.open("rb") as held:
        assert held.readline() == b"started\n"
        question.close()
        assert nobody_writes(held)
    question.close()
