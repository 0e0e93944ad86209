"""The conversation with an agent: what is sent when, what becomes of answers, calls and questions."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.acp_listener import ANSWERS, OPTIONS, SESSION, AcpTalk

from pi_subagents.core.json_rpc import METHOD_NOT_FOUND
from pi_subagents.core.profile.permissions import Permissions
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Ending, RunFold
from pi_subagents.engines.acp import conversation, messages
from pi_subagents.engines.acp.calls import MAX_CALLS
from pi_subagents.engines.acp.kept import KeptSessionId, read_kept
from pi_subagents.engines.acp.said import MAX_ANSWER
from pi_subagents.engines.acp.wire import GUARD

if TYPE_CHECKING:
    from pathlib import Path

SHELL = {"toolCallId": "c", "kind": "execute", "rawInput": {"command": "ls"}}
EDIT: dict[str, Any] = {"toolCallId": "e", "kind": "edit", "locations": [{"path": "/w/a"}]}


def came_to(talk: AcpTalk) -> tuple[str, str, str]:
    fold = RunFold()
    for event in talk.events:
        fold.apply(event)
    outcome = fold.decide(Ending(exit_code=0, refusal=talk.talk.why_nothing(0)))
    return outcome.status, outcome.output, outcome.error_message


def last_message(talk: AcpTalk) -> ev.AssistantMessage:
    message = talk.seen(ev.AssistantMessage)[-1]
    assert isinstance(message, ev.AssistantMessage)
    return message


# Before the prompt


def test_a_session_is_set_to_what_the_orders_say_before_the_prompt() -> None:
    talk = AcpTalk("opencode", model="a/large", thinking="high", mode="default").begins()
    assert talk.methods() == [
        "initialize",
        "session/new",
        "session/set_mode",
        "session/set_config_option",
        "session/set_config_option",
        "session/prompt",
    ]
    assert [each["params"].get("value") for each in talk.sent[3:5]] == ["a/large", "high"]


@pytest.mark.parametrize(
    ("orders", "words"),
    [
        ({"model": "b/none"}, messages.not_offered("model", "b/none", ["a/large"])),
        ({"thinking": "max"}, messages.not_offered("thinking level", "max", ["low", "high"])),
        (
            {"mode": "plan", "permissions": Permissions(edit="deny")},
            messages.not_offered("mode", "plan", ["default"]),
        ),
        ({"resume": "s-0"}, messages.no_native_resume("s-0")),
    ],
)
def test_what_a_session_does_not_offer_refuses_the_run_by_name(
    orders: dict[str, Any], words: str
) -> None:
    talk = AcpTalk(**orders)
    talk.answers["initialize"] = {"protocolVersion": 1}
    assert came_to(talk.begins())[2] == f"Sub-agent could not start: {words}"
    assert "session/prompt" not in talk.methods()


def test_a_mode_that_is_not_offered_is_done_without_where_everything_is_allowed() -> None:
    talk = AcpTalk(mode="plan").begins()
    assert talk.methods() == ["initialize", "session/new", "session/prompt"]


def test_who_is_not_logged_in_is_told_what_to_type() -> None:
    talk = AcpTalk("codex")
    ways = [{"id": "chatgpt", "name": "Log in with the browser"}]
    talk.answers["initialize"] = {"protocolVersion": 1, "authMethods": ways}
    talk.answers["session/new"] = {"error": {"code": -32000, "message": "Authentication required"}}
    words = messages.not_logged_in("codex login", ["Log in with the browser"])
    assert came_to(talk.begins())[2] == f"Sub-agent could not start: {words}"
    assert "authenticate" not in talk.methods()


def test_a_key_that_is_set_logs_in_without_a_browser_and_once() -> None:
    talk = AcpTalk("gemini", variables=("GEMINI_API_KEY",))
    ways = [{"id": "oauth-personal"}, {"id": "gemini-api-key"}]
    talk.answers["initialize"] = {"protocolVersion": 1, "authMethods": ways}
    talk.answers["session/new"] = {"error": {"code": -32000, "message": "log in"}}
    talk.begins()
    assert talk.methods() == ["initialize", "session/new", "authenticate", "session/new"]
    assert talk.sent[2]["params"] == {"methodId": "gemini-api-key"}
    assert talk.talk.over


def test_a_history_that_is_told_again_is_no_answer() -> None:
    talk = AcpTalk(resume="s-0")
    del talk.answers["session/load"]
    talk.begins()
    talk.updates("agent_message_chunk", content={"type": "text", "text": "old words"})
    talk.hears({"jsonrpc": "2.0", "id": 2, "result": ANSWERS["session/load"]})
    talk.answer_all()
    talk.ends()
    assert came_to(talk) == ("failed", "", messages.ENDED_WITHOUT_ANSWER)


def test_what_is_kept_of_a_session_names_agent_id_and_place() -> None:
    (kept,) = AcpTalk("codex").begins().kept
    assert read_kept(kept) == KeptSessionId("codex", SESSION, "/w")
    assert AcpTalk("gemini").begins().kept == []


def test_a_task_that_begins_like_a_command_is_data() -> None:
    talk = AcpTalk().begins("/init now")
    assert talk.sent[-1]["params"]["prompt"] == [{"type": "text", "text": f"{GUARD}/init now"}]


# Turns


def test_the_answer_is_what_came_after_the_last_call() -> None:
    talk = AcpTalk().begins()
    talk.says("First I look. ")
    talk.updates("tool_call", **SHELL, title="ls", status="pending")
    talk.updates("tool_call_update", toolCallId="c", status="completed")
    talk.says("4")
    talk.says("2")
    talk.ends()
    assert came_to(talk) == ("completed", "42", "")
    assert [e.text for e in talk.seen(ev.AssistantMessage)] == ["First I look. ", "42"]  # type: ignore[union-attr]


def test_with_message_ids_the_answer_is_the_last_message() -> None:
    talk = AcpTalk("claude").begins()
    talk.says("Thinking aloud.", messageId="1")
    talk.says("42", messageId="2")
    talk.ends(usage={"totalTokens": 1})
    assert came_to(talk)[1] == "42"


@pytest.mark.parametrize(
    ("reason", "status", "why"),
    [
        ("end_turn", "completed", ""),
        ("max_tokens", "completed", ""),
        ("refusal", "failed", messages.REFUSED_BY_MODEL),
        ("max_turn_requests", "failed", messages.TOO_MANY_REQUESTS),
        ("cancelled", "failed", messages.CANCELLED_UNASKED),
        ("something", "failed", messages.UNKNOWN_ANSWER),
    ],
)
def test_a_reason_to_stop_has_the_outcome_it_deserves(reason: str, status: str, why: str) -> None:
    talk = AcpTalk().begins()
    talk.says("words")
    talk.ends(reason)
    assert came_to(talk) == (status, "words", why)


def test_without_usage_codex_has_failed_and_its_words_are_the_error() -> None:
    talk = AcpTalk("codex").begins()
    talk.says('{"error": {"message": "bad thing"}}')
    talk.ends(usage=None)
    assert came_to(talk) == ("failed", "", "bad thing")


def test_a_cancelled_wait_that_is_called_a_good_end_is_none() -> None:
    talk = AcpTalk("opencode").begins()
    talk.talk.abort()
    talk.ends(usage={"totalTokens": 0})
    assert last_message(talk).stop_reason == "aborted"


def test_a_call_is_known_whatever_tells_of_it_first_and_ends_once() -> None:
    talk = AcpTalk("gemini").begins()
    talk.asks(0, {**SHELL, "title": "ls"}, ("allow_once", "reject_once"))
    talk.updates("tool_call_update", toolCallId="c", status="in_progress")
    for _ in range(2):
        talk.updates("tool_call_update", toolCallId="c", status="completed")
    assert talk.seen(ev.ToolStarted, ev.ToolFinished) == [
        ev.ToolStarted(ev.ToolCall("c", "bash", {"command": "ls"})),
        ev.ToolFinished("c", "bash", "", failed=False),
    ]


def test_ids_of_calls_repeat_in_other_turns() -> None:
    talk = AcpTalk().begins()
    for text in ("one", "two"):
        talk.updates("tool_call", **SHELL, title="ls", status="in_progress")
        talk.updates("tool_call_update", toolCallId="c", status="completed")
        talk.says(text)
        talk.ends()
        talk.talk.go_on("More.")
    assert len(talk.seen(ev.ToolStarted)) == len(talk.seen(ev.ToolFinished)) == 2


def test_a_call_that_nobody_ended_ends_with_its_turn() -> None:
    talk = AcpTalk().begins()
    talk.updates("tool_call", **SHELL, title="ls", status="in_progress")
    talk.says("done")
    talk.ends()
    assert talk.seen(ev.ToolFinished) == [
        ev.ToolFinished("c", "bash", messages.NO_RESULT, failed=True)
    ]


def test_output_that_comes_bit_by_bit_and_a_bad_exit_are_the_result() -> None:
    talk = AcpTalk("codex").begins()
    talk.updates("tool_call", **SHELL, title="ls", status="in_progress")
    for bit in ("a\n", "b\n"):
        talk.updates(
            "tool_call_update", toolCallId="c", _meta={"terminal_output_delta": {"data": bit}}
        )
    exit_meta = {"terminal_exit": {"exit_code": 3}}
    talk.updates("tool_call_update", toolCallId="c", status="completed", _meta=exit_meta)
    assert talk.seen(ev.ToolFinished) == [ev.ToolFinished("c", "bash", "a\nb\n", failed=True)]


def test_a_diff_is_an_edit_and_a_new_file_is_written() -> None:
    talk = AcpTalk().begins()
    old: tuple[str | None, ...] = ("x", None)
    for number, text in enumerate(old):
        diff = {"type": "diff", "path": "/w/a", "oldText": text, "newText": "y"}
        call = {**EDIT, "toolCallId": str(number)}
        talk.updates("tool_call", **call, title="t", status="in_progress", content=[diff])
    assert talk.seen(ev.ToolStarted) == [
        ev.ToolStarted(
            ev.ToolCall("0", "edit", {"path": "/w/a", "edits": [{"oldText": "x", "newText": "y"}]})
        ),
        ev.ToolStarted(ev.ToolCall("1", "write", {"path": "/w/a", "content": "y"})),
    ]


def test_a_plan_is_a_todo_list_and_no_work() -> None:
    talk = AcpTalk().begins()
    entries = [{"content": "a", "priority": "high", "status": "completed"}]
    talk.updates("plan", entries=entries)
    (started,) = talk.seen(ev.ToolStarted)
    assert isinstance(started, ev.ToolStarted)
    assert (started.call.name, started.call.arguments, started.call.parent_id) == (
        "write_todos",
        {"todos": [{"content": "a", "status": "completed"}]},
        "plan",
    )


def test_a_session_costs_a_run_what_it_cost_since_its_prompt() -> None:
    talk = AcpTalk("opencode").begins()
    for amount in (0.5, 0.75):
        talk.updates("usage_update", used=1, size=2, cost={"amount": amount, "currency": "USD"})
        talk.says("x")
        talk.ends(usage={"inputTokens": 1, "outputTokens": 2, "totalTokens": 3})
        assert last_message(talk).usage.cost == (0.5 if amount == 0.5 else 0.25)
        talk.talk.go_on("More.")


@pytest.mark.parametrize("amount", [-1, True, "0.5", None, 1e400])
def test_a_cost_that_is_none_is_counted_as_nothing(amount: object) -> None:
    talk = AcpTalk("opencode").begins()
    talk.updates("usage_update", used=1, size=2, cost={"amount": amount, "currency": "USD"})
    talk.says("42")
    talk.ends(usage={"totalTokens": 3})
    assert came_to(talk) == ("completed", "42", "")
    assert last_message(talk).usage.cost == 0


def test_an_answer_longer_than_anybody_reads_is_kept_to_its_limit_and_noted() -> None:
    talk = AcpTalk().begins()
    for text in ("a" * (MAX_ANSWER - 1), "bc", "d"):
        talk.says(text)
    talk.ends()
    assert came_to(talk) == ("completed", "a" * (MAX_ANSWER - 1) + "b", "")
    assert talk.seen(ev.Note) == [ev.Note(messages.answer_cut(MAX_ANSWER))]


def test_of_a_call_that_has_ended_only_what_was_allowed_is_kept_in_mind() -> None:
    talk = AcpTalk().begins()
    large = [{"type": "content", "content": {"type": "text", "text": "x" * 1_000_000}}]
    tracemalloc.start()
    for number in range(40):
        call = {**SHELL, "toolCallId": str(number)}
        talk.updates("tool_call", **call, title="ls", status="completed", content=large)
        talk.events.clear()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 4_000_000


def test_a_call_at_work_is_remembered_however_many_come_after_it() -> None:
    talk = AcpTalk().begins()
    talk.updates("tool_call", **SHELL, title="make", status="in_progress")
    for number in range(MAX_CALLS + 1):
        talk.updates("tool_call", **EDIT | {"toolCallId": f"e{number}"}, status="completed")
    talk.updates("tool_call_update", toolCallId="c", status="completed")
    assert talk.seen(ev.ToolFinished)[-1] == ev.ToolFinished("c", "bash", "", failed=False)


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        ("pi-acp", f"Retrying (attempt {'9' * 5000}/3, waiting 2s)..."),
        ("pi-acp", f"Retrying (attempt 1/3, waiting {'9' * 5000}s)..."),
    ],
)
def test_a_number_that_nobody_waits_for_is_a_text_like_any_other(agent: str, text: str) -> None:
    talk = AcpTalk(agent).begins()
    talk.says(text)
    talk.ends()
    assert came_to(talk) == ("completed", text, "")


def test_an_attempt_with_more_digits_than_a_number_has_is_an_attempt() -> None:
    talk = AcpTalk("codex").begins()
    failed = {"willRetry": True, "message": f"Reconnecting {'9' * 5000}/5"}
    talk.updates("session_info_update", _meta={"codex": {"error": failed}})
    assert len(talk.seen(ev.Retrying)) == 1


def test_a_model_is_called_by_a_name_that_fits_a_line() -> None:
    talk = AcpTalk()
    named = [{**OPTIONS[0], "currentValue": f"a/\x1b[31m{'m' * 10_000}"}]
    talk.answers["session/new"] = {"sessionId": SESSION, "configOptions": named}
    talk.begins().says("42")
    talk.ends()
    model = last_message(talk).model
    assert (len(model) < 200, "\x1b" in model) == (True, False)


# Permissions


@pytest.mark.parametrize(
    ("word", "kinds", "chosen"),
    [
        ("allow", ("allow_always", "allow_once", "reject_once"), "o-allow_once"),
        ("allow", ("allow_always",), "o-allow_always"),
        ("allow", ("reject_once",), None),
        ("deny", ("allow_once", "reject_always", "reject_once"), "o-reject_once"),
        ("deny", ("allow_once",), None),
        ("ask", ("allow_once", "reject_once"), "o-reject_once"),  # nobody is there
    ],
)
def test_a_permission_is_chosen_by_its_kind(
    word: str, kinds: tuple[str, ...], chosen: str | None
) -> None:
    talk = AcpTalk("opencode", permissions=Permissions(execute=word)).begins()
    talk.asks(0, {**SHELL, "title": "ls"}, kinds)
    assert talk.responses()[0]["outcome"].get("optionId") == chosen


def test_what_is_asked_waits_for_somebody_and_may_not_hold_for_good() -> None:
    permissions = Permissions(execute="ask")
    talk = AcpTalk("opencode", within_s=60, permissions=permissions).begins()
    talk.asks(0, {**SHELL, "title": "ls"}, ("allow_once", "allow_always", "reject_once"))
    assert talk.seen(ev.Asked) == [
        ev.Asked("1", messages.may_it("execute", "ls"), ("Allow", "Deny"), 60)
    ]
    assert talk.responses() == {}
    talk.talk.answer("1", "r", "1")
    assert talk.responses()[0] == {"outcome": {"outcome": "selected", "optionId": "o-allow_once"}}


def test_a_stop_is_said_first_and_then_closes_what_the_agent_asked() -> None:
    talk = AcpTalk("gemini", within_s=60, permissions=Permissions(execute="ask")).begins()
    talk.asks(0, {**SHELL, "title": "ls"}, ("allow_once", "reject_once"))
    talk.talk.abort()
    assert [each.get("method", each.get("result")) for each in talk.sent[-2:]] == [
        "session/cancel",
        {"outcome": {"outcome": "cancelled"}},
    ]
    talk.asks(1, {**SHELL, "title": "ls"}, ("allow_once",))  # it asks on
    assert talk.responses()[1] == {"outcome": {"outcome": "cancelled"}}


def test_a_question_that_its_agent_withdraws_is_closed() -> None:
    talk = AcpTalk("claude", within_s=60, permissions=Permissions(edit="ask")).begins()
    talk.asks(5, {**EDIT, "title": "a"}, ("allow_once", "reject_once"))
    talk.hears({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 5}})
    assert not talk.talk.waiting
    assert list(talk.responses()) == [5]


def test_what_was_done_unasked_though_it_is_not_allowed_ends_the_turn() -> None:
    talk = AcpTalk("opencode", permissions=Permissions(edit="deny")).begins()
    talk.updates("tool_call", **EDIT, title="edit a", status="in_progress")
    assert talk.methods()[-1] == "session/prompt"
    talk.updates("tool_call_update", toolCallId="e", status="completed")
    assert talk.methods()[-1] == "session/cancel"
    talk.ends("cancelled")
    assert came_to(talk)[::2] == ("failed", messages.unpermitted("edit", "edit a"))


def test_a_command_is_no_tool_of_ours_whatever_it_calls_itself() -> None:
    talk = AcpTalk(
        "opencode", own_tools=("submit_answer",), permissions=Permissions(execute="deny", edit="deny")
    ).begins()  # fmt: skip
    for kind in ("execute", "edit"):
        call = {"toolCallId": kind, "kind": kind, "title": "x_submit_answer"}
        talk.asks(len(talk.sent), call, ("allow_once", "reject_once"))
    outcomes = [each["outcome"]["optionId"] for each in talk.responses().values()]
    assert outcomes == ["o-reject_once"] * 2


def test_codex_in_its_sandbox_asks_to_write_by_any_command() -> None:
    talk = AcpTalk("codex", permissions=Permissions(edit="deny")).begins()
    talk.asks(0, {**SHELL, "title": "touch a"}, ("allow_once", "reject_once"))
    assert talk.responses()[0]["outcome"]["optionId"] == "o-reject_once"


# Messages


def test_a_second_prompt_joins_the_first_and_the_run_ends_with_both() -> None:
    talk = AcpTalk("opencode").begins()
    talk.talk.steer("1", "Other file.")
    first, second = [each["id"] for each in talk.sent if each.get("method") == "session/prompt"]
    talk.says("42")
    talk.hears({"jsonrpc": "2.0", "id": first, "result": {"stopReason": "end_turn"}})
    assert not talk.talk.over
    talk.hears({"jsonrpc": "2.0", "id": second, "result": {"stopReason": "end_turn"}})
    assert came_to(talk) == ("completed", "42", "")
    assert talk.seen(ev.Steer) == [ev.Steer("1", "delivered", "Other file.")]


def test_a_message_is_given_where_the_agent_asks_for_messages_or_came_too_late() -> None:
    talk = AcpTalk("qwen").begins()
    talk.talk.steer("1", "Now.")
    drain = {"jsonrpc": "2.0", "method": "craft/drainMidTurnQueue", "params": {}}
    talk.hears({**drain, "id": 0})
    talk.talk.steer("2", "Later.")
    talk.says("42")
    talk.ends()
    assert talk.responses()[0] == {"messages": ["Now."], "hasQueuedPrompt": False}
    assert [(e.number, e.status) for e in talk.seen(ev.Steer)] == [  # type: ignore[union-attr]
        ("1", "delivered"),
        ("2", "refused"),
    ]


# Silence


def test_an_agent_that_never_answers_is_given_up_before_its_prompt() -> None:
    talk = AcpTalk()
    talk.answers.clear()
    talk.begins()
    talk.talk.check_time(100.0)
    assert talk.talk.deadline() == 100.0 + conversation.OPENING_LIMIT_S
    talk.talk.check_time(100.0 + conversation.OPENING_LIMIT_S)
    assert talk.talk.over
    assert talk.talk.why_nothing(None) == messages.no_word("initialize", 120)


def test_silent_retries_are_ended_by_our_own_deadline_but_never_a_long_call() -> None:
    talk = AcpTalk("qwen").begins()
    talk.updates("tool_call", **SHELL, title="make", status="in_progress")
    assert talk.talk.deadline() is None
    talk.updates("tool_call_update", toolCallId="c", status="completed")
    talk.talk.check_time(conversation.SILENCE_LIMIT_S)
    assert talk.methods()[-1] == "session/cancel"
    talk.ends("cancelled")
    assert came_to(talk)[::2] == ("failed", messages.silent(600))


def test_an_agent_that_does_not_even_end_its_turn_has_failed_all_the_same() -> None:
    talk = AcpTalk().begins()
    talk.says("partly")
    limit = conversation.SILENCE_LIMIT_S
    talk.talk.check_time(limit)
    talk.talk.check_time(limit + conversation.CANCEL_LIMIT_S)
    assert talk.talk.over
    talk.events += talk.talk.unfinished()
    assert came_to(talk) == ("failed", "partly", messages.silent(limit))


def test_what_an_agent_does_not_know_of_the_protocol_is_answered_and_harms_nothing() -> None:
    talk = AcpTalk().begins()
    talk.hears({"jsonrpc": "2.0", "id": 0, "method": "vendor/x", "params": [1]})
    talk.hears({"jsonrpc": "2.0", "id": "t", "method": "terminal/create", "params": {}})
    talk.hears({"jsonrpc": "2.0", "id": 77, "result": {}}, b"words", b"")
    talk.says("42")
    talk.ends()
    assert came_to(talk) == ("completed", "42", "")
    assert {own: each["code"] for own, each in talk.responses().items()} == {0: -32602, "t": -32601}


@pytest.mark.parametrize("own", ["3", 3.0])
def test_an_answer_whose_number_came_back_as_another_type_is_the_answer(own: object) -> None:
    talk = AcpTalk().begins()
    talk.says("42")
    for strange in ("x", "\u00b2", "9" * 5000, "-3", None, 99):
        talk.hears({"jsonrpc": "2.0", "id": strange, "result": {"stopReason": "refusal"}})
    assert not talk.talk.over
    talk.hears({"jsonrpc": "2.0", "id": own, "result": {"stopReason": "end_turn"}})
    talk.hears({"jsonrpc": "2.0", "id": own, "result": {"stopReason": "refusal"}})
    assert came_to(talk) == ("completed", "42", "")


def test_after_its_turn_an_agent_is_served_nothing(tmp_path: Path) -> None:
    talk = AcpTalk(cwd=str(tmp_path)).begins()
    talk.says("42")
    talk.ends()
    params = {"path": str(tmp_path / "late"), "content": "x"}
    talk.hears({"jsonrpc": "2.0", "id": 0, "method": "fs/write_text_file", "params": params})
    assert (talk.responses()[0]["code"], [*tmp_path.iterdir()]) == (METHOD_NOT_FOUND, [])
