"""
The contract of conversations: what holds for every engine, whatever its children speak.

A new engine is held to it by a dialect of its own (`tests/fakes/dialects.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.demo_engine.engine import ENGINE as DEMO
from tests.fakes.dialects import DIALECTS, Dialect
from tests.unit.core.given_values import json_values, thoroughly

from pi_subagents.core.check import Check
from pi_subagents.core.profile.permissions import KINDS, Permissions
from pi_subagents.core.profile.profile import FIELDS, OWN_FIELDS, Profile
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.files import CHILD_VARIABLE
from pi_subagents.core.run.outcome import Cause, Ending, Outcome, RunFold
from pi_subagents.core.settings import Settings
from pi_subagents.engines.acp import catalogue
from pi_subagents.engines.acp.engine import engine_of
from pi_subagents.engines.base import NEVER, CallPlace, ChildRequest
from pi_subagents.engines.conversation import Beginning
from pi_subagents.engines.pi.engine import ENGINE as PI
from pi_subagents.engines.table import (
    ENGINES,
    FAMILIES,
    engine_of_record,
    load_engine,
    open_conversation,
)
from pi_subagents.errors import ProfileRefused
from pi_subagents.service.profiles import refuse_unsupported
from pi_subagents.system.home import CheckedPlace

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.engines.base import Engine

PROMPT = "Look around."
AGENTS: tuple[Engine, ...] = tuple(map(engine_of, (*catalogue.NAMES, "unheard-of")))
CALLERS_SIDE: tuple[Engine, ...] = (PI, DEMO, *AGENTS)  # for the type checker too
FAKES = [path.parent.name for path in Path(__file__).parents[2].glob("fakes/*/engine.py")]


@pytest.fixture(autouse=True)
def _fake_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    for fake in FAKES:
        monkeypatch.setitem(ENGINES, fake.removesuffix("_engine"), f"tests.fakes.{fake}")


def test_no_engine_and_no_fake_of_one_escapes_the_contract() -> None:
    known = {*ENGINES, *(engine.name for engine in AGENTS)}
    assert {engine.name for engine in CALLERS_SIDE} == known
    assert {dialect.engine for dialect in DIALECTS} == known
    assert {name.partition(":")[0] for name in known} == {*ENGINES, *FAMILIES}


class Talk:
    """A conversation, and what came of it."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.events: list[ev.Event] = []
        self.fold = RunFold()
        self._sent: list[bytes] = []
        self.conversation = open_conversation(dialect.engine, dialect.mode, "run", self)

    def send(self, line: bytes) -> None:
        assert line.endswith(b"\n")
        self._sent.append(line)

    def sent(self) -> list[bytes]:
        sent, self._sent = self._sent, []
        return sent

    def hears(self, lines: list[bytes]) -> None:
        for line in lines:
            for event in self.conversation.hears(line, 0.0):
                self.fold.apply(event)
                self.events.append(event)
            self.events += self.conversation.take_news()

    def begins(self) -> Talk:
        self.conversation.begin(Beginning(PROMPT))
        self.hears(self.dialect.begins(self.sent(), PROMPT))
        return self

    def ends(self, *, aborted: bool = False) -> Outcome:
        self.hears(self.dialect.settles(self.sent(), aborted=aborted))
        self.hears(self.dialect.accounts(self.sent()))
        if (usage := self.conversation.usage) is not None:
            self.fold.count(usage)
        return self.fold.decide(Ending(exit_code=0))

    def seen(self, kind: type[ev.Event]) -> list[ev.Event]:
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture(params=DIALECTS, ids=lambda dialect: f"{dialect.engine}-{dialect.mode}")
def talk(request: pytest.FixtureRequest) -> Talk:
    return Talk(request.param)


def test_a_prompt_is_answered_and_the_answer_is_the_outcome(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.answers("42"))
    assert talk.ends() == Outcome("completed", "42")
    assert talk.fold.answered()


