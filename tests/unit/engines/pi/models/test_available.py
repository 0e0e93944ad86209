from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_pi_models import ModelsPlace, make_models_place

from pi_subagents.core.engine_values import Model, ModelList
from pi_subagents.engines.pi.models import available as looking_up
from pi_subagents.engines.pi.models.available import choose_among_models, list_models
from pi_subagents.engines.pi.models.cache import MAX_AGE_MS
from pi_subagents.engines.pi.models.names import resolve_model
from pi_subagents.errors import ModelAmbiguous, ModelNotAvailable, ModelsUnknown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BIG, SMALL = Model("acme", "big", "Big One"), Model("acme", "small")
NOW = 1_800_000_000_000


class Clock:
    """The hour at which lists are told and looked at."""

    now_ms = NOW


@pytest.fixture
def place(tmp_path: Path) -> ModelsPlace:
    return make_models_place(tmp_path)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(looking_up, "now_ms", lambda: clock.now_ms)
    return clock


def said(
    place: ModelsPlace, *, trusted: bool = False, arguments: Sequence[str] = ()
) -> tuple[Model, ...]:
    return list_models(place.setup(*arguments, trusted=trusted), place.data_dir).models


def test_pi_is_asked_once_and_its_answer_is_kept(place: ModelsPlace, clock: Clock) -> None:
    assert list_models(place.setup(), place.data_dir) == ModelList((BIG, SMALL), cached=False)
    clock.now_ms += 5000
    assert list_models(place.setup(), place.data_dir) == ModelList(
        (BIG, SMALL), cached=True, age_ms=5000
    )
    assert said(place) == (BIG, SMALL)
    assert len(place.starts()) == 1


def test_a_list_of_yesterday_is_asked_for_again(place: ModelsPlace, clock: Clock) -> None:
    said(place)
    clock.now_ms += MAX_AGE_MS
    place.has(("acme", "big", "Big One"))
    assert list_models(place.setup(), place.data_dir) == ModelList((BIG,), cached=False)
    assert list_models(place.setup(), place.data_dir) == ModelList((BIG,), cached=True)


def test_a_refresh_asks_pi_and_keeps_what_it_tells_now(place: ModelsPlace, clock: Clock) -> None:
    said(place)
    place.has(("acme", "small", ""))
    assert said(place) == (BIG, SMALL)
    assert list_models(place.setup(), place.data_dir, refresh=True) == ModelList(
        (SMALL,), cached=False
    )
    assert said(place) == (SMALL,)
    assert len(place.starts()) == 2


def test_a_model_that_is_configured_is_seen_at_once(place: ModelsPlace) -> None:
    said(place)
    place.has(("acme", "new", ""))
    (place.agent_dir / "models.json").write_text("{}")
    assert said(place) == (Model("acme", "new"),)


def test_trust_and_options_are_told_apart(place: ModelsPlace) -> None:
    for _ in range(2):
        said(place)
        said(place, trusted=True)
        said(place, arguments=["--no-extensions"])
    assert [start["argv"][3:] for start in place.starts()] == [
        ["--no-approve"], ["--approve"], ["--no-approve", "--no-extensions"],
    ]  # fmt: skip


def test_a_key_in_the_environment_is_told_apart_and_nowhere_written(place: ModelsPlace) -> None:
    for key in ("sk-one-2718281828", "sk-two-3141592653", "sk-one-2718281828"):
        list_models(place.setup(ACME_API_KEY=key), place.data_dir)
    assert len(place.starts()) == 2
    for path in (place.data_dir / "models").iterdir():
        assert b"sk-" not in path.read_bytes()
        assert "sk-" not in path.name


def test_a_damaged_list_is_asked_for_again(place: ModelsPlace) -> None:
    said(place)
    (entry,) = (place.data_dir / "models").glob("*.json")
    entry.write_bytes(entry.read_bytes()[:50])
    assert said(place) == said(place) == (BIG, SMALL)
    assert len(place.starts()) == 2


def test_no_models_at_all_are_asked_for_again(place: ModelsPlace) -> None:
    place.has()
    assert said(place) == ()
    place.has(("acme", "small", ""))
    assert said(place) == (SMALL,)


def test_a_failure_is_not_kept(place: ModelsPlace) -> None:
    place.behave("fails")
    with pytest.raises(ModelsUnknown):
        said(place)
    place.behave("answers")
    assert said(place) == (BIG, SMALL)


def test_without_room_for_a_cache_pi_is_asked_each_time(place: ModelsPlace) -> None:
    (place.root / "data").write_text("not a directory")
    assert said(place) == said(place) == (BIG, SMALL)
    assert len(place.starts()) == 2


def test_all_who_ask_at_once_are_told_the_same(place: ModelsPlace) -> None:
    found: list[tuple[Model, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(said(place))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(BIG, SMALL)] * 4
    asked = len(place.starts())
    assert said(place) == (BIG, SMALL)
    assert len(place.starts()) == asked


def chosen(place: ModelsPlace, name: str) -> str:
    return choose_among_models(
        place.setup(), place.data_dir, lambda models: resolve_model(name, models)
    )


def test_a_model_is_chosen_from_the_cache(place: ModelsPlace) -> None:
    assert [chosen(place, "big"), chosen(place, "small:low")] == ["acme/big", "acme/small:low"]
    assert len(place.starts()) == 1


def test_before_a_model_is_refused_a_cached_list_is_asked_for_again(place: ModelsPlace) -> None:
    said(place)
    place.has(("other", "big", ""), ("other", "new", ""))
    assert chosen(place, "new") == "other/new"
    assert chosen(place, "big") == "other/big"
    assert len(place.starts()) == 2


@pytest.mark.parametrize(
    ("name", "refusal"), [("none", ModelNotAvailable), ("twin", ModelAmbiguous)]
)
def test_a_refusal_costs_one_question(
    place: ModelsPlace, name: str, refusal: type[Exception]
) -> None:
    place.has(("acme", "twin", ""), ("other", "twin", ""))
    for asked in (1, 2):
        with pytest.raises(refusal):
            chosen(place, name)
        assert len(place.starts()) == asked
