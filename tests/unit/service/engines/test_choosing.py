"""Which engine a task's child is of, and that no model goes from one engine to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.call_contexts import call_context
from tests.fakes.demo_engine.engine import DemoEngine
from tests.fakes.pi_calls import pi_call
from tests.fakes.records import record

from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.settings import Settings
from pi_subagents.core.value import replace
from pi_subagents.engines.base import CallPlace
from pi_subagents.engines.opening import engines_in
from pi_subagents.engines.table import ENGINES, engine_names
from pi_subagents.errors import UnknownEngine
from pi_subagents.service.call import open_call
from pi_subagents.service.engines.choosing import choose_engine, without_other_models
from pi_subagents.service.messages import note_other_engine
from pi_subagents.store.held_runs import HeldRuns
from pi_subagents.store.run_store import open_store

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.service.call import CallContext


@pytest.fixture(autouse=True)
def _demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "demo", "tests.fakes.demo_engine")
    monkeypatch.setitem(ENGINES, "other", "nowhere")


@pytest.fixture
def context(tmp_path: Path) -> CallContext:
    store = open_store(tmp_path, {"HOME": str(tmp_path)})
    return call_context(tmp_path, store, HeldRuns(store), pi_call(), Settings())


def test_the_nearest_word_counts(context: CallContext) -> None:
    of_call = replace(context, options={"engine": "other"})
    profile, before = Profile("p", engine="demo"), (record(engine="demo"),)
    assert choose_engine(context, None) == "pi"
    assert choose_engine(replace(context, engine="demo"), None) == "demo"
    assert choose_engine(context, None, None, before) == "demo"
    assert choose_engine(context, None, profile) == "demo"
    assert choose_engine(context, None, profile, (record(engine="other"),)) == "demo"
    same = (record(engine="other", profile="p"),)
    assert choose_engine(context, None, profile, same) == "other"
    assert choose_engine(of_call, None, profile, before) == "other"
    assert choose_engine(of_call, "pi", profile, before) == "pi"


def test_a_session_of_a_run_without_an_engine_goes_on_with_pi(context: CallContext) -> None:
    assert choose_engine(replace(context, engine="demo"), None, None, (record(),)) == "pi"


def test_an_unknown_engine_is_refused_with_the_nearest_one(context: CallContext) -> None:
    with pytest.raises(UnknownEngine) as refused:
        choose_engine(context, "demmo")
    assert str(refused.value) == (
        'Unknown engine: "demmo". Did you mean "demo"? Available engines: '
        f"{', '.join(engine_names())} (`subagents engines` says more)."
    )
    with pytest.raises(UnknownEngine):
        choose_engine(context, None, Profile("p", engine="acp:"))


@pytest.mark.parametrize(
    ("meant", "engine", "left_out"),
    [
        ("", "pi", ()),
        ("pi", "pi", ()),
        ("demo", "demo", ()),
        ("", "demo", ("provider", "model", "apiKey")),
        ("demo", "pi", ("provider", "model", "apiKey")),
        ("demo", "other", ("provider", "model", "apiKey")),
    ],
)
def test_a_model_is_for_the_engine_that_its_profile_names(
    meant: str, engine: str, left_out: tuple[str, ...]
) -> None:
    profile = Profile("p", "acme", "big", api_key="secret", engine=meant, questions="ask")
    without = replace(profile, provider="", model="", api_key="")
    note = note_other_engine("p", left_out, meant or "pi", engine)
    expected = (without, (note,)) if left_out else (profile, ())
    assert without_other_models(profile, engine) == expected
    assert without_other_models(without, engine) == (without, ())


def test_an_engine_is_opened_once_and_only_when_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: list[CallPlace] = []
    monkeypatch.setattr(DemoEngine, "notices", ("This is a demonstration.",))

    def open_noting(engine: DemoEngine, at: CallPlace) -> DemoEngine:
        places.append(at)
        return engine

    monkeypatch.setattr(DemoEngine, "open", open_noting)
    place = CallPlace(tmp_path, {}, Settings(), lambda _: False, ("read",), ("acme/big",))
    said: list[str] = []
    opened = engines_in(place, "demo", said.append)
    assert said == []
    assert opened("") is opened("demo")
    assert said == ["This is a demonstration."]
    assert places == [replace(place, parent_tools=None, models=None)]


def test_the_settings_choose_and_those_of_a_project_only_where_it_is_trusted(
    tmp_path: Path,
) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    for place, engine in ((home / ".pi" / "agent", "other"), (project / ".pi", "demo")):
        place.mkdir(parents=True)
        (place / "settings.json").write_text(f'{{"subagents": {{"engine": "{engine}"}}}}')

    def chosen(*, trusted: bool, of_call: str | None = None) -> str:
        env = {"HOME": str(home)}
        return open_call(
            {"cwd": project, "env": env, "trust_project": trusted, "engine": of_call}
        ).engine

    assert chosen(trusted=False) == "other"
    assert chosen(trusted=True) == "demo"
    assert chosen(trusted=True, of_call="pi") == "pi"