def test_the_child_has_not_heard_its_prompt_before_it_was_said(talk: Talk) -> None:
    assert not talk.begins().conversation.unasked


def test_a_call_is_seen_with_its_name_and_arguments(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.calls("look", at="src", deep={"x": [1]}))
    (started,) = talk.seen(ev.ToolStarted)
    assert isinstance(started, ev.ToolStarted)
    assert (started.call.name, started.call.arguments) == (
        "look",
        {"at": "src", "deep": {"x": [1]}},
    )


def test_a_call_counts_once_whether_it_is_announced_or_only_seen_to_begin(talk: Talk) -> None:
    talk.begins()
    for place in ("src", "tests"):
        talk.hears(talk.dialect.calls("look", at=place))
    assert talk.fold.facts()["tool_call_count"] == 2


def test_what_the_model_used_is_counted(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.answers("42"))
    talk.ends()
    reports = load_engine(talk.dialect.engine).capabilities.usage
    assert talk.fold.usage.output == (0 if reports == NEVER else 7)


def test_an_error_of_the_model_fails_the_run_with_its_words(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.fails("the model is gone"))
    assert talk.ends() == Outcome("failed", error_message="the model is gone")


def test_a_limit_of_the_provider_follows_the_message_that_failed_for_it(talk: Talk) -> None:
    lines = talk.dialect.is_limited()
    assert bool(lines) is load_engine(talk.dialect.engine).capabilities.limits
    talk.begins().hears(lines)
    why = "429 Too many requests: try again in 20s"
    assert talk.seen(ev.Limited) == [ev.Limited("acme", after_s=20, text=why)] * bool(lines)
    if lines:
        kinds = [type(event) for event in talk.events]
        assert kinds[kinds.index(ev.Limited) - 1] is ev.AssistantMessage


def test_a_message_is_delivered_or_refused_with_a_reason_and_never_lost(talk: Talk) -> None:
    talk.begins().conversation.steer("1", "Use the other file.")
    talk.events += talk.conversation.take_news()
    talk.hears(talk.dialect.reads(talk.sent(), "Use the other file."))
    (heard,) = talk.seen(ev.Steer)
    assert isinstance(heard, ev.Steer)
    assert (heard.number, heard.text) == ("1", "Use the other file.")
    delivered = (heard.status, bool(heard.reason)) == ("delivered", False)
    refused = (heard.status, bool(heard.reason)) == ("refused", True)
    assert delivered if talk.conversation.can_steer else refused


def test_a_message_after_the_end_is_refused(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.answers("42"))
    talk.ends()
    talk.conversation.steer("1", "Too late?")
    (heard,) = talk.conversation.take_news()
    assert isinstance(heard, ev.Steer)
    assert (heard.status, bool(heard.reason)) == ("refused", True)


def test_a_child_that_can_be_asked_to_stop_says_when_it_did(talk: Talk) -> None:
    talk.begins().conversation.abort()
    asked = talk.sent()
    assert bool(asked) is talk.conversation.can_abort
    talk.hears(talk.dialect.settles(asked, aborted=True))
    assert talk.conversation.aborted is talk.conversation.can_abort


def test_a_question_is_answered_once_or_there_was_none(talk: Talk) -> None:
    talk.conversation.begin(Beginning(PROMPT, answer_within_s=600, is_up=True))
    talk.hears(talk.dialect.begins(talk.sent(), PROMPT))
    talk.sent()
    talk.hears(talk.dialect.asks("Which?", ("old", "new")))
    assert talk.conversation.waiting is talk.conversation.can_ask
    for reply in ("a", "b"):
        talk.conversation.answer("1", reply, "2")
        talk.events += talk.conversation.take_news()
    first, second = talk.seen(ev.Replied)
    assert isinstance(first, ev.Replied)
    assert isinstance(second, ev.Replied)
    if talk.conversation.can_ask:
        assert talk.seen(ev.Asked) == [ev.Asked("1", "Which?", ("old", "new"), 600)]
        assert first == ev.Replied("1", ev.GIVEN, "new", "", "a")
        assert len(talk.sent()) == 1
    else:
        assert first.status == ev.REFUSED
    assert (second.status, second.reply, bool(second.reason)) == (ev.REFUSED, "b", True)
    assert not talk.conversation.waiting


