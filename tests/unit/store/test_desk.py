"""What is kept of a run out of reach of its project: who answers for it, and what is said to it."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from typing import TYPE_CHECKING, NoReturn

import pytest
from tests.fakes.run_places import run_at

from pi_subagents.core.run.record import Liveness
from pi_subagents.core.run.spec import MAX_STEER_BYTES
from pi_subagents.store.desk import STOPPED, SUPERVISOR, Desk, clear_stale_desks, rescued_dir
from pi_subagents.store.recovery import liveness_of

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.store.run_dir import RunDir

ID = "0123456789abcdef" * 2
META = {"schemaVersion": 1, "runId": ID, "name": "build"}


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    directory = run_at(tmp_path / ID)
    os.close(directory.begin(META, b"the prompt"))
    return directory


@pytest.fixture
def desk(run: RunDir) -> Desk:
    return run.desk


def test_another_look_at_the_lock_is_no_sign_of_life(run: RunDir) -> None:
    looker = os.open(run.desk.lock, os.O_RDONLY)
    try:
        fcntl.flock(looker, fcntl.LOCK_SH)
        assert run.alive() is False
    finally:
        os.close(looker)


def test_without_a_lock_file_nobody_answers_for_it(tmp_path: Path) -> None:
    assert run_at(tmp_path / "absent").alive() is False


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EIO])
def test_a_run_whose_lock_cannot_be_looked_at_is_not_called_lost(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object) -> NoReturn:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "open", fail)
    assert (run.alive(), liveness_of(run)) == (True, Liveness.ALIVE)
    assert run.desk.wait_for_end(0) is False


@pytest.mark.parametrize("what", ["nothing", "link", "socket"])
def test_what_is_no_lock_of_ours_is_held_by_nobody(run: RunDir, what: str) -> None:
    run.desk.lock.unlink()
    if what == "link":
        run.desk.lock.symlink_to(run.meta)
    if what == "socket":
        os.mknod(run.desk.lock, stat.S_IFSOCK | 0o600)
    assert run.alive() is False


# What a child that takes commands leaves here


def test_a_message_for_the_child_is_kept_under_a_number_of_its_own(desk: Desk) -> None:
    text = "Use the other file.\r\n\u2028 /x \u00e9"
    first, second = desk.write_steer(text), desk.write_steer("")
    assert first != second
    assert (desk.read_steer(first), desk.read_steer(second)) == (text, "")
    kept = desk.path / f"steer-{first}.md"
    assert (kept, stat.S_IMODE(kept.stat().st_mode)) == (desk.steer_text(first), 0o600)


def test_a_message_that_is_no_unicode_is_kept_as_far_as_it_is(desk: Desk) -> None:
    assert desk.read_steer(desk.write_steer("a\ud800b")) == "a?b"
    number = desk.write_steer("")
    desk.steer_text(number).write_bytes(b"a\xffb")
    assert desk.read_steer(number) == "a\ufffdb"


@pytest.mark.parametrize(
    "number", ["", "1", "../../../etc", "g" * 16, "0" * 15, "0" * 17, "0" * 16 + "\n", "A" * 16]
)
def test_what_is_no_number_of_a_message_names_no_file(desk: Desk, number: str) -> None:
    with pytest.raises(ValueError, match="not the number of a message"):
        desk.read_steer(number)


def test_a_message_is_read_from_a_file_of_bounded_size_and_never_through_a_link(
    desk: Desk, tmp_path: Path
) -> None:
    with pytest.raises(OSError):
        desk.read_steer("0" * 16)
    number = desk.write_steer("x" * MAX_STEER_BYTES)
    assert len(desk.read_steer(number)) == MAX_STEER_BYTES
    too_much = desk.write_steer("x" * (MAX_STEER_BYTES + 1))
    with pytest.raises((OSError, ValueError)):
        desk.read_steer(too_much)
    (tmp_path / "secret").write_text("secret")
    desk.steer_text("1" * 16).symlink_to(tmp_path / "secret")
    with pytest.raises(OSError):
        desk.read_steer("1" * 16)


def test_messages_that_wait_are_listed_by_age_and_nothing_else_is(desk: Desk) -> None:
    assert desk.waiting_steers() == []
    numbers = [desk.write_steer(f"number {n}") for n in range(3)]
    for age, number in enumerate(numbers):
        os.utime(desk.steer_text(number), ns=(0, 10 - age))
    (desk.path / "steer-.md").touch()
    (desk.path / f"steer-{'0' * 15}.md").touch()
    assert desk.waiting_steers() == numbers[::-1]
    assert Desk(desk.path / "absent").waiting_steers() == []


def test_the_childs_session_is_there_before_the_child_and_private(desk: Desk) -> None:
    desk.make_child_session()
    assert (desk.child_session.name, desk.child_session.read_bytes()) == (
        "child-session.jsonl",
        b"",
    )
    assert stat.S_IMODE(desk.child_session.stat().st_mode) == 0o600


def test_a_session_that_the_child_has_written_is_left_alone(desk: Desk) -> None:
    desk.child_session.write_text("its past")
    desk.make_child_session()
    assert desk.child_session.read_text() == "its past"


# Who has the first word, and what is known of a run


def test_one_alone_has_the_first_word_about_a_run(desk: Desk) -> None:
    assert desk.turn() == ""
    assert desk.take_turn(STOPPED) is True
    assert desk.take_turn(SUPERVISOR) is False
    assert desk.turn() == STOPPED


def test_nobody_has_a_word_where_there_is_no_desk(desk: Desk) -> None:
    desk.remove()
    with pytest.raises(OSError):
        desk.take_turn(STOPPED)
    assert (desk.turn(), desk.cause(), desk.place(), desk.read_supervisor()) == ("", "", None, None)


def test_what_was_noted_is_told(desk: Desk, tmp_path: Path) -> None:
    place = tmp_path / "a b\udcff"
    desk.note_cause("timed-out 5")
    desk.note_place(place)
    desk.note_supervisor({"pid": 7})
    assert (desk.cause(), desk.place(), desk.read_supervisor()) == (
        "timed-out 5",
        place,
        {"pid": 7},
    )
    assert {stat.S_IMODE(path.stat().st_mode) for path in desk.path.iterdir()} == {0o600}


@pytest.mark.parametrize("content", [b"", b"relative/path", b"\0"])
def test_a_place_that_is_none_is_not_believed(desk: Desk, content: bytes) -> None:
    (desk.path / "place").write_bytes(content)
    assert desk.place() is None


@pytest.mark.parametrize("name", ["turn", "cause", "place", "supervisor.json", "meta.json"])
def test_what_stands_in_the_place_of_a_note_is_neither_followed_nor_waited_for(
    desk: Desk, tmp_path: Path, name: str
) -> None:
    path = desk.path / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert (desk.turn(), desk.cause(), desk.place(), desk.read_supervisor()) == ("", "", None, None)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text("stopped")
    assert (desk.turn(), desk.cause(), desk.place(), desk.read_supervisor()) == ("", "", None, None)


# How a desk ends


def test_a_desk_is_cleared_when_nobody_needs_it_any_more(tmp_path: Path) -> None:
    run = run_at(tmp_path / ID)
    lock = run.begin(META, b"asked", {"system-prompt.md": b"You review."})
    run.desk.clear()
    assert run.desk.prompt.exists(), "somebody answers for the run"
    child = run.desk.hold_for_child()
    assert child is not None
    os.close(lock)
    run.desk.clear()
    assert run.desk.prompt.exists(), "a child reads and writes there"
    os.close(child)
    run.desk.clear()
    assert not run.desk.path.exists()


def test_where_a_run_went_stays_on_its_desk_until_it_is_found(desk: Desk, tmp_path: Path) -> None:
    desk.note_place(tmp_path / "there")
    desk.clear()
    assert [path.name for path in desk.path.iterdir()] == ["place"]
    desk.clear(found=True)
    assert not desk.path.exists()


def test_the_lock_of_a_cleared_desk_can_be_taken_by_one(desk: Desk) -> None:
    desk.remove()
    first = desk.acquire_lock()
    assert first is not None
    assert (desk.acquire_lock(), desk.alive()) == (None, True)
    os.close(first)
    assert desk.alive() is False


def test_desks_that_nobody_will_come_back_to_are_cleared(tmp_path: Path) -> None:
    runs = [run_at(tmp_path / (letter * 32)) for letter in "abcde"]
    alive, known, young, stale, gone_on = runs
    locks = {run.run_id: run.begin({"runId": run.run_id}, b"") for run in runs}
    gone_on.desk.note_place(tmp_path / "there")
    for run in runs:
        if run is not alive:
            os.close(locks[run.run_id])
        if run is not young:
            os.utime(run.desk.path, (1_000_000, 1_000_000))
    data = stale.desk.path.parent.parent
    assert clear_stale_desks(data, {known.run_id}) == 2
    left = {run.run_id for run in runs if run.desk.path.exists()}
    assert left == {alive.run_id, known.run_id, young.run_id}
    os.close(locks[alive.run_id])
    assert clear_stale_desks(tmp_path / "absent", ()) == 0


def test_runs_that_lost_their_directories_are_kept_by_their_store(tmp_path: Path) -> None:
    places = {rescued_dir(tmp_path, tmp_path / name) for name in ("a", "b", "a\udcff")}
    assert len(places) == 3
    assert {place.parent for place in places} == {tmp_path / "rescued"}
