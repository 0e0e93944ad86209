"""
Send a snapshot to a machine that has nothing of its repository, as a chain of git bundles.

At the caller: in, a snapshot and the chain that is there already; out, the whole chain, with a file
for each bundle that is new.  Only the last one, uncommitted work, is of no use to a later call.
At the worker: in, a chain and a way to get its files; out, a repository that has the snapshot.
What a bundle holds is believed when its hash, its commit and everything below that are right.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.workspace.bundle import (
    MAX_BUNDLE_BYTES,
    MAX_BUNDLES,
    Bundle,
    bundles_from_json,
    bundles_to_json,
)
from pi_subagents.errors.workspaces import GitFailed, NoWorkspace, WorkspaceNotMade
from pi_subagents.system.safe_io import (
    make_private_dirs,
    open_new,
    read_json,
    replace_file,
    to_json_bytes,
)
from pi_subagents.workspaces import messages
from pi_subagents.workspaces.git import Git
from pi_subagents.workspaces.repository import Repository
from pi_subagents.workspaces.snapshot import Snapshot, keep_snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_CHAINS = Path("cluster") / "chains"
_MAX_CHAIN_BYTES = 64 * 1024
_REF = "refs/pi-subagents/"
_PACK = ("pack-objects", "--revs", "--thin", "--stdout", "--delta-base-offset", "-q")
_USED = "used"
_SHA256_DIGITS = 64


# At the caller


def read_chain(data_dir: Path, repository: Repository) -> tuple[Bundle, ...]:
    """Return the commits of a repository that were packed before; nothing where none were."""
    with suppress(OSError, ValueError):
        content = read_json(_chain_file(data_dir, repository), _MAX_CHAIN_BYTES)
        return bundles_from_json(content)
    return ()


def keep_chain(data_dir: Path, snapshot: Snapshot, chain: Sequence[Bundle]) -> None:
    """Keep what a later call can build on: commits of the repository, not uncommitted work."""
    repository = snapshot.repository
    kept = [bundle for bundle in chain if not _is_uncommitted(bundle, snapshot)]
    path = _chain_file(data_dir, repository)
    make_private_dirs(path.parent)
    replace_file(path, to_json_bytes(bundles_to_json(kept)))


def pack_snapshot(
    snapshot: Snapshot, known: Sequence[Bundle], into: Path, env: Mapping[str, str]
) -> tuple[Bundle, ...]:
    """Return the chain of a snapshot; what is not known yet lies in a directory, by its digest."""
    git, head = snapshot.git(env), snapshot.repository.head
    chain = [bundle for bundle in known if _is_before(git, bundle.commit, head)]
    if list(known[: len(chain)]) != chain or len(chain) > MAX_BUNDLES - 2:
        chain = []  # another history, or so many parts that a whole one is less work
    if not chain or chain[-1].commit != head:
        chain.append(_pack(git, head, chain[-1].commit if chain else "", into))
    if snapshot.commit != head:
        chain.append(_pack(git, snapshot.commit, head, into))
    return tuple(chain)


def _pack(git: Git, commit: str, base: str, into: Path) -> Bundle:
    path = into / f"{commit}.{os.urandom(4).hex()}.making"  # others may pack the same just now
    with os.fdopen(open_new(path), "wb") as file:
        file.write(_header(commit, base))
        wanted = f"{commit}\n^{base}\n" if base else f"{commit}\n"
        if not git.write_to(file, *_PACK, given=wanted.encode(), max_bytes=MAX_BUNDLE_BYTES):
            path.unlink()
            raise NoWorkspace(str(git.cwd), messages.too_large_to_send(MAX_BUNDLE_BYTES))
    digest, size = _digest(path)
    path.rename(into / digest)
    return Bundle(commit, base, digest, size)


def _header(commit: str, base: str) -> bytes:
    """Return what `git bundle create` begins a file with; that wants a ref, and there is none."""
    lines = ["# v2 git bundle"]
    if _object_format(commit) != "sha1":
        lines = ["# v3 git bundle", f"@object-format={_object_format(commit)}"]
    if base:
        lines.append(f"-{base} ")
    return "\n".join([*lines, f"{commit} {_REF}{commit}", "", ""]).encode()


def _object_format(commit: str) -> str:
    return "sha256" if len(commit) == _SHA256_DIGITS else "sha1"


def _is_before(git: Git, commit: str, head: str) -> bool:
    return git.ask("merge-base", "--is-ancestor", commit, head).code == 0


def _is_uncommitted(bundle: Bundle, snapshot: Snapshot) -> bool:
    return bundle.commit == snapshot.commit != snapshot.repository.head


def _chain_file(data_dir: Path, repository: Repository) -> Path:
    name = blake2b(os.fsencode(repository.common_dir), digest_size=8).hexdigest()
    return data_dir / _CHAINS / f"{name}.json"


# At the worker


def lacking(chain: Sequence[Bundle], stores: Path, env: Mapping[str, str]) -> list[Bundle]:
    """Return the bundles of a chain that `open_bundles` will ask for."""
    store = stores / chain[0].commit
    with _held(store):
        return _lacking(_store_git(store, env), chain)


def open_bundles(
    chain: Sequence[Bundle],
    fetch: Callable[[Bundle], Path],
    stores: Path,
    env: Mapping[str, str],
) -> Repository:
    """
    Return a repository that has the last commit of a chain; only what it lacks is fetched.

    WorkspaceNotMade where a bundle is not what it has to be.
    """
    store = stores / chain[0].commit
    with _held(store):
        git = _store_git(store, env)
        for bundle in _lacking(git, chain):
            _open(git, bundle, fetch(bundle))
        (store / _USED).touch()
    directory = str(store / "files" / ".git")
    return Repository(str(store / "files"), directory, directory, f"{directory}/objects", "")


def receive_snapshot(
    repository: Repository, commit: str, prefix: str, home: Path, env: Mapping[str, str]
) -> Snapshot:
    """Keep a snapshot of a commit that was received; there is no checkout that it was taken of."""
    tree = Git(env, Path(repository.top), repository.checkout).line(
        "rev-parse", "--verify", f"{commit}^{{tree}}"
    )
    make_private_dirs(home)
    snapshot = Snapshot(repository, commit, tree, prefix, str(home), received=True)
    (snapshot.objects / "pack").mkdir(mode=0o700, parents=True)
    keep_snapshot(snapshot)
    return snapshot


def prune_stores(stores: Path, unused_s: float) -> int:
    """Remove repositories that no run used for so long and no worktree is of; count them."""
    removed = 0
    for store in stores.glob("*"):
        with suppress(OSError):
            if time.time() - (store / _USED).stat().st_mtime < unused_s:
                continue
            if any((store / "files" / ".git" / "worktrees").glob("*")):
                continue
            with _held(store):
                shutil.rmtree(store / "files", ignore_errors=True)
            shutil.rmtree(store, ignore_errors=True)
            removed += 1
    return removed


@contextmanager
def _held(store: Path) -> Iterator[None]:
    """Let one process at a time change a store."""
    make_private_dirs(store)
    lock = os.open(store / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _store_git(store: Path, env: Mapping[str, str]) -> Git:
    files = store / "files"
    if not (files / ".git" / "HEAD").exists():
        files.mkdir(mode=0o700, exist_ok=True)
        form = f"--object-format={_object_format(store.name)}"
        try:
            Git(env, files).run("init", "--quiet", "--template=", form)
        except GitFailed as error:
            raise WorkspaceNotMade(str(error)) from error
    return Git(env, files)


def _lacking(git: Git, chain: Sequence[Bundle]) -> list[Bundle]:
    """Return what comes after the last commit of a chain that is there."""
    missing: list[Bundle] = []
    for bundle in reversed(chain):
        if _has(git, bundle.commit):
            break
        missing.insert(0, bundle)
    return missing


def _has(git: Git, commit: str) -> bool:
    """Return whether a commit was received, and found to be whole."""
    return git.ask("rev-parse", "--verify", "--quiet", f"{_REF}{commit}").code == 0


def _open(git: Git, bundle: Bundle, path: Path) -> None:
    try:
        if _digest(path) != (bundle.digest, bundle.size):
            raise WorkspaceNotMade(messages.BUNDLE_ALTERED)
        git.run("bundle", "unbundle", str(path))
        without = (f"^{bundle.base}",) if bundle.base else ()
        # Of what a bundle leaves out everything is known to be here.
        git.run("rev-list", "--objects", "--quiet", f"{bundle.commit}^{{commit}}", *without)
        git.run("update-ref", f"{_REF}{bundle.commit}", bundle.commit)
    except (GitFailed, OSError) as error:
        raise WorkspaceNotMade(messages.bundle_not_opened(str(error))) from error


def _digest(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size