def test_a_question_without_an_answer_is_closed_by_the_time_or_by_a_stop(talk: Talk) -> None:
    talk.conversation.begin(Beginning(PROMPT, answer_within_s=600, is_up=True))
    talk.hears(talk.dialect.begins(talk.sent(), PROMPT))
    ends: tuple[Callable[[], None], ...] = (
        lambda: talk.conversation.check_time(600.0),
        talk.conversation.abort,
    )
    for end in ends:
        talk.hears(talk.dialect.asks("Which?", ()))
        end()
        assert not talk.conversation.waiting
        talk.events += talk.conversation.take_news()
    closed = [each.status for each in talk.seen(ev.Replied) if isinstance(each, ev.Replied)]
    assert closed == [ev.UNANSWERED] * 2 * talk.conversation.can_ask


def test_who_may_ask_nothing_is_told_at_once(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.asks("Which?", ()))
    assert not talk.conversation.waiting
    assert talk.seen(ev.Asked) == []


def test_news_are_told_once(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.answers("42"))
    talk.ends()
    talk.conversation.steer("1", "Too late?")
    assert [len(talk.conversation.take_news()) for _ in range(2)] == [1, 0]


def test_a_refusal_is_kept_for_the_outcome(talk: Talk) -> None:
    talk.conversation.refuse("there is no prompt")
    assert talk.conversation.why_nothing(None) == "there is no prompt"
    assert talk.sent() == []


def test_without_a_word_of_the_child_there_is_nothing_to_tell(talk: Talk) -> None:
    talk.begins()
    assert talk.conversation.why_nothing(1) == ""
    assert talk.fold.decide(Ending(exit_code=1)).status == "failed"


def test_a_child_that_served_others_begins_in_the_session_of_this_run(talk: Talk) -> None:
    talk.conversation.begin(Beginning(PROMPT, session="/own.jsonl", is_up=True))
    opened = talk.dialect.resumes(sent := talk.sent(), "/own.jsonl")
    if opened:
        assert talk.conversation.unasked
        talk.hears(talk.dialect.answers("said to another run"))
        assert talk.events == []
        talk.hears(opened)
        sent = talk.sent()
    talk.hears(talk.dialect.begins(sent, PROMPT))
    talk.hears(talk.dialect.answers("42"))
    assert talk.ends() == Outcome("completed", "42")


def test_orders_are_given_before_the_prompt_and_are_no_event_of_the_run(talk: Talk) -> None:
    talk.conversation.begin(Beginning(PROMPT, orders='{"schema":{}}'))
    taken = talk.dialect.obeys(sent := talk.sent(), '{"schema":{}}')
    if taken:
        assert talk.conversation.unasked
        talk.hears(taken)
        assert talk.events == []
        sent = talk.sent()
    talk.hears(talk.dialect.begins(sent, PROMPT))
    talk.hears(talk.dialect.answers("42"))
    assert talk.ends() == Outcome("completed", "42")


@pytest.mark.parametrize("value", [{"n": 1}, [], "", 0, False, None])
def test_an_answer_by_the_tool_for_it_is_a_value(talk: Talk, value: object) -> None:
    talk.begins().hears(lines := talk.dialect.submits(value))
    assert talk.seen(ev.ValueGiven) == [ev.ValueGiven(value)] * bool(lines)


