"""What a run may be called, and what is said where that is not enough."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fleet_place import FleetPlace

from pi_subagents.api import call_tool
from pi_subagents.core.stop_switch import StopSwitch
from pi_subagents.errors import ResumedTwice, ResumeNotFound, RunAmbiguous, RunNotFound
from pi_subagents.service.background import BackgroundRuns
from pi_subagents.service.finding import find_run, find_session_id
from pi_subagents.service.sessions import find_session, sessions_to_resume, wait_for_session

if TYPE_CHECKING:
    from pathlib import Path

SESSION = "5e551011aaaaaaaa"


@pytest.fixture
def place(tmp_path: Path) -> FleetPlace:
    project = tmp_path / "project"
    (project / ".pi").mkdir(parents=True)
    return FleetPlace(project, {"HOME": str(tmp_path / "home")})


def found(place: FleetPlace, wanted: str) -> str:
    return find_run(place.runs, wanted).run_id


def test_every_name_of_a_run_leads_to_it(place: FleetPlace) -> None:
    run = place.finished("review auth", SESSION)
    place.finished("other")
    for wanted in (run.run_id, run.run_id[:8], "0001", SESSION, SESSION[:8], "5", "review auth"):
        assert found(place, wanted) == run.run_id
        assert find_session_id(place.runs, wanted) == SESSION


@pytest.mark.parametrize("shown", ["Count the files. Then", "Count the…"])
def test_a_task_without_a_name_is_found_by_what_screens_show_of_it(
    place: FleetPlace, shown: str
) -> None:
    run = place.going_on("task-1", task="Count the files.\nThen")
    others = [place.going_on("task-2", task="Look."), place.going_on("a", task="Count the files.")]
    assert found(place, shown) == run.run_dir.run_id
    with pytest.raises(RunNotFound):
        found(place, "…")
    for each in (run, *others):
        each.ends()


def test_last_is_the_newest_run_of_this_project(place: FleetPlace, tmp_path: Path) -> None:
    place.finished("one")
    second = place.finished("two")
    (tmp_path / "elsewhere" / ".pi").mkdir(parents=True)
    elsewhere = FleetPlace(tmp_path / "elsewhere", place.env, made=2)
    elsewhere.finished("three")
    assert found(place, "last") == second.run_id
    (tmp_path / "new" / ".pi").mkdir(parents=True)
    with pytest.raises(RunNotFound):
        found(FleetPlace(tmp_path / "new", place.env), "last")


def test_ids_are_found_from_anywhere_and_names_in_their_project(
    place: FleetPlace, tmp_path: Path
) -> None:
    run = place.finished("auth", SESSION)
    (tmp_path / "elsewhere" / ".pi").mkdir(parents=True)
    elsewhere = FleetPlace(tmp_path / "elsewhere", place.env)
    for wanted in (run.run_id, run.run_id[:8], SESSION, SESSION[:8]):
        assert found(elsewhere, wanted) == run.run_id
    with pytest.raises(RunNotFound):
        found(elsewhere, "auth")


def test_of_a_session_the_run_that_is_alive_is_meant_or_the_latest(place: FleetPlace) -> None:
    going = place.going_on("task-1", SESSION)
    later = place.finished("task-1", SESSION)
    for wanted in (SESSION, SESSION[:6], "task-1"):
        assert found(place, wanted) == going.run_dir.run_id
    going.ends()
    for wanted in (SESSION, SESSION[:6], "task-1"):
        assert found(place, wanted) == later.run_id


def test_a_whole_name_counts_before_the_beginning_of_an_id(place: FleetPlace) -> None:
    place.finished("one")
    named = place.finished("0")
    assert found(place, "0") == named.run_id


def test_what_several_are_called_is_listed(
    place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = place.finished("same"), place.finished("same", status="aborted")
    now_ms = 1_000_000 + 180_000
    monkeypatch.setattr(time, "time_ns", lambda: now_ms * 1_000_000)
    for wanted, listed in (("same", (second, first)), ("00", (first, second))):
        with pytest.raises(RunAmbiguous) as refusal:
            found(place, wanted)
        assert refusal.value.matches == tuple(each.run_id for each in listed)
        assert sorted(str(refusal.value).splitlines()) == [
            "  00010000  completed, 2m ago: same",
            "  00020000  stopped, 2m ago: same",
            f'"{wanted}" could be any of these runs. Say which, by its id:',
        ]


def test_a_candidate_by_its_session_says_so(place: FleetPlace) -> None:
    place.finished("one", "0001aaaaaaaaaaaa")
    place.finished("two", "0001bbbbbbbbbbbb")
    place.finished("three", "0003cccccccccccc")
    with pytest.raises(RunAmbiguous) as refusal:
        found(place, "0001")
    described = [line.partition("ago: ")[2] for line in str(refusal.value).splitlines()[1:]]
    assert described == ["one", "two (session 0001bbbb)"]


def test_many_candidates_are_counted(place: FleetPlace) -> None:
    for _ in range(12):
        place.finished("same")
    with pytest.raises(RunAmbiguous) as refusal:
        found(place, "same")
    assert len(refusal.value.matches) == 10
    assert str(refusal.value).endswith("\n  and 2 more")


def test_the_text_of_a_session_is_found_by_every_name(place: FleetPlace) -> None:
    run = place.finished("auth", SESSION)
    for wanted in (run.run_id, run.run_id[:8], SESSION[:8], "auth", "last"):
        assert [each.run_id for each in find_session(place.runs, wanted)] == [run.run_id]


async def test_tools_take_every_name_and_answer_with_the_whole_id(place: FleetPlace) -> None:
    run = place.finished("auth", SESSION, output="Two bugs.")
    options = {"cwd": place.path, "env": place.env}
    for wanted in (run.run_id[:8], SESSION[:8], "auth", "last"):
        answer = await call_tool("get_subagent_output", {"sessionId": wanted}, **options)  # type: ignore[arg-type]  # by name
        assert answer["content"] == [{"type": "text", "text": "Two bugs."}]
        assert answer["details"]["sessionId"] == SESSION  # type: ignore[index]  # an object
        status = await call_tool("background_agent_status", {"runId": wanted}, **options)  # type: ignore[arg-type]  # by name
        assert [each["runId"] for each in status["details"]["runs"]] == [run.run_id]  # type: ignore[index]  # an object
        assert status["details"]["counts"]["total"] == 0  # type: ignore[index]  # none of them is in the background
    answer = await call_tool("get_subagent_output", {"sessionId": "nobody"}, **options)  # type: ignore[arg-type]  # by name
    assert answer["content"][0]["text"] == (  # type: ignore[index]  # a list
        'Session "nobody" not found. The session may have expired or the ID is incorrect.'
    )


async def test_a_wait_takes_every_name(place: FleetPlace) -> None:
    run = place.finished("auth", SESSION)
    waited = await wait_for_session(place.runs, "auth", 5, StopSwitch())
    assert [each.run_id for each in waited] == [run.run_id]
    assert BackgroundRuns(place.runs).find("auth").run_id == run.run_id


def test_a_session_is_resumed_by_every_name_but_only_once(place: FleetPlace) -> None:
    run = place.finished("auth", SESSION)
    for wanted in (SESSION, SESSION[:8], run.run_id[:8], "auth", "last"):
        (resumed,) = sessions_to_resume(place.runs, [wanted])[wanted]
        assert resumed.session_id == SESSION
    with pytest.raises(ResumedTwice):
        sessions_to_resume(place.runs, [SESSION, "auth"])
    with pytest.raises(ResumeNotFound) as refusal:
        sessions_to_resume(place.runs, ["nobody"])
    assert str(refusal.value) == (
        'Cannot resume: session "nobody" not found. The session may have expired or the ID is '
        "incorrect."
    )
