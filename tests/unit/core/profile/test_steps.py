"""The ten steps of the profile wizard, answered by a script."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from tests.unit.core.given_values import thoroughly
from tests.unit.core.profile.test_text import FULL, profiles

from pi_subagents.core.profile.asking import run_steps
from pi_subagents.core.profile.messages import SAVES_NOTHING
from pi_subagents.core.profile.profile import THINKING_LEVELS, Profile
from pi_subagents.core.profile.questions import (
    CANCEL,
    SKIP,
    Choose,
    Confirm,
    Gesture,
    LongText,
    Text,
    WizardAnswer,
    WizardQuestion,
)
from pi_subagents.core.profile.steps import SAMPLE_PROMPT, Offers, Start, WizardOutcome
from pi_subagents.core.value import replace

if TYPE_CHECKING:
    from collections.abc import Callable

PLACES = {"global": "~/g/demo.md", "project": ".pi/demo.md"}
OFFERS = Offers(
    models=lambda: ("anthropic/opus", "anthropic/sonnet", "openai/gpt"),
    tools=("read", "bash"),
    skills=lambda: ("review", "plan"),
)
USABLE = replace(FULL, no_tools=False, exclude_tools=None, no_skills=False)


@dataclass
class Script:
    """Answers by what a question says; others by `rest`."""

    rest: Callable[[WizardQuestion], WizardAnswer]
    answers: dict[str, WizardAnswer] = field(default_factory=dict)
    asked: list[WizardQuestion] = field(default_factory=list)

    def _answer(self, question: WizardQuestion) -> WizardAnswer:
        self.asked.append(question)
        said = question.question if isinstance(question, Confirm) else question.title
        return self.answers.get(said, self.rest(question))

    def choose(self, question: Choose) -> int | Gesture:
        answer = self._answer(question)
        assert isinstance(answer, int | Gesture)
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


def enter(question: WizardQuestion) -> WizardAnswer:
    return question.prefill if isinstance(question, Text | LongText) else question.default


def yes(question: WizardQuestion) -> WizardAnswer:
    return True if isinstance(question, Confirm) else enter(question)


def skip(question: WizardQuestion) -> WizardAnswer:
    return True if isinstance(question, Confirm) and question.text else SKIP


def review(profile: Profile, scope: str) -> str:
    return f"{scope}: {profile.name}"


def asked(
    script: Script, profile: Profile | None = None, scope: str = "global"
) -> WizardOutcome | Gesture:
    return run_steps(script, Start(profile or Profile("demo"), scope, PLACES), OFFERS, review)


TITLES = [
    "Save to which scope?",
    "Provider (e.g. anthropic, openai, dashscope):",
    "Model (supports provider/id and :thinking shorthand):",
    "Set a custom system prompt?",
    "System prompt:",
    "Append text to the default system prompt?",
    "Append text:",
    "Set a thinking level?",
    "Thinking level:",
    "Restrict which tools the subagent can use?",
    "Tools:",
    "Tools to allow (comma-separated):",
    "Configure extension loading?",
    "Extensions:",
    "Configure skill loading for the subagent?",
    "Suggested skills (comma-separated skill names, model chooses to load):",
    "Pre-loaded skills (comma-separated skill names, content injected into system prompt):",
    "Save this profile?",
]


def test_every_field_can_be_answered_in_the_documented_order() -> None:
    answers = (
        1, " anthropic ", "sonnet", True, "Hello.\n", True, "Be brief.", True, 4, True, 1,
        "read, bash,", True, 2, True, "review", " plan ", True,
    )  # fmt: skip
    script = Script(enter, dict(zip(TITLES, answers, strict=True)))
    script.answers["Extension paths (comma-separated):"] = "/a.js,/b.js"
    assert asked(script) == WizardOutcome(
        Profile(
            "demo",
            provider="anthropic",
            model="sonnet",
            system_prompt="Hello.",
            append_system_prompt="Be brief.",
            thinking_level="high",
            tools=("read", "bash"),
            no_extensions=True,
            extensions=("/a.js", "/b.js"),
            suggested_skills=("review",),
            load_skills=("plan",),
        ),
        "project",
    )


def test_questions_say_what_they_said_in_the_original_and_offer_what_exists() -> None:
    script = Script(yes, {TITLES[1]: "anthropic"})
    asked(script)
    tools = ("Disable all tools", "Allow only some tools (all others are excluded)",
             "Exclude some tools (all others are allowed)")  # fmt: skip
    extensions = ("Disable all extensions", "Load extensions from paths, beside those that pi finds",
                  "Load extensions from paths, and no others")  # fmt: skip
    assert script.asked == [
        Choose(TITLES[0], ("Global (~/g/demo.md)", "Project (.pi/demo.md)"), escape="take global"),
        Text(TITLES[1], "", ("anthropic", "openai")),
        Text(TITLES[2], "", ("opus", "sonnet")),
        Confirm("System prompt?", TITLES[3], False),
        LongText(TITLES[4], SAMPLE_PROMPT),
        Confirm("Append to system prompt?", TITLES[5], False),
        Text(TITLES[6]),
        Confirm("Thinking level?", TITLES[7], False),
        Choose(TITLES[8], THINKING_LEVELS),
        Confirm("Configure tools?", TITLES[9], False),
        Choose(TITLES[10], tools, 1),
        Text(TITLES[11], "", ("read", "bash"), is_list=True),
        Confirm("Configure extensions?", TITLES[12], False),
        Choose(TITLES[13], extensions),
        Confirm("Configure skills?", TITLES[14], False),
        Text(TITLES[15], "", ("review", "plan"), is_list=True),
        Text(TITLES[16], "", ("review", "plan"), is_list=True),
        Confirm(
            'Save profile "demo"?', TITLES[17], True, text="global: demo", escape=SAVES_NOTHING
        ),
    ]


def test_without_a_provider_models_are_offered_with_theirs() -> None:
    script = Script(enter)
    asked(script)
    assert script.asked[2] == Text(TITLES[2], "", OFFERS.models())


def test_enter_at_every_question_makes_a_profile_with_only_a_name() -> None:
    assert asked(Script(enter)) == WizardOutcome(Profile("demo"), "global")


@thoroughly
@given(profiles)
def test_enter_at_every_question_of_an_edit_changes_nothing(profile: Profile) -> None:
    assert asked(Script(enter), profile, "project") == WizardOutcome(profile, "project")


def test_what_is_skipped_is_left_out_and_what_is_not_asked_stays() -> None:
    assert asked(Script(skip)) == WizardOutcome(Profile("demo"), "global")
    assert asked(Script(skip), USABLE, "project") == WizardOutcome(
        Profile("full", api_key=FULL.api_key, no_context_files=True, extra_args=FULL.extra_args),
        "project",
    )


def test_no_removes_what_was_there_and_skills_only_when_that_was_asked_for() -> None:
    no = Script(
        lambda q: isinstance(q, Confirm) and bool(q.text) if isinstance(q, Confirm) else enter(q)
    )
    kept = Profile(
        "full",
        provider="p",
        model="m",
        api_key=FULL.api_key,
        suggested_skills=("s", "t"),
        load_skills=("u",),
        no_context_files=True,
        extra_args=FULL.extra_args,
    )
    assert asked(no, USABLE) == WizardOutcome(kept, "global")
    removed = replace(kept, suggested_skills=(), load_skills=())
    script = replace(no, answers={"Remove the skills that are configured?": True})
    assert asked(script, USABLE) == WizardOutcome(removed, "global")


@pytest.mark.parametrize("place", range(len(TITLES)))
def test_leaving_at_any_question_gives_nothing_to_save(place: int) -> None:
    script = Script(yes, {TITLES[place]: CANCEL})
    assert asked(script) is CANCEL
    assert len(script.asked) == place + 1


@pytest.mark.parametrize("answer", [False, SKIP])
def test_a_review_that_is_not_confirmed_gives_nothing_to_save(answer: WizardAnswer) -> None:
    assert asked(Script(yes, {TITLES[-1]: answer})) is SKIP


@pytest.mark.parametrize(
    ("answers", "wanted"),
    [
        ({"Tools:": 0}, {"no_tools": True}),
        ({"Tools:": 1, TITLES[11]: "read"}, {"tools": ("read",)}),
        ({"Tools:": 1, TITLES[11]: " , "}, {}),
        (
            {"Tools:": 2, "Tools to exclude (comma-separated):": "bash"},
            {"exclude_tools": ("bash",)},
        ),
        ({"Tools:": SKIP}, {}),
    ],
)
@pytest.mark.parametrize(
    "before", [{}, {"no_tools": True}, {"tools": ("ls",)}, {"exclude_tools": ("ls",)}]
)
def test_a_choice_of_tools_takes_the_place_of_another(
    before: dict[str, object], answers: dict[str, WizardAnswer], wanted: dict[str, object]
) -> None:
    answers = {TITLES[9]: True, **answers}
    was = replace(Profile("demo"), **before)
    after = replace(Profile("demo"), **wanted)
    assert asked(Script(enter, answers), was) == WizardOutcome(after, "global")


def test_an_empty_list_of_tools_is_shown_as_no_tools_and_stays_as_it_was_written() -> None:
    script = Script(enter)
    was = Profile("demo", tools=())
    assert asked(script, was) == WizardOutcome(was, "global")
    assert [q.default for q in script.asked if q.title == "Tools:" and isinstance(q, Choose)] == [0]


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        (0, Profile("demo", no_extensions=True)),
        (1, Profile("demo", extensions=("/a.js",))),
        (2, Profile("demo", no_extensions=True, extensions=("/a.js",))),
        (SKIP, Profile("demo")),
    ],
)
def test_extensions_are_none_or_more_or_only_some(how: WizardAnswer, wanted: Profile) -> None:
    answers: dict[str, WizardAnswer] = {TITLES[12]: True, "Extensions:": how}
    answers["Extension paths (comma-separated):"] = "/a.js"
    assert asked(Script(enter, answers)) == WizardOutcome(wanted, "global")


def test_naming_skills_ends_that_there_are_none() -> None:
    was = Profile("demo", no_skills=True)
    assert asked(Script(enter, {TITLES[14]: True}), was) == WizardOutcome(was, "global")
    named = Script(enter, {TITLES[14]: True, TITLES[16]: "plan"})
    assert asked(named, was) == WizardOutcome(Profile("demo", load_skills=("plan",)), "global")


def test_a_text_of_several_lines_is_asked_for_as_such() -> None:
    script = Script(enter)
    asked(script, Profile("demo", append_system_prompt="a\nb"))
    assert LongText("Append text:", "a\nb") in script.asked


def test_the_scope_is_not_asked_for_where_there_is_one_place() -> None:
    script = Script(enter)
    start = Start(Profile("demo"), "project", {"project": "x.md"})
    assert run_steps(script, start, OFFERS, review) == WizardOutcome(Profile("demo"), "project")
    assert script.asked[0].title == TITLES[1]


def test_a_null_byte_never_gets_into_a_field() -> None:
    answers: dict[str, WizardAnswer] = {TITLES[1]: "a\0b", TITLES[9]: True, TITLES[11]: "\0read"}
    assert asked(Script(enter, answers)) == WizardOutcome(
        Profile("demo", provider="ab", tools=("read",)), "global"
    )


def test_models_and_skills_are_not_looked_for_before_they_are_needed() -> None:
    def never() -> tuple[str, ...]:
        raise AssertionError

    script = Script(enter, {TITLES[0]: CANCEL})
    start = Start(Profile("demo"), "global", PLACES)
    assert run_steps(script, start, Offers(never, (), never), review) is CANCEL
    no_skills = Offers(tuple, (), never)
    assert run_steps(Script(enter), start, no_skills, review) == WizardOutcome(
        Profile("demo"), "global"
    )