def test_a_child_that_can_be_asked_more_is_asked_in_the_same_session(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.answers("42"))
    talk.ends()
    if not talk.conversation.can_go_on:
        with pytest.raises(NotImplementedError):
            talk.conversation.go_on("As JSON?")
        return
    assert talk.conversation.over
    talk.sent()
    talk.conversation.go_on("As JSON?")
    assert not talk.conversation.over
    talk.hears(talk.dialect.begins(talk.sent(), "As JSON?"))
    talk.hears(talk.dialect.answers("[42]"))
    assert talk.ends() == Outcome("completed", "[42]")
    assert talk.conversation.over


def before_its_prompt(talk: Talk) -> None:
    talk.conversation.begin(Beginning(PROMPT))


def at_work(talk: Talk) -> None:
    talk.begins()


def at_a_call(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.calls("look", at="src"))


def after_its_answer(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.answers("42"))


def after_it_was_asked_to_stop(talk: Talk) -> None:
    talk.begins().conversation.abort()


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        (before_its_prompt, ""),
        (at_work, ""),
        (at_a_call, ""),
        (after_its_answer, "42"),
        (after_it_was_asked_to_stop, ""),
    ],
)
def test_a_child_that_dies_before_it_is_done_fails_the_run(
    talk: Talk, phase: Callable[[Talk], None], said: str
) -> None:
    phase(talk)
    for event in talk.conversation.unfinished():
        talk.fold.apply(event)
    assert talk.conversation.why_nothing(137) == ""
    outcome = talk.fold.decide(Ending(exit_code=137, signal_name="SIGKILL"))
    assert (outcome.status, outcome.output) == ("failed", said)
    assert "SIGKILL" in outcome.error_message


def test_a_child_that_dies_once_it_is_done_has_answered(talk: Talk) -> None:
    talk.begins().hears(talk.dialect.answers("42"))
    talk.ends()
    outcome = talk.fold.decide(Ending(exit_code=137, signal_name="SIGKILL"))
    assert (outcome.status, outcome.output) == ("completed", "42")


def test_an_answer_counts_though_the_run_was_about_to_be_stopped(talk: Talk) -> None:
    talk.begins().fold.asked_to_stop()
    talk.hears(talk.dialect.answers("42"))
    talk.ends()
    assert talk.fold.decide(Ending(cause=Cause.LOOPING)) == Outcome("completed", "42")


def test_what_is_no_record_is_text_and_changes_nothing(talk: Talk) -> None:
    talk.begins().hears([b"Segmentation fault", b"\xff\xfe", b"{}", b"[]", b"null"])
    talk.hears(talk.dialect.answers("42"))
    assert talk.ends() == Outcome("completed", "42")


lines = st.binary(max_size=200) | json_values.map(
    lambda value: str(value).encode("utf-8", "replace")
)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: f"{each.engine}-{each.mode}")
def test_whatever_a_child_says_the_conversation_goes_on(dialect: Dialect) -> None:
    @thoroughly
    @given(st.lists(lines, max_size=8), st.floats(0, 1e9))
    def holds(said: list[bytes], now: float) -> None:
        talk = Talk(dialect).begins()
        talk.hears([line.replace(b"\n", b"") for line in said])
        talk.conversation.check_time(now)
        assert isinstance(talk.conversation.over, bool)
        talk.conversation.hears_idle(b"".join(said).replace(b"\n", b""))

    holds()


@pytest.mark.parametrize("engine", CALLERS_SIDE, ids=lambda engine: engine.name)
def test_an_engine_says_what_its_children_can_do(engine: Engine) -> None:
    name = engine.name
    assert load_engine(name) is engine
    assert engine.capabilities.usage in ("message", "turn", "never")
    modes = [each.mode for each in DIALECTS if each.engine == name]
    steers = [open_conversation(name, mode, "run", Talk(DIALECTS[0])).can_steer for mode in modes]
    assert any(steers) is engine.capabilities.steering
    for mode, can_steer in zip(modes, steers, strict=True):
        assert (engine.why_no_steering(mode) == "") is can_steer


