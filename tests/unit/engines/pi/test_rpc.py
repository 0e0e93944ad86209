from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_objects, json_scalars, json_values, texts, thoroughly

from pi_subagents.core.run import events as ev
from pi_subagents.engines.pi.records import decode_pi_line
from pi_subagents.engines.pi.rpc import (
    Answered,
    DialogAsked,
    Heard,
    WorkBegan,
    command,
    decode_rpc_line,
    dismissal,
)

DIALOGS = ("select", "confirm", "input", "editor")


@pytest.mark.parametrize(
    ("line", "heard"),
    [
        (
            b'{"id":"r-prompt","type":"response","command":"prompt","success":true}',
            Answered("r-prompt", "", {}),
        ),
        (
            (
                b'{"id":"r-switch_session","type":"response","command":"switch_session",'
                b'"success":true,"data":{"cancelled":false}}'
            ),
            Answered("r-switch_session", "", {"cancelled": False}),
        ),
        (
            b'{"id":"r-prompt","type":"response","success":false,"error":"No model selected"}',
            Answered("r-prompt", "No model selected", {}),
        ),
        (
            b'{"type":"response","command":"parse","success":false,"error":"Not JSON"}',
            Answered("", "Not JSON", {}),
        ),
        # An error counts where the command failed, and a failure has a reason.
        (b'{"id":"a","type":"response","success":true,"error":"odd"}', Answered("a", "", {})),
        (b'{"id":"a","type":"response","success":false}', Answered("a", "no reason given", {})),
        (
            b'{"id":"a","type":"response","success":false,"error":""}',
            Answered("a", "no reason given", {}),
        ),
        (
            b'{"id":"a","type":"response","success":false,"error":{"code":1}}',
            Answered("a", "no reason given", {}),
        ),
        (b'{"id":7,"type":"response","success":true,"data":[1]}', Answered("", "", {})),
        (
            (
                b'{"type":"extension_ui_request","id":"d1","method":"confirm","title":"Sure?",'
                b'"message":"Really"}'
            ),
            DialogAsked("d1", "confirm", "Sure?", "Really"),
        ),
        (
            b'{"type":"extension_ui_request","id":"d1","method":"input","title":7}',
            DialogAsked("d1", "input", ""),
        ),
        (
            (
                b'{"type":"extension_ui_request","id":"d1","method":"select","title":"Which?",'
                b'"options":["a",7],"timeout":1500}'
            ),
            DialogAsked("d1", "select", "Which?", "", ("a", ""), 1.5),
        ),
        (b'{"type":"agent_start"}', WorkBegan()),
        (b' { "type" : "agent_start" } ', WorkBegan()),
    ],
)
def test_records_of_the_protocol(line: bytes, heard: Heard) -> None:
    assert decode_rpc_line(line) == heard


@pytest.mark.parametrize("method", DIALOGS)
def test_what_waits_for_an_answer_is_a_dialog(method: str) -> None:
    line = json.dumps({"type": "extension_ui_request", "id": "d", "method": method}).encode()
    assert decode_rpc_line(line) == DialogAsked("d", method, "")


@pytest.mark.parametrize("method", ["notify", "setStatus", "setWidget", "setTitle", "Confirm", 7])
def test_what_waits_for_nothing_is_activity(method: object) -> None:
    line = json.dumps({"type": "extension_ui_request", "id": "d", "method": method}).encode()
    assert decode_rpc_line(line) == ev.Activity("extension_ui_request")


