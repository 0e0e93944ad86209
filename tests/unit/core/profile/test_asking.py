"""Going back, insisting on a name, and leaving the profile wizard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.profile.asking import QUIT, run_steps
from pi_subagents.core.profile.messages import asked_again
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.profile.questions import (
    BACK,
    CANCEL,
    ESCAPE,
    SKIP,
    Choose,
    Confirm,
    Gesture,
    LongText,
    Text,
    WizardAnswer,
    WizardQuestion,
)
from pi_subagents.core.profile.steps import Offers, Start, WizardOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable

PLACES = {"global": "~/demo.md"}


class Person:
    """Gives these answers, then Enter at every question."""

    def __init__(self, answers: Iterable[WizardAnswer]) -> None:
        self._answers = list(answers)
        self.asked: list[WizardQuestion] = []

    def _answer(self, question: WizardQuestion) -> WizardAnswer:
        self.asked.append(question)
        if self._answers:
            return self._answers.pop(0)
        return question.prefill if isinstance(question, Text | LongText) else question.default

    def choose(self, question: Choose) -> int | Gesture:
        answer = self._answer(question)
        assert not isinstance(answer, str)
        return answer

    def confirm(self, question: Confirm) -> bool | Gesture:
        answer = self._answer(question)
        assert isinstance(answer, bool | Gesture)
        return answer

    def text(self, question: Text) -> str | Gesture:
        answer = self._answer(question)
        assert isinstance(answer, str | Gesture)
        return answer

    def long_text(self, question: LongText) -> str | Gesture:
        answer = self._answer(question)
        assert isinstance(answer, str | Gesture)
        return answer

    @property
    def titles(self) -> list[str]:
        return [each.title.partition(" ")[0].rstrip(":") for each in self.asked]


def wanted(person: Person, offers: Offers | None = None) -> Profile | Gesture:
    start = Start(Profile("demo"), "global", PLACES)
    outcome = run_steps(person, start, offers or Offers(), lambda *_: "")
    return outcome.profile if isinstance(outcome, WizardOutcome) else outcome


def test_back_asks_the_question_before_with_what_was_answered() -> None:
    person = Person(["acme", "big", BACK, BACK, "zen", "small"])
    assert wanted(person) == Profile("demo", provider="zen", model="small")
    first, second, third, again, before = person.asked[:5]
    assert (person.titles[:6]) == ["Provider", "Model", "System", "Model", "Provider", "Model"]
    assert isinstance(again, Text)
    assert isinstance(before, Text)
    assert (again.prefill, before.prefill) == ("big", "acme")
    assert (first.title, second.title) == (before.title, again.title)
    assert isinstance(third, Confirm)


def test_back_into_a_yes_or_a_menu_offers_what_was_chosen() -> None:
    person = Person(["", "", False, False, True, 3, BACK, BACK, True, 4])
    assert wanted(person) == Profile("demo", thinking_level="high")
    menu, confirm = person.asked[7:9]
    assert isinstance(menu, Choose)
    assert isinstance(confirm, Confirm)
    assert (menu.default, confirm.default) == (3, True)


def test_back_at_the_first_question_asks_it_again() -> None:
    person = Person([BACK, BACK, "acme", "big"])
    assert wanted(person) == Profile("demo", provider="acme", model="big")


def test_escape_skips_and_a_second_one_offers_to_quit() -> None:
    quits = Choose(QUIT.title, QUIT.options, escape="go on")
    for answer, end in (
        (2, CANCEL),
        (CANCEL, CANCEL),
        (0, Profile("demo")),
        (ESCAPE, Profile("demo")),
    ):
        person = Person(["acme", BACK, ESCAPE, ESCAPE, answer])
        assert wanted(person) == end
        assert person.asked[4] == quits


def test_the_last_two_can_be_answered_again() -> None:
    for answer in (1, BACK):
        person = Person([ESCAPE, ESCAPE, answer, "acme", "big"])
        assert wanted(person) == Profile("demo", provider="acme", model="big")
        assert person.titles[:5] == ["Provider", "Model", "Escape", "Provider", "Model"]


def test_escapes_that_do_not_follow_each_other_and_skips_offer_nothing() -> None:
    lists: tuple[list[WizardAnswer], ...] = ([ESCAPE, "big", ESCAPE, False, ESCAPE], [SKIP] * 7)
    for answers in lists:
        person = Person(answers)
        wanted(person)
        assert QUIT not in person.asked


def test_ctrl_c_quits_at_once() -> None:
    person = Person(["acme", CANCEL])
    assert wanted(person) is CANCEL
    assert len(person.asked) == 2


def no_such(profile: Profile, field: str) -> str:
    named = {
        "provider": (profile.provider,),
        "model": (profile.model,),
        "tools": profile.tools or (),
        "excludeTools": profile.exclude_tools or (),
    }[field]
    return next((f'unknown "{name}"' for name in named if name == "bsh"), "")


@pytest.mark.parametrize(
    ("answers", "profile"),
    [
        (["bsh", "acme"], Profile("demo", provider="acme")),
        (["bsh", "bsh"], Profile("demo", provider="bsh")),
        (["bsh", SKIP], Profile("demo")),
        (["", "bsh", "big"], Profile("demo", model="big")),
        (
            ["", "", False, False, False, True, 1, "read, bsh", "read, bash"],
            Profile("demo", tools=("read", "bash")),
        ),
        (
            ["", "", False, False, False, True, 2, "bsh", "bsh"],
            Profile("demo", exclude_tools=("bsh",)),
        ),
    ],
)
def test_what_does_not_exist_is_asked_for_again_and_counts_if_it_is_meant(
    answers: list[WizardAnswer], profile: Profile
) -> None:
    person = Person(answers)
    assert wanted(person, Offers(problem=no_such)) == profile
    notes = [each.note for each in person.asked if isinstance(each, Text) and each.note]
    assert notes == [asked_again('unknown "bsh"')]


def test_what_stands_there_already_is_not_asked_about() -> None:
    start = Start(Profile("demo", provider="bsh", tools=("bsh",)), "global", PLACES, edits=True)
    person = Person([])
    outcome = run_steps(person, start, Offers(problem=no_such), lambda *_: "")
    assert outcome == WizardOutcome(start.profile, "global")
    assert [each for each in person.asked if isinstance(each, Text) and each.note] == []