SET: dict[type, object] = {
    str: "x",
    bool: True,
    tuple: ("x",),
    type(None): ("x",),
    Permissions: Permissions(edit="deny"),
}


@pytest.mark.parametrize(
    "spelled", sorted(each for each in FIELDS if FIELDS[each] not in OWN_FIELDS)
)
@pytest.mark.parametrize("engine", CALLERS_SIDE, ids=lambda engine: engine.name)
def test_a_field_that_an_engine_does_not_honour_is_refused_by_name(
    engine: Engine, spelled: str, place: CallPlace
) -> None:
    field, call = FIELDS[spelled], engine.preview(place)
    profile = Profile("p", **{field: SET[type(getattr(Profile(""), field))]})  # type: ignore[arg-type]  # a field by name
    if field in engine.capabilities.profile_fields:
        refuse_unsupported(profile, call)
    else:
        words = f'Profile "p" sets "{spelled}", which the engine "{engine.name}" does not support.'
        with pytest.raises(ProfileRefused, match=words):
            refuse_unsupported(profile, call)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("engine", CALLERS_SIDE, ids=lambda engine: engine.name)
def test_a_kind_of_call_that_an_engine_cannot_restrict_is_refused_by_name(
    engine: Engine, kind: str, place: CallPlace
) -> None:
    profile = Profile("p", permissions=Permissions(**{kind: "deny"}))
    if kind in engine.capabilities.permissions:
        refuse_unsupported(profile, engine.preview(place))
    else:
        with pytest.raises(ProfileRefused, match=r'sets "permissions'):
            refuse_unsupported(profile, engine.preview(place))


@pytest.fixture
def place(tmp_path: Path) -> CallPlace:
    (tmp_path / "project").mkdir()
    env = {"HOME": str(tmp_path / "home"), "PATH": ""}
    return CallPlace(tmp_path / "project", env, Settings(), trusted=lambda _: False)


@pytest.mark.parametrize("engine", CALLERS_SIDE, ids=lambda engine: engine.name)
def test_who_only_looks_gets_values_from_every_engine_and_starts_nothing(
    engine: Engine, place: CallPlace, tmp_path: Path
) -> None:
    name, call = engine.name, engine.preview(place)
    profile = Profile("plain", model="a/b")
    assert call.name == call.facts["engine"] == name
    assert call.check_profile(profile) == call.check_preset(profile) == ()
    assert call.prepare_profile(profile, ("note",), trusted=False).notes == ("note",)
    assert call.prepare_preset(profile, "c/d").profile.model == "c/d"
    assert all(isinstance(tool, str) for tool in call.list_tools())
    assert call.list_skills(trusted=False) == ()
    order = call.plan_child(ChildRequest("run", str(place.cwd), trusted=False, profile=profile))
    assert (order.order.engine, order.order.cwd) == (name, str(place.cwd))
    assert order.order.environment[CHILD_VARIABLE] == "1"
    assert call.share_key_now(order.share_key) == order.share_key
    assert not engine.trusts(place.cwd, place.env, None)
    assert engine.trusts(place.cwd, place.env, (place.cwd, True))
    assert {path.name for path in tmp_path.iterdir()} == {"project"}


@pytest.mark.parametrize("engine", CALLERS_SIDE, ids=lambda engine: engine.name)
def test_the_doctor_gets_checks_from_every_engine(engine: Engine, place: CallPlace) -> None:
    checked = CheckedPlace(place.cwd, place.env)
    found = [*engine.examine_project(checked), *engine.examine(checked)]
    assert all(isinstance(check, Check) for check in found)
    assert any(check.state == "fatal" for check in found) is not engine.is_installed(
        place.cwd, place.env
    )


@pytest.mark.parametrize("name", ["", "nonsense"])
def test_an_engine_that_nobody_knows_is_that_of_an_old_record_and_of_no_new_run(name: str) -> None:
    assert engine_of_record(name) is PI
    with pytest.raises(KeyError):
        load_engine(name)
