"""One damaged record harms only itself: it is named, kept as it is, and every other one loads."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
from contextlib import closing
from hashlib import blake2b
from typing import TYPE_CHECKING

import pytest
from tests.faults.aftermath import INTERRUPTED, content
from tests.faults.records import (
    NOT_FILES,
    Site,
    flips,
    make_run,
    make_site,
    of_version,
    outside_of,
    remove_all,
    replace_by,
    truncations,
)

from pi_subagents.core.run.record import RunRecord
from pi_subagents.core.run.retention import Removal
from pi_subagents.errors import RunNotActive, RunNotFound, RunUnreadable
from pi_subagents.service.runs import Runs
from pi_subagents.store import messages, run_index, sealing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pi_subagents.core.run.result import RunResult
    from pi_subagents.store.run_dir import RunDir

PATIENCE_S = 30
RECORDS = ("meta.json", "result.json", "events.jsonl")
SHOWN = ("meta.json", "result.json")  # a damaged journal costs its own lines only


@pytest.fixture(autouse=True)
def nobody_waits() -> Iterator[None]:
    """Fail where something waits for a FIFO, instead of waiting along."""

    def ring(*_: object) -> None:
        raise AssertionError("somebody waits")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path)


def shown(runs: Runs) -> dict[str, RunRecord | RunUnreadable]:
    """Return what a listing says, by name, or by id where there is none."""
    return {each.name if isinstance(each, RunRecord) else str(each): each for each in runs.newest()}


def check_damage(site: Site, bad: RunDir, healthy: dict[str, RunRecord | RunUnreadable]) -> bool:
    """Look at everything in every way; return whether the damaged run was called unreadable."""
    before = content(bad.path)
    listed = shown(site.runs())
    assert {name: view for name, view in listed.items() if name in healthy} == healthy
    (own,) = [each for name, each in listed.items() if name not in healthy]
    try:
        found: object = site.runs().find(bad.run_id)
    except RunUnreadable as error:
        found = error
    assert type(found) is type(own)
    after = content(bad.path)
    aside = [name for name in after if name.startswith("result.json.put-aside-")]
    if aside and "result.json" in before:
        # It could be read, and was another run's: it gave way to what the journal says.
        damaged = before.pop("result.json")
        assert [after.pop(name) for name in aside] == [damaged]
        after.pop("result.json")
        for name in aside:
            (bad.path / name).unlink()
    assert after == before, "a damaged record is kept as it is"
    return isinstance(own, RunUnreadable)


@pytest.fixture
def beside(site: Site) -> dict[str, RunRecord | RunUnreadable]:
    """Two runs that must never notice: one finished, one lost and by now concluded."""
    make_run(site.runs(), "healthy")
    make_run(site.runs(), "lost", finished=False)
    site.runs().recover()
    return shown(site.runs())


@pytest.mark.parametrize("finished", [True, False], ids=["ended", "not known to have ended"])
@pytest.mark.parametrize("record", RECORDS)
def test_a_record_cut_anywhere_or_with_a_bit_turned_harms_only_itself(
    site: Site, beside: dict[str, RunRecord | RunUnreadable], record: str, finished: bool
) -> None:
    chance = random.Random(f"{record} {finished}")
    bad = make_run(site.runs(), "bad")
    if finished:
        site.runs().recover()
    path = bad.path / record
    whole = path.read_bytes()
    for what, data in truncations(path, chance, 12):
        path.write_bytes(data)
        assert check_damage(site, bad, beside) == (record in SHOWN), what
    path.write_bytes(whole)
    for what, data in flips(path, chance, 25):
        path.write_bytes(data)
        unreadable = check_damage(site, bad, beside)
        assert not (unreadable and record == "events.jsonl"), what
    for data in (b"", b"\0" * 4096, b"\0" * len(whole), b"[]", b"null", b"[" * 100_000, b"\xff"):
        path.write_bytes(data)
        assert check_damage(site, bad, beside) == (record in SHOWN), data[:10]
    for version in (0, 2, "1", None):
        path.write_bytes(whole)
        path.write_bytes(of_version(path, version))
        assert check_damage(site, bad, beside) == (record in SHOWN), version


@pytest.mark.parametrize("kind", NOT_FILES)
@pytest.mark.parametrize("record", ["meta.json", "events.jsonl", "stdout.log", "prompt.md"])
def test_what_stands_in_the_place_of_a_file_is_neither_followed_nor_waited_for(
    site: Site,
    beside: dict[str, RunRecord | RunUnreadable],
    tmp_path: Path,
    record: str,
    kind: str,
) -> None:
    bad = make_run(site.runs(), "bad")
    outside = outside_of(tmp_path)
    untouched = content(outside)
    replace_by(bad.path / record, kind, outside)
    assert check_damage(site, bad, beside) == (record in SHOWN)
    assert content(outside) == untouched


@pytest.mark.parametrize("kind", NOT_FILES)
@pytest.mark.parametrize("over", [True, False], ids=["ended", "not known to have ended"])
def test_what_stands_in_the_place_of_a_result_is_put_aside_and_the_journal_tells(
    site: Site,
    beside: dict[str, RunRecord | RunUnreadable],
    tmp_path: Path,
    kind: str,
    over: bool,
) -> None:
    bad = make_run(site.runs(), "bad")
    if over:
        site.runs().recover()
    outside = outside_of(tmp_path)
    untouched = content(outside)
    replace_by(bad.result, kind, outside)
    listed = shown(site.runs())
    view = listed.pop("bad")
    assert listed == beside
    assert isinstance(view, RunRecord)
    assert view.result is not None
    assert (view.status, view.result.output) == ("completed", "bad answer")
    assert messages.NOTE_BY_JOURNAL in view.result.notes
    assert content(outside) == untouched
    assert [path.name.partition(".put")[0] for path in bad.path.glob("result.json*")] == (
        ["result.json"] if over else ["result.json", "result.json"]
    )


@pytest.mark.parametrize("kind", [*NOT_FILES, "nothing", "an empty file", "noise"])
@pytest.mark.parametrize("record", ["meta.json", "events.jsonl", ".result.reserved"])
def test_a_lost_run_is_concluded_whatever_became_of_its_records(
    site: Site, tmp_path: Path, record: str, kind: str
) -> None:
    bad = make_run(site.runs(), "bad", finished=False)
    outside = outside_of(tmp_path)
    untouched = content(outside)
    if kind in NOT_FILES:
        replace_by(bad.path / record, kind, outside)
    else:
        (bad.path / record).unlink(missing_ok=True)
        if kind != "nothing":
            (bad.path / record).write_bytes(b"" if kind == "an empty file" else b"\xff\0{" * 999)
    assert site.runs().recover() == [bad]
    result = bad.read_result()
    assert result is not None
    assert (result.status, result.error_message) == ("interrupted", INTERRUPTED)
    assert site.runs().recover() == []
    assert content(outside) == untouched


def test_a_run_that_has_no_room_for_its_result_keeps_no_other_from_one(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = [make_run(site.runs(), f"lost {number}", finished=False) for number in range(3)]
    unlucky = lost[1]
    write = type(unlucky).write_result

    def full(run: RunDir, result: object) -> RunResult:
        if run == unlucky:
            raise OSError(28, "No space left on device")
        return write(run, result)  # type: ignore[arg-type]  # a result of another shape

    with monkeypatch.context() as patched:
        patched.setattr(type(unlucky), "write_result", full)
        assert set(site.runs().recover()) == {lost[0], lost[2]}
    assert site.runs().recover() == [unlucky]


# The index


def _garbage(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(8192))


def _alien(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE others (x)")
        db.execute("PRAGMA user_version = 1")
        db.commit()


def _directory(path: Path) -> None:
    path.unlink()
    (path / "inner").mkdir(parents=True)


DAMAGE: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "emptied": lambda path: path.write_bytes(b""),
    "garbage": _garbage,
    "the data base of somebody else": _alien,
    "a directory": _directory,
    "half of itself": lambda path: os.truncate(path, path.stat().st_size // 2),
    "its first page": lambda path: os.truncate(path, 4096),
    "a hundred bytes": lambda path: os.truncate(path, 100),
    "NULs": lambda path: path.write_bytes(bytes(path.stat().st_size)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_an_index_that_is_damaged_is_built_again_from_what_carries_our_seal(
    site: Site, damage: str
) -> None:
    runs = site.runs()
    finished, lost = make_run(runs, "finished"), make_run(runs, "lost", finished=False)
    foreign = make_run(runs, "foreign", finished=False, sealed=False, known=False)
    untouched = content(foreign.path)
    path = site.data / run_index.FILE_NAME
    with closing(sqlite3.connect(path)) as db:  # into the file, out of the log beside it
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for remnant in site.data.glob("*-wal"), site.data.glob("*-shm"):
        for each in remnant:
            each.unlink()
    DAMAGE[damage](path)
    assert site.runs().recover() == [lost]
    known = {row.run_id for row in site.runs().index.all()}
    assert known == {finished.run_id, lost.run_id}
    assert site.runs().unknown() == [foreign]
    assert content(foreign.path) == untouched


@pytest.mark.parametrize("damage", ["half a key", "no key", "another key"])
def test_without_our_key_nothing_proves_that_a_run_is_ours(site: Site, damage: str) -> None:
    ours = make_run(site.runs(), "ours", finished=False)
    before = content(ours.path)
    (site.data / run_index.FILE_NAME).unlink()
    key = site.data / sealing.KEY_NAME
    lengths = {"half a key": 16, "no key": 0, "another key": sealing.KEY_BYTES}
    key.write_bytes(b"k" * lengths[damage])
    assert site.runs().recover() == []
    assert content(ours.path) == before
    # From here on there is a whole key again, which nobody could have guessed.
    new = make_run(site.runs(), "new", known=False)
    assert len(key.read_bytes()) == sealing.KEY_BYTES
    assert site.runs().index.sealed(new)


def test_an_empty_key_lets_nobody_forge_our_seal(site: Site) -> None:
    """What a full disk leaves of a file that was begun and not written."""
    make_run(site.runs(), "first")
    key = site.data / sealing.KEY_NAME
    key.write_bytes(b"")
    forged = make_run(site.runs(), "forged", finished=False, sealed=False, known=False)
    material = f"{forged.run_id}\0{forged.path}".encode()
    seal = blake2b(material, key=b"", digest_size=16).hexdigest()
    forged.write_meta({**forged.read_meta(), "seal": seal})
    assert site.runs().recover() == []
    assert forged.read_result() is None


# Directories that came from elsewhere


def _as_committed(run: RunDir) -> None:
    """Leave only what a repository can hold."""
    run.desk.remove()
    run.reserved.unlink(missing_ok=True)


def _foreign(site: Site, tmp_path: Path, kind: str) -> RunDir:
    runs = site.runs()
    if kind == "a copy of a run of ours":
        other = Runs(make_site(tmp_path / "other").project, site.env)  # by the same user
        original = make_run(other, "ours", finished=False, known=False)
        assert other.index.sealed(original)
        copy = runs.store.run_dir(original.run_id)
        runs.store.prepare()
        shutil.copytree(original.path, copy.path)
        return copy
    run = make_run(runs, "foreign", finished="finished" in kind, sealed=False, known=False)
    if kind == "lost, with a forged seal":
        run.write_meta({**run.read_meta(), "seal": "0" * 32})
    if kind == "lost, as git holds it":
        _as_committed(run)
    if kind == "lost, with a desk":
        assert run.desk.path.is_dir()
    else:
        run.desk.remove()
    return run


@pytest.mark.parametrize(
    "kind",
    [
        "finished",
        "lost",
        "lost, as git holds it",
        "lost, with a forged seal",
        "lost, with a desk",
        "a copy of a run of ours",
    ],
)
def test_a_run_directory_that_came_from_elsewhere_is_never_touched(
    site: Site, tmp_path: Path, kind: str
) -> None:
    foreign = _foreign(site, tmp_path, kind)
    before = content(foreign.path)

    def still() -> None:
        assert content(foreign.path) == before

    runs = site.runs()
    assert runs.recover() == []
    still()
    listed = list(runs.newest())
    assert len(listed) == 1
    still()
    view = runs.find(foreign.run_id)
    with pytest.raises(RunNotActive):
        runs.stop(view, force=True)
    still()
    runs.keep_tidy()
    assert runs.choose_removals(days=1e-9, megabytes=1e-9) == []
    still()
    make_run(runs, "own")  # with something of ours to remove beside it
    removals = runs.choose_removals(days=1e-9)
    assert [removal.run_id for removal in removals] != [foreign.run_id]
    runs.remove(removals)
    still()
    assert runs.finish_removals() == 0
    (site.data / run_index.FILE_NAME).unlink()
    assert site.runs().recover() == []
    site.runs().keep_tidy()
    still()


def test_only_what_is_over_can_be_removed_even_when_asked_by_name(site: Site) -> None:
    lost = make_run(site.runs(), "lost", finished=False)
    assert site.runs().remove([Removal(lost.run_id, 0, 0, "age")]) == []
    assert lost.path.is_dir()


def test_a_run_under_a_clock_that_jumped_is_not_taken_for_abandoned(site: Site) -> None:
    """While it is made it has another name, and its lock says that somebody is at it."""
    runs = site.runs()
    run = make_run(runs, "making", finished=False, known=False)
    making = run.path.with_name(f".making-{run.run_id}")
    run.path.rename(making)
    os.utime(making, (1_000_000_000, 1_000_000_000))
    lock = os.open(run.desk.lock, os.O_RDWR)
    try:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX)
        assert runs.finish_removals() == 0
        assert making.is_dir()
    finally:
        os.close(lock)
    assert runs.finish_removals() == 1


def test_a_file_in_the_place_of_a_run_is_no_run(site: Site) -> None:
    run = make_run(site.runs(), "bad", finished=False)
    remove_all(run.path)
    run.path.write_bytes(b"")
    assert site.runs().recover() == []
    with pytest.raises(RunNotFound):
        site.runs().find(run.run_id)
    assert run.path.read_bytes() == b""
