"""A snapshot arrives on another machine as it was, and only what is missing there travels."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fakes.git_place import MEGABYTE, GitPlace, dirty, git_place

from pi_subagents.core.value import replace
from pi_subagents.errors.workspaces import NoWorkspace, WorkspaceNotMade
from pi_subagents.workspaces import bundle as bundles
from pi_subagents.workspaces.bundle import (
    keep_chain,
    open_bundles,
    pack_snapshot,
    prune_stores,
    read_chain,
    receive_snapshot,
)
from pi_subagents.workspaces.changes import save_changes
from pi_subagents.workspaces.snapshot import Snapshot, changed_since, load_snapshot
from pi_subagents.workspaces.worktree import (
    Worktree,
    make_worktree,
    remove_worktree,
    verify_worktree,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pi_subagents.core.workspace.bundle import Bundle


class Worker:
    """A machine that shares nothing with the caller but the files of bundles."""

    def __init__(self, place: GitPlace, name: str = "worker") -> None:
        self.home = place.root / name
        self.sent = place.root / "sent"
        self.sent.mkdir(exist_ok=True)
        self.env = {**place.env, "HOME": str(self.home)}
        self.fetched: list[Bundle] = []

    @property
    def stores(self) -> Path:
        return self.home / "repositories"

    def fetch(self, bundle: Bundle) -> Path:
        self.fetched.append(bundle)
        return self.sent / bundle.digest

    def receive(self, chain: Sequence[Bundle], prefix: str = ".") -> Snapshot:
        repository = open_bundles(chain, self.fetch, self.stores, self.env)
        home = self.home / "workspaces" / os.urandom(4).hex()
        return receive_snapshot(repository, chain[-1].commit, prefix, home, self.env)

    def worktree(self, chain: Sequence[Bundle], prefix: str = ".") -> Worktree:
        worktree = Worktree(self.receive(chain, prefix), os.urandom(8).hex())
        make_worktree(worktree, self.env)
        verify_worktree(worktree, worktree.cwd, self.env)
        return worktree


def pack(place: GitPlace, snapshot: Snapshot, known: Sequence[Bundle] = ()) -> tuple[Bundle, ...]:
    (place.root / "sent").mkdir(exist_ok=True)
    return pack_snapshot(snapshot, known, place.root / "sent", place.env)


def head(place: GitPlace) -> str:
    return place.git("rev-parse", "HEAD").decode().strip()


def test_what_the_caller_sees_is_what_the_worker_has(place: GitPlace) -> None:
    dirty(place)
    snapshot = place.snapshot()
    worktree = Worker(place).worktree(pack(place, snapshot))
    assert place.files(worktree.path) == place.files(place.worktree(snapshot).path)
    assert worktree.snapshot.tree == snapshot.tree
    assert load_snapshot(worktree.snapshot.dir) == worktree.snapshot


def test_it_can_be_opened_on_two_workers_and_twice_on_one(place: GitPlace) -> None:
    dirty(place)
    chain = pack(place, place.snapshot())
    one, other = Worker(place), Worker(place, "other")
    trees = [worker.worktree(chain).snapshot.tree for worker in (one, one, other)]
    assert len(set(trees)) == 1
    assert (one.fetched, other.fetched) == ([*chain], [*chain])


def test_of_what_was_sent_before_only_the_difference_travels(place: GitPlace) -> None:
    worker = Worker(place)
    first = pack(place, place.snapshot())
    worker.receive(first)
    place.write({"more.txt": "more\n"})
    place.commit()
    dirty(place)
    snapshot = place.snapshot()
    second = pack(place, snapshot, first)
    worktree = worker.worktree(second)
    assert [each.base for each in second] == ["", first[0].commit, head(place)]
    assert worker.fetched == [*first, *second[1:]]
    assert worktree.snapshot.tree == snapshot.tree


def test_one_bundle_of_a_clean_checkout_is_all_there_is(place: GitPlace) -> None:
    chain = pack(place, place.snapshot())
    assert [(each.commit, each.base) for each in chain] == [(head(place), "")]


def test_a_history_that_was_rewritten_travels_whole(place: GitPlace) -> None:
    place.write({"more.txt": "more\n"})
    place.commit()
    first = pack(place, place.snapshot())
    place.git("reset", "-q", "--hard", "HEAD^")
    place.write({"other.txt": "other\n"})
    place.commit("another")
    second = pack(place, place.snapshot(), first)
    assert [(each.commit, each.base) for each in second] == [(head(place), "")]


def test_a_long_chain_begins_anew(place: GitPlace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "MAX_BUNDLES", 3)
    chain: tuple[Bundle, ...] = ()
    lengths = []
    for number in range(4):
        place.write({"more.txt": f"{number}\n"})
        place.commit()
        chain = pack(place, place.snapshot(), chain)
        lengths.append(len(chain))
    assert lengths == [1, 2, 1, 2]


def test_what_a_later_call_can_build_on_is_kept_without_uncommitted_work(place: GitPlace) -> None:
    dirty(place)
    snapshot, data = place.snapshot(), place.root / "data"
    assert read_chain(data, snapshot.repository) == ()
    chain = pack(place, snapshot)
    keep_chain(data, snapshot, chain)
    assert read_chain(data, snapshot.repository) == chain[:1]
    (kept,) = (data / "cluster" / "chains").iterdir()
    kept.write_text("{}")
    assert read_chain(data, snapshot.repository) == ()


def test_packing_changes_nothing_in_the_repository(place: GitPlace) -> None:
    dirty(place)
    snapshot, before = place.snapshot(), place.state()
    pack(place, snapshot)
    assert place.state() == before


def test_a_repository_that_is_too_large_is_refused_with_what_to_do(
    place: GitPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "MAX_BUNDLE_BYTES", MEGABYTE)
    place.write({"large.bin": os.urandom(2 * MEGABYTE)})
    place.commit()
    with pytest.raises(NoWorkspace) as refused:
        pack(place, place.snapshot())
    assert str(refused.value) == (
        f"No worktree can be made of {place.top}: it takes more than 1 MB to send it to a worker. "
        "Let workers and caller share a file system (subagents worker --shared-path), or run it "
        "here."
    )
    assert list((place.root / "sent").iterdir()) == []


def test_changes_made_there_fit_the_snapshot_here(place: GitPlace) -> None:
    dirty(place)
    snapshot = place.snapshot()
    worker = Worker(place)
    there = worker.worktree(pack(place, snapshot))
    place.write({"made/there.txt": "made\n", "a.txt": "changed\n"}, there.path)
    run_dir = place.run_dir(there)
    changes = save_changes(there, run_dir, worker.env, 64 * MEGABYTE)
    assert [file.path for file in changes.files] == ["a.txt", "made/there.txt"]
    assert changes.changed_meanwhile == ()
    assert remove_worktree(there, worker.env)
    here = place.worktree(snapshot)
    with (run_dir / "changes.patch").open("rb") as patch:
        place.git("apply", "--whitespace=nowarn", at=here.path, given=patch.read())
    assert (here.path / "made/there.txt").read_text() == "made\n"
    assert place.save(here).tree == changes.tree


def test_what_was_received_is_never_compared_with_a_checkout(place: GitPlace) -> None:
    received = Worker(place).receive(pack(place, place.snapshot()))
    assert changed_since(received, place.env) == ()


@pytest.mark.parametrize("damage", ["cut", "flipped", "other"])
def test_a_bundle_that_was_altered_is_refused_and_asked_for_again(
    place: GitPlace, damage: str
) -> None:
    worker = Worker(place)
    (bundle,) = pack(place, place.snapshot())
    path = worker.sent / bundle.digest
    whole = path.read_bytes()
    flipped = whole[:-30] + bytes([whole[-30] ^ 1]) + whole[-29:]
    path.write_bytes({"cut": whole[:-1], "flipped": flipped, "other": b""}[damage])
    with pytest.raises(WorkspaceNotMade) as refused:
        worker.receive([bundle])
    assert refused.value.reason == "what was received of its repository is not what was sent."
    path.write_bytes(whole)
    assert worker.receive([bundle]).commit == bundle.commit


def test_a_bundle_of_another_commit_than_it_says_is_refused(place: GitPlace) -> None:
    (bundle,) = pack(place, place.snapshot())
    with pytest.raises(WorkspaceNotMade) as refused:
        Worker(place).receive([replace(bundle, commit="a" * 40)])
    assert refused.value.reason.startswith("what was received of its repository cannot be used: ")


def test_a_bundle_whose_base_is_not_there_is_refused(place: GitPlace) -> None:
    dirty(place)
    whole, thin = pack(place, place.snapshot())
    alone = replace(thin, base="")
    with pytest.raises(WorkspaceNotMade) as refused:
        Worker(place).receive([alone])
    assert refused.value.reason.startswith("what was received of its repository cannot be used: ")
    assert whole.base == ""


def test_repositories_that_nobody_uses_are_removed_and_those_of_worktrees_are_not(
    place: GitPlace,
) -> None:
    worker, chain = Worker(place), pack(place, place.snapshot())
    worktree = worker.worktree(chain)
    assert prune_stores(worker.stores, 0) == 0
    assert remove_worktree(worktree, worker.env)
    assert prune_stores(worker.stores, 3600) == 0
    assert prune_stores(worker.stores, 0) == 1
    assert list(worker.stores.iterdir()) == []
    assert worker.worktree(chain).snapshot.commit == chain[-1].commit


def test_a_repository_with_the_longer_names_travels_too(tmp_path: Path) -> None:
    place = GitPlace(tmp_path)
    (tmp_path / "home").mkdir()
    place.top.mkdir()
    place.git("init", "-q", "--object-format=sha256")
    for name, each in (("user.name", "Jane"), ("user.email", "jane@example.org")):
        place.git("config", name, each)
    place.write({"a.txt": "a\n"})
    place.commit("first")
    place.write({"b.txt": "b\n"})
    snapshot = place.snapshot()
    chain = pack(place, snapshot)
    assert [len(each.commit) for each in chain] == [64, 64]
    assert Worker(place).worktree(chain).snapshot.tree == snapshot.tree


names = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda name: name.casefold() not in (".", "..", ".git") and "git~1" not in name.casefold())
trees = st.dictionaries(names, st.binary(max_size=200), max_size=5)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=12)
@given(committed=trees, uncommitted=trees)
def test_whatever_files_there_are_they_arrive_to_the_byte(
    tmp_path_factory: pytest.TempPathFactory,
    committed: dict[str, bytes],
    uncommitted: dict[str, bytes],
) -> None:
    root = tmp_path_factory.mktemp("sent")
    try:
        place = git_place(root)
        worker = Worker(place)
        first = pack(place, place.snapshot())
        worker.receive(first)
        for name, content in committed.items():
            (place.top / name).write_bytes(content)
        place.git("add", "-A")
        place.git("commit", "-qm", "more", "--allow-empty")
        for name, content in uncommitted.items():
            (place.top / name).write_bytes(content)
        snapshot = place.snapshot()
        there = worker.worktree(pack(place, snapshot, first))
        assert place.files(there.path) == place.files(place.worktree(snapshot).path)
    finally:
        shutil.rmtree(root)