@pytest.mark.parametrize(
    ("line", "event"),
    [
        # Half a record, or one of another shape, is what it is in JSON mode.
        (b'{"type":"response","id":"a"}', ev.Activity("response")),
        (b'{"type":"response","success":"true"}', ev.Activity("response")),
        (b'{"type":"response","success":true', ev.OutputText('{"type":"response","success":true')),
        (b'["response"]', ev.OutputText('["response"]')),
        (b'"agent_start"', ev.OutputText('"agent_start"')),
        (b'the "response" came', ev.OutputText('the "response" came')),
        (
            b'{"type":"extension_ui_request","id":1,"method":"confirm"}',
            ev.Activity("extension_ui_request"),
        ),
        (b'{"type":"agent_settled"}', ev.Settled()),
        (b'{"type":"message_end","message":{"role":"user","content":"hi"}}', ev.UserMessage("hi")),
        # Words of the protocol inside other records are only words.
        (
            (
                b'{"type":"message_end","message":{"role":"user","content":"response",'
                b'"type":"agent_start"}}'
            ),
            ev.UserMessage("response"),
        ),
        (b'{"type":"agent_end","why":"agent_start"}', ev.Activity("passed over")),
        (b"", ev.OutputText("")),
        (b'\xff"response"', ev.OutputText('\ufffd"response"')),
        (b'{"type":"response","success":true,"\xff":1}', None),
        (b'{"type":"response","data":' + b"[" * 100_000, None),
        (b'{"type":"response","data":' + b"9" * 5000 + b"}", None),
    ],
)
def test_whatever_is_no_record_of_the_protocol_is_an_event_as_in_json_mode(
    line: bytes, event: ev.Event | None
) -> None:
    assert decode_rpc_line(line) == decode_pi_line(line)
    assert event is None or decode_rpc_line(line) == event


records = st.fixed_dictionaries(
    {},
    optional={
        "id": json_scalars,
        "type": st.sampled_from(
            ["response", "extension_ui_request", "agent_start", "agent_end", "message_end"]
        )
        | json_scalars,
        "success": st.booleans() | json_scalars,
        "error": json_scalars,
        "data": st.just({"a": 1}) | json_values,
        "method": st.sampled_from([*DIALOGS, "notify"]) | json_scalars,
        "title": json_scalars,
    },
)
lines = st.one_of(
    records.map(lambda record: json.dumps(record).encode()),
    records.map(lambda record: json.dumps(record, separators=(",", ":")).encode()),
    st.tuples(records, st.integers(0, 60)).map(lambda t: json.dumps(t[0]).encode()[: t[1]]),
    st.tuples(st.binary(max_size=4), records).map(lambda t: t[0] + json.dumps(t[1]).encode()),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=80),
)


@thoroughly
@given(lines)
def test_any_bytes_are_one_record_or_the_event_they_are_in_json_mode(line: bytes) -> None:
    heard = decode_rpc_line(line)
    match heard:
        case Answered() | DialogAsked() | WorkBegan():
            pass
        case _:
            assert heard == decode_pi_line(line)


@thoroughly
@given(records)
def test_a_record_is_of_the_protocol_exactly_if_its_fields_say_so(
    record: dict[str, object],
) -> None:
    kind, success = record.get("type"), record.get("success")
    dialog, method = record.get("id"), record.get("method")
    # Where pi has it: nothing long stands in front of the type.
    record = {"type": kind, **record}
    heard = decode_rpc_line(json.dumps(record).encode())
    answered = kind == "response" and isinstance(success, bool)
    asked = kind == "extension_ui_request" and isinstance(dialog, str) and method in DIALOGS
    assert (isinstance(heard, Answered), isinstance(heard, DialogAsked)) == (answered, asked)
    assert isinstance(heard, WorkBegan) == (kind == "agent_start")
    if isinstance(heard, Answered):
        assert bool(heard.error) is not success


def test_a_type_that_stands_after_a_long_id_is_found_up_to_the_length_of_our_own_ids() -> None:
    ours = command("get_session_stats", "f" * 32 + "-get_session_stats")
    command_id = json.loads(ours)["id"]
    line = json.dumps(
        {"id": command_id, "type": "response", "command": "get_session_stats", "success": True},
        separators=(",", ":"),
    ).encode()
    assert decode_rpc_line(line) == Answered(command_id, "", {})


@thoroughly
@given(texts, texts, json_objects)
def test_a_command_is_one_line_of_ascii_with_everything_in_it(
    name: str, command_id: str, fields: dict[str, object]
) -> None:
    line = command(name, command_id, message=fields)
    assert line.isascii()
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"id": command_id, "type": name, "message": fields}


@thoroughly
@given(texts)
def test_a_dismissal_is_one_line_of_ascii_that_confirms_nothing(dialog_id: str) -> None:
    line = dismissal(dialog_id)
    assert line.isascii()
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    assert json.loads(line) == {
        "type": "extension_ui_response",
        "id": dialog_id,
        "cancelled": True,
    }


def test_a_command_as_pi_gets_it() -> None:
    assert command("prompt", "r1-prompt", message="a\n\u2028b\ud800") == (
        b'{"id":"r1-prompt","type":"prompt","message":"a\\n\\u2028b\\ud800"}\n'
    )
