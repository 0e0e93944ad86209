"""Parts of a journal: near a place, with words, what was used by when; and bars that are read on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.fleet_place import USAGE, FleetPlace

from pi_subagents.core.run import events as ev
from pi_subagents.service.fleet import Fleet
from pi_subagents.service.journal.bars import MAX_FOLLOWED, RunBars
from pi_subagents.service.journal.pages import (
    MAX_HITS,
    MAX_POINTS,
    JournalItems,
    hits_of,
    item_at,
    items_near,
    spending_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.run.record import RunRecord

CALL = ev.ToolCall("1", "bash", {"command": "make"})


@pytest.fixture
def place(tmp_path: Path) -> FleetPlace:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return FleetPlace(tmp_path / "project", {"HOME": str(tmp_path / "home")})


def known(place: FleetPlace) -> RunRecord:
    (row,) = Fleet(place.runs, place.env).read_once()
    return row


def test_a_page_has_what_is_around_a_place_and_says_whether_there_is_more(
    place: FleetPlace,
) -> None:
    run = place.going_on("new")
    run.does(ev.StateChanged("running"), *(ev.Note(f"{n}") for n in range(20)))
    row = known(place)
    every = items_near(row, lambda _: True, before=0, after=100)
    tenth = every.items[10]["seq"]
    page = items_near(row, lambda entry: entry.seq >= tenth, before=3, after=2)  # type: ignore[operator]
    assert [each["text"] for each in page.items] == ["7", "8", "9", "10", "11"]
    assert (page.earlier, page.later) == (True, True)
    assert (every.earlier, every.later, len(every.items)) == (False, False, 20)
    end = items_near(row, lambda _: False, before=100, after=5)
    assert (end.earlier, end.later, len(end.items)) == (False, False, 20)
    run.ends()


def test_one_entry_is_had_with_its_result(place: FleetPlace) -> None:
    run = place.going_on("new")
    run.does(ev.ToolStarted(CALL), ev.Note("x"), ev.ToolFinished("1", "bash", "made", failed=False))
    row = known(place)
    first = items_near(row, lambda _: True, before=0, after=2).items
    found = item_at(row, int(str(first[0]["seq"])))
    assert found == {
        "arguments": [["command", "make"]], "diff": "", "output": "made", "failed": False, "done": True,
    }  # fmt: skip
    assert item_at(row, int(str(first[1]["seq"]))) == {"text": "x"}
    assert item_at(row, 999) is None
    run.ends()


def test_hits_have_all_words_and_are_the_newest(place: FleetPlace) -> None:
    run = place.going_on("new")
    run.does(ev.ToolStarted(CALL), *(ev.Note(f"One two {n}") for n in range(MAX_HITS + 5)))
    row = known(place)
    assert [hit["text"] for hit in hits_of(row, "MAKE bash")] == ['bash {"command": "make"}']
    assert [hit["text"] for hit in hits_of(row, "two one")] == [
        f"One two {n}" for n in range(5, MAX_HITS + 5)
    ]
    assert hits_of(row, "one three") == hits_of(row, " ") == []
    run.ends()


def test_what_was_used_by_when_adds_up_however_many_messages_there_are(place: FleetPlace) -> None:
    run = place.going_on("new")
    count = 3 * MAX_POINTS + 1
    run.does(*(ev.AssistantMessage("x", usage=USAGE) for _ in range(count)))
    points = spending_of([known(place)])
    assert len(points) <= MAX_POINTS
    assert points[-1][1:] == (count * USAGE.total_tokens, count * USAGE.cost)
    assert points == sorted(points)
    run.ends()


def test_items_are_followed_and_their_journal_released(place: FleetPlace) -> None:
    run = place.going_on("new")
    items = JournalItems(known(place))
    assert items.new_items() == ([], 0)
    run.does(ev.Note("one"))
    assert [each["text"] for each in items.new_items()[0]] == ["one"]
    assert items.new_items() == ([], 0)
    items.close()
    run.ends()


def test_a_bar_goes_on_with_its_run_and_is_kept_once_that_is_over(place: FleetPlace) -> None:
    run, bars = place.going_on("new"), RunBars()
    run.does(ev.StateChanged("running"), ev.ToolStarted(CALL))
    assert [each.name for each in bars.bar(known(place)).segments] == ["bash"]
    run.does(
        ev.ToolFinished("1", "bash", "no", failed=True), ev.ToolStarted(ev.ToolCall("2", "ls", {}))
    )
    assert [(each.name, each.failed) for each in bars.bar(known(place)).segments] == [
        ("bash", True), ("ls", False),
    ]  # fmt: skip
    run.ends()
    over = bars.bar(known(place))
    assert over is bars.bar(known(place))
    assert not over.active
    bars.close()


def test_of_many_runs_at_work_few_journals_are_open(place: FleetPlace) -> None:
    run, bars = place.going_on("new"), RunBars()
    row = known(place)
    from pi_subagents.core.value import replace

    for number in range(MAX_FOLLOWED + 5):
        assert bars.bar(replace(row, run_id=f"{number}")).title == "new"
    bars.close()
    run.ends()
