"""
The ten steps in which a person writes or changes a profile.

In: the profile as it is, what can be offered, and an answer for each question.  Out: the profile
that is wanted and its scope, or nothing if it is not to be saved after all.  Saying no to a field,
or skipping it, leaves it out; Enter at every question changes nothing.  A name that does not exist
is asked for again; given once more, it counts.  Fields that no step asks for stay as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.definitions.definition import GLOBAL, PROJECT, items_field
from pi_subagents.core.profile.messages import SAVES_NOTHING, asked_again, escape_takes
from pi_subagents.core.profile.profile import FIELDS, THINKING_LEVELS
from pi_subagents.core.profile.questions import (
    SKIP,
    Choose,
    Confirm,
    LongText,
    Text,
    WizardAnswer,
    WizardQuestion,
)
from pi_subagents.core.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from pi_subagents.core.profile.profile import Profile

    Asking = Generator[WizardQuestion, WizardAnswer, Profile]
    Step = Callable[[Profile, "Offers"], Asking]

SAMPLE_PROMPT = "You are a helpful coding assistant."
NO_TOOLS, ALLOWED, EXCLUDED = range(3)
NO_EXTENSIONS, MORE_EXTENSIONS, ONLY_EXTENSIONS = range(3)


def _nothing() -> tuple[str, ...]:
    return ()


def _no_problem(_profile: Profile, _field: str) -> str:
    return ""


@value
class Offers:
    """
    What exists; models (`provider/id`) and skills are looked for only when they are needed.

    `problem` says what a field of a profile, as a file calls it, names that does not exist.
    """

    models: Callable[[], tuple[str, ...]] = _nothing
    tools: tuple[str, ...] = ()
    skills: Callable[[], tuple[str, ...]] = _nothing
    problem: Callable[[Profile, str], str] = _no_problem


@value
class Start:
    """
    Where a wizard begins; `places` has the file of each scope that can be chosen.

    Where a profile is there already (`edits`), Enter alone must not change it.
    """

    profile: Profile
    scope: str
    places: Mapping[str, str]
    edits: bool = False


@value
class WizardOutcome:
    """What is to be saved, and where."""

    profile: Profile
    scope: str


def wizard(
    start: Start, offers: Offers, review: Callable[[Profile, str], str]
) -> Generator[WizardQuestion, WizardAnswer, WizardOutcome | None]:
    """Yield the questions, take an answer for each, and return what is to be saved, if anything."""
    scope = yield from _scope(start)
    profile = start.profile
    for step in STEPS:
        profile = yield from step(profile, offers)
    title = f'Save profile "{profile.name}"?'
    answer = yield Confirm(
        title, "Save this profile?", True, text=review(profile, scope), escape=SAVES_NOTHING
    )
    return WizardOutcome(profile, scope) if answer is True else None


def _scope(start: Start) -> Generator[WizardQuestion, WizardAnswer, str]:
    """Ask where to save it, unless there is but one place."""
    scopes = [scope for scope in (GLOBAL, PROJECT) if scope in start.places]
    if scopes == [start.scope]:
        return start.scope
    options = tuple(f"{scope.capitalize()} ({start.places[scope]})" for scope in scopes)
    answer = yield Choose(
        "Save to which scope?",
        options,
        scopes.index(start.scope),
        escape=escape_takes(start.scope),
    )
    return start.scope if answer is SKIP else scopes[_place(answer)]


def _if_wanted(
    confirm: Confirm, question: WizardQuestion
) -> Generator[WizardQuestion, WizardAnswer, WizardAnswer]:
    """Ask a question behind a yes alone; without that it counts as skipped."""
    wanted = yield confirm
    if wanted is not True:
        return SKIP
    answer = yield question
    return answer


def _until_known(
    question: Text, problem: Callable[[str], str]
) -> Generator[WizardQuestion, WizardAnswer, WizardAnswer]:
    """Ask again about what does not exist, unless it stands there already or is meant."""
    answer = yield question
    accepted = question.prefill
    while isinstance(answer, str) and answer not in ("", accepted) and (note := problem(answer)):
        accepted = answer
        answer = yield replace(question, prefill=answer, note=asked_again(note))
    return answer


def _provider(profile: Profile, offers: Offers) -> Asking:
    known = dict.fromkeys(model.partition("/")[0] for model in offers.models())
    title = "Provider (e.g. anthropic, openai, dashscope):"
    answer = yield from _until_known(
        Text(title, profile.provider, tuple(known)),
        lambda name: offers.problem(replace(profile, provider=name.strip(), model=""), "provider"),
    )
    return replace(profile, provider=_line(answer, profile.provider))


def _model(profile: Profile, offers: Offers) -> Asking:
    start = f"{profile.provider}/" if profile.provider else ""
    models = tuple(m.removeprefix(start) for m in offers.models() if m.startswith(start))
    title = "Model (supports provider/id and :thinking shorthand):"
    answer = yield from _until_known(
        Text(title, profile.model, models),
        lambda name: offers.problem(replace(profile, model=name.strip()), "model"),
    )
    return replace(profile, model=_line(answer, profile.model))


def _system_prompt(profile: Profile, _offers: Offers) -> Asking:
    there = bool(profile.system_prompt)
    question = "Keep a custom system prompt?" if there else "Set a custom system prompt?"
    answer = yield from _if_wanted(
        Confirm("System prompt?", question, there),
        LongText("System prompt:", profile.system_prompt or SAMPLE_PROMPT),
    )
    given = profile.system_prompt
    return replace(profile, system_prompt=given if answer == given else _text(answer).strip())


def _appended_prompt(profile: Profile, _offers: Offers) -> Asking:
    text = profile.append_system_prompt
    question = (
        "Keep the text appended to the default system prompt?"
        if text
        else "Append text to the default system prompt?"
    )
    # A text of several lines would not survive a question for one line.
    kind = LongText if len(text.splitlines()) > 1 else Text
    answer = yield from _if_wanted(
        Confirm("Append to system prompt?", question, bool(text)), kind("Append text:", text)
    )
    return replace(profile, append_system_prompt=_text(answer))


def _thinking_level(profile: Profile, _offers: Offers) -> Asking:
    level = profile.thinking_level
    question = "Keep a thinking level?" if level else "Set a thinking level?"
    default = THINKING_LEVELS.index(level) if level else 0
    answer = yield from _if_wanted(
        Confirm("Thinking level?", question, bool(level)),
        Choose("Thinking level:", THINKING_LEVELS, default),
    )
    return replace(
        profile, thinking_level="" if answer is SKIP else THINKING_LEVELS[_place(answer)]
    )


def _tools(profile: Profile, offers: Offers) -> Asking:
    free = replace(profile, no_tools=False, tools=None, exclude_tools=None)
    question = "Restrict which tools the subagent can use?"
    options = (
        "Disable all tools",
        "Allow only some tools (all others are excluded)",
        "Exclude some tools (all others are allowed)",
    )
    how = yield from _if_wanted(
        Confirm("Configure tools?", question, profile != free),
        Choose("Tools:", options, _tools_choice(profile)),
    )
    if how is SKIP:
        return free
    if how == NO_TOOLS:
        # An empty list says the same, and is left as it was written.
        return profile if _allows_none(profile) else replace(free, no_tools=True)
    allowing = how == ALLOWED
    given = (profile.tools if allowing else profile.exclude_tools) or ()
    field = "tools" if allowing else "excludeTools"
    title = f"Tools to {'allow' if allowing else 'exclude'} (comma-separated):"
    answer = yield from _until_known(
        Text(title, _joined(given), offers.tools, is_list=True),
        lambda names: offers.problem(replace(free, **{FIELDS[field]: items_field(names)}), field),
    )
    if how == _tools_choice(profile) and answer == _joined(given):
        return profile  # also where lists contradict each other, or an empty one was written
    names = _items(answer, given) or None
    return replace(free, tools=names) if allowing else replace(free, exclude_tools=names)


def _allows_none(profile: Profile) -> bool:
    return profile.no_tools or profile.tools == ()


def _tools_choice(profile: Profile) -> int:
    if _allows_none(profile):
        return NO_TOOLS
    return EXCLUDED if profile.exclude_tools is not None and profile.tools is None else ALLOWED


def _extensions(profile: Profile, _offers: Offers) -> Asking:
    free = replace(profile, no_extensions=False, extensions=())
    question = "Configure extension loading?"
    options = (
        "Disable all extensions",
        "Load extensions from paths, beside those that pi finds",
        "Load extensions from paths, and no others",
    )
    how = yield from _if_wanted(
        Confirm("Configure extensions?", question, profile != free),
        Choose("Extensions:", options, _extensions_choice(profile)),
    )
    if how is SKIP:
        return free
    only = replace(free, no_extensions=how != MORE_EXTENSIONS)
    if how == NO_EXTENSIONS:
        return only
    answer = yield Text("Extension paths (comma-separated):", _joined(profile.extensions))
    return replace(only, extensions=_items(answer, profile.extensions))


def _extensions_choice(profile: Profile) -> int:
    if not profile.extensions:
        return NO_EXTENSIONS
    return ONLY_EXTENSIONS if profile.no_extensions else MORE_EXTENSIONS


def _skills(profile: Profile, offers: Offers) -> Asking:
    if profile.suggested_skills or profile.load_skills:
        question = "Remove the skills that are configured?"
        removed = yield Confirm("Remove skill configuration?", question, False)
        if removed is True:
            return replace(profile, suggested_skills=(), load_skills=())
    else:
        question = "Configure skill loading for the subagent?"
        wanted = yield Confirm("Configure skills?", question, False)
        if wanted is not True:
            return profile
    suggested = yield Text(
        "Suggested skills (comma-separated skill names, model chooses to load):",
        _joined(profile.suggested_skills),
        offers.skills(),
        is_list=True,
    )
    loaded = yield Text(
        "Pre-loaded skills (comma-separated skill names, content injected into system prompt):",
        _joined(profile.load_skills),
        offers.skills(),
        is_list=True,
    )
    names = _items(suggested, profile.suggested_skills)
    contents = _items(loaded, profile.load_skills)
    if (names, contents) == (profile.suggested_skills, profile.load_skills):
        return profile
    # Beside skills, `noSkills` would have every call refused.
    none = profile.no_skills and not (names or contents)
    return replace(profile, suggested_skills=names, load_skills=contents, no_skills=none)


STEPS: tuple[Step, ...] = (
    _provider,
    _model,
    _system_prompt,
    _appended_prompt,
    _thinking_level,
    _tools,
    _extensions,
    _skills,
)


def _text(answer: WizardAnswer) -> str:
    """Return what was written, without what no file of ours may hold; nothing if it was skipped."""
    return answer.replace("\0", "") if isinstance(answer, str) else ""


def _line(answer: WizardAnswer, given: str) -> str:
    """Return what was written, trimmed unless it was there before."""
    return given if answer == given else _text(answer).strip()


def _joined(items: tuple[str, ...]) -> str:
    return ", ".join(items)


def _items(answer: WizardAnswer, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return what stands between commas; an item that was there before may hold one."""
    return given if answer == _joined(given) else items_field(_text(answer))


def _place(answer: WizardAnswer) -> int:
    assert isinstance(answer, int)
    return answer
