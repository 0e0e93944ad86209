from __future__ import annotations

import json
import os
import stat
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from tests.unit.core.given_values import briefly, json_objects, json_values

from pi_subagents.core.engine_values import Model, ModelList
from pi_subagents.core.value import replace
from pi_subagents.engines.pi.models import cache as model_cache
from pi_subagents.engines.pi.models.cache import MAX_AGE_MS, ModelCache

if TYPE_CHECKING:
    from pathlib import Path

DIGEST = "ab" * 16
NOW = 1_800_000_000_000
MODELS = (Model("acme", "big", "Big One"), Model("acme", "a/b:c"))
CACHED = ModelList(MODELS, cached=True)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data/models"


@pytest.fixture
def cache(directory: Path) -> ModelCache:
    cache = ModelCache(directory)
    cache.secret()
    return cache


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_kept_is_had_again_by_its_digest_alone(cache: ModelCache) -> None:
    cache.keep(DIGEST, MODELS, NOW)
    assert cache.load(DIGEST, NOW) == CACHED
    assert cache.load("cd" * 16, NOW) is None


def test_the_file_says_its_version_and_holds_nothing_but_the_list(
    cache: ModelCache, directory: Path
) -> None:
    cache.keep(DIGEST, MODELS, NOW)
    assert json.loads((directory / f"{DIGEST}.json").read_bytes()) == {
        "schemaVersion": 1,
        "toldAt": NOW,
        "models": [
            {"provider": "acme", "id": "big", "name": "Big One"},
            {"provider": "acme", "id": "a/b:c", "name": ""},
        ],
    }


def test_everything_is_private_from_the_data_directory_down(
    cache: ModelCache, directory: Path
) -> None:
    cache.keep(DIGEST, MODELS, NOW)
    assert {path.name: mode(path) for path in (directory.parent, directory, *directory.iterdir())} == {
        "data": 0o700, "models": 0o700, "secret.key": 0o600, f"{DIGEST}.json": 0o600,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("age_ms", "there"), [(0, True), (MAX_AGE_MS - 1, True), (MAX_AGE_MS, False), (-1, False)]
)
def test_a_list_counts_for_a_day_and_not_before_it_was_told(
    cache: ModelCache, age_ms: int, there: bool
) -> None:
    cache.keep(DIGEST, MODELS, NOW)
    assert cache.load(DIGEST, NOW + age_ms) == (replace(CACHED, age_ms=age_ms) if there else None)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000,
        b'{"schemaVersion": 2, "toldAt": 1800000000000, "models": [{"provider": "p", "id": "m"}]}',
        b'{"schemaVersion": 1, "models": [{"provider": "p", "id": "m"}]}',
        b'{"schemaVersion": 1, "toldAt": "now", "models": [{"provider": "p", "id": "m"}]}',
        b'{"schemaVersion": 1, "toldAt": 1800000000000}',
        b'{"schemaVersion": 1, "toldAt": 1800000000000, "models": []}',
        b'{"schemaVersion": 1, "toldAt": 1800000000000, "models": [{"provider": "p"}]}',
    ],
    ids=lambda content: content[:40],
)  # fmt: skip
def test_a_damaged_file_counts_as_missing_and_is_replaced(
    cache: ModelCache, directory: Path, content: bytes
) -> None:
    (directory / f"{DIGEST}.json").write_bytes(content)
    assert cache.load(DIGEST, NOW) is None
    cache.keep(DIGEST, MODELS, NOW)
    assert cache.load(DIGEST, NOW) == CACHED


@given(
    json_values | json_objects.map(lambda content: {"schemaVersion": 1, "toldAt": NOW, **content})
)
@briefly
def test_no_content_of_a_file_is_an_error(
    tmp_path_factory: pytest.TempPathFactory, content: object
) -> None:
    directory = tmp_path_factory.mktemp("models")
    (directory / f"{DIGEST}.json").write_text(json.dumps(content))
    assert ModelCache(directory).load(DIGEST, NOW) is None


def test_a_link_or_a_pipe_in_place_of_a_file_is_not_read(
    cache: ModelCache, directory: Path, tmp_path: Path
) -> None:
    cache.keep(DIGEST, MODELS, NOW)
    (directory / f"{DIGEST}.json").rename(tmp_path / "elsewhere")
    (directory / f"{DIGEST}.json").symlink_to(tmp_path / "elsewhere")
    assert cache.load(DIGEST, NOW) is None
    (directory / f"{DIGEST}.json").unlink()
    os.mkfifo(directory / f"{DIGEST}.json")
    assert cache.load(DIGEST, NOW) is None


def test_only_the_newest_lists_are_kept_and_what_is_no_list_always(
    cache: ModelCache, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_cache, "MAX_ENTRIES", 3)
    names = [f"{number:032x}" for number in range(5)]
    os.utime(directory / "secret.key", (0, 0))
    for name in (f".{DIGEST}.json.0123456789ab.tmp", "not-ours.json"):
        (directory / name).write_bytes(b"{")
        os.utime(directory / name, (1, 1))
    for age, name in enumerate(names[:4]):
        cache.keep(name, MODELS, NOW)
        os.utime(directory / f"{name}.json", (10 + age, 10 + age))
    cache.keep(names[4], MODELS, NOW)
    assert sorted(path.name for path in directory.iterdir()) == [
        *(f"{name}.json" for name in names[2:]), "not-ours.json", "secret.key",
    ]  # fmt: skip


def test_the_secret_is_made_once(cache: ModelCache, directory: Path) -> None:
    secret = cache.secret()
    assert (len(secret), ModelCache(directory).secret()) == (32, secret)
    assert ModelCache(directory.parent / "others").secret() != secret


@pytest.mark.parametrize("damaged", [b"", b"short"])
def test_half_a_secret_is_replaced(cache: ModelCache, directory: Path, damaged: bytes) -> None:
    (directory / "secret.key").write_bytes(damaged)
    assert len(cache.secret()) == 32
    assert cache.secret() == (directory / "secret.key").read_bytes()


def test_all_who_come_at_once_get_one_secret_and_whole_lists(directory: Path) -> None:
    start = threading.Barrier(8)
    secrets: set[bytes] = set()
    lists: list[ModelList | None] = []

    def come() -> None:
        cache = ModelCache(directory)
        start.wait()
        secrets.add(cache.secret())
        for _ in range(10):
            cache.keep(DIGEST, MODELS, NOW)
            lists.append(cache.load(DIGEST, NOW))

    threads = [threading.Thread(target=come) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(secrets), lists) == (1, [CACHED] * 80)


def test_what_cannot_be_kept_is_not(directory: Path) -> None:
    ModelCache(directory).keep(DIGEST, MODELS, NOW)  # without its directory
    assert not directory.exists()
    directory.parent.mkdir()
    directory.write_text("not a directory")
    with pytest.raises(OSError, match="directory"):
        ModelCache(directory).secret()
