"""
The official models of the protocol are the oracle, and nothing but that: loading them takes 0.5 s.

Every message that we send validates against them; every message that they can express is understood
or noted, and every request among them is answered.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes import acp_agent
from tests.fakes.acp_listener import SESSION, AcpTalk
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.profile.permissions import Permissions
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.journal import JournalEntry, decode_entry, encode_entry
from pi_subagents.engines.acp.catalogue import NAMES

if TYPE_CHECKING:
    from pydantic import BaseModel

INSTALL = "needs the test tools: pip install -e '.[dev]'"
meta = pytest.importorskip("acp.meta", reason=INSTALL)
schema = pytest.importorskip("acp.schema", reason=INSTALL)
REQUESTS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeRequest,
    "authenticate": schema.AuthenticateRequest,
    "session/new": schema.NewSessionRequest,
    "session/load": schema.LoadSessionRequest,
    "session/resume": schema.ResumeSessionRequest,
    "session/set_mode": schema.SetSessionModeRequest,
    "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
    "session/prompt": schema.PromptRequest,
    "session/cancel": schema.CancelNotification,
}
# Of vendors, as the rows of the catalogue say; the models know nothing of them.
OF_VENDORS = {"_session/steering", "session/set_model"}
SERVER = {"name": "subagents", "command": "/usr/bin/python3", "args": ["-c", "x"], "env": []}


def check_sent(talk: AcpTalk) -> set[str]:
    """Validate all that was sent; return the methods."""
    for message in talk.sent:
        if (method := message.get("method")) in REQUESTS:
            REQUESTS[method].model_validate(message["params"])
        else:
            assert method is None or method in OF_VENDORS
    return set(talk.methods())


@pytest.mark.parametrize("agent", [*NAMES, "unheard-of"])
@pytest.mark.parametrize("resume", ["", "s-0"])
def test_every_request_that_we_send_is_one_of_the_protocol(agent: str, resume: str) -> None:
    by_method = agent == "gemini"
    talk = AcpTalk(
        agent,
        model="" if by_method else "a/large",
        thinking="high",
        mode="default",
        resume=resume,
        servers=(SERVER,),
    )
    talk.begins("/not-a-command")
    talk.talk.steer("1", "Use the other file.")
    talk.talk.abort()
    sent = check_sent(talk)
    opened = "session/load" if resume else "session/new"
    assert {"initialize", opened, "session/set_mode", "session/prompt", "session/cancel"} <= sent


def test_logging_in_and_resuming_are_of_the_protocol_too() -> None:
    talk = AcpTalk(resume="s-0", variables=("K",))
    ways = [{"id": "key", "name": "Key", "type": "env_var", "vars": [{"name": "K"}]}]
    capabilities: dict[str, Any] = {"sessionCapabilities": {"resume": {}}}
    talk.answers["initialize"] = {
        "protocolVersion": 1, "authMethods": ways, "agentCapabilities": capabilities
    }  # fmt: skip
    talk.answers["session/resume"] = {"error": {"code": -32000, "message": "log in"}}
    talk.begins()
    assert {"authenticate", "session/resume"} <= check_sent(talk)


def test_what_we_answer_to_a_permission_request_is_of_the_protocol() -> None:
    talk = AcpTalk("opencode", permissions=Permissions(edit="deny")).begins()
    talk.asks(0, {"toolCallId": "a", "kind": "edit"}, ("allow_once", "reject_once"))
    talk.asks(1, {"toolCallId": "b", "kind": "execute"}, ("allow_once", "reject_once"))
    talk.asks(2, {"toolCallId": "c", "kind": "edit"}, ("allow_once",))
    for answer in talk.responses().values():
        schema.RequestPermissionResponse.model_validate(answer)
    assert [each["outcome"].get("optionId") for each in talk.responses().values()] == [
        "o-reject_once", "o-allow_once", None
    ]  # fmt: skip


def from_schema(
    given: dict[str, Any], defs: dict[str, Any], depth: int = 0
) -> st.SearchStrategy[Any]:
    """Return values that a JSON schema of the models allows."""
    if "$ref" in given:
        return from_schema(defs[given["$ref"].rpartition("/")[2]], defs, depth)
    for key in ("anyOf", "oneOf"):
        if key in given:
            # The last ones of what is deep are the shallow ones: null, a text.
            kinds = given[key] if depth < 6 else given[key][-1:]
            return st.one_of(*(from_schema(each, defs, depth) for each in kinds))
    if "allOf" in given:
        return from_schema(given["allOf"][0], defs, depth)
    if "const" in given:
        return st.just(given["const"])
    if "enum" in given:
        return st.sampled_from(given["enum"])
    match given.get("type"):
        case "object" if "properties" in given:
            required = set(given.get("required", ()))
            fields = {k: from_schema(v, defs, depth + 1) for k, v in given["properties"].items()}
            return st.fixed_dictionaries(
                {k: v for k, v in fields.items() if k in required},
                optional={k: v for k, v in fields.items() if k not in required},
            )
        case "array":
            inner = from_schema(given.get("items", {}), defs, depth + 1)
            return st.lists(inner, max_size=2)
        case "string":
            return st.sampled_from(["", "a", "call-1", "/w/a.txt", "é\n", "plan"])
        case "integer":
            return st.integers(0, 2**40)
        case "number":
            return st.floats(0, 1e6)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
    return st.sampled_from([None, 1, "x", [], {}, {"command": "ls", "path": "a"}])


def expressible(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    found = model.model_json_schema(by_alias=True)
    return from_schema(found, found.get("$defs", {}))


UPDATES = expressible(schema.SessionNotification)


@thoroughly
@given(st.lists(UPDATES, min_size=1, max_size=6), st.sampled_from([*NAMES, "unheard-of"]))
def test_every_update_that_the_models_can_express_is_understood_or_noted(
    updates: list[dict[str, Any]], agent: str
) -> None:
    talk = AcpTalk(agent).begins()
    for params in updates:
        talk.hears({"jsonrpc": "2.0", "method": "session/update", "params": {**params, "sessionId": SESSION}})  # fmt: skip
    talk.says("42", messageId="m")
    talk.ends(usage={"inputTokens": 1, "outputTokens": 1, "totalTokens": 2})
    assert talk.talk.over
    assert talk.seen(ev.OutputText) == []
    for number, event in enumerate(talk.events):
        entry = JournalEntry(number, 0, event)
        assert decode_entry(encode_entry(entry)) == entry


@pytest.mark.parametrize("method", sorted({*meta.CLIENT_METHODS.values()} - {"session/update"}))
def test_every_request_that_an_agent_can_make_is_answered(method: str) -> None:
    talk = AcpTalk("opencode").begins()
    params = {"sessionId": SESSION, "toolCall": {"toolCallId": "x"}, "options": []}
    talk.hears({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})
    assert list(talk.responses()) == [0]


def test_the_fake_agent_speaks_as_the_models_want_it(capsys: pytest.CaptureFixture[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(acp_agent, "HOME", tmp_path)
    acp_agent.serve({"id": 1, "method": "initialize", "params": {}})
    acp_agent.serve({"id": 2, "method": "session/new", "params": {"mcpServers": []}})
    steps = [["say", "x"], ["call", "c", {"kind": "read"}, "completed"], ["end", "end_turn"]]
    prompt = [{"type": "text", "text": json.dumps(steps)}]
    acp_agent.serve({"id": 3, "method": "session/prompt", "params": {"prompt": prompt}})
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    answers: list[type[BaseModel]] = [
        schema.InitializeResponse, schema.NewSessionResponse, schema.PromptResponse
    ]  # fmt: skip
    for message in said:
        if "method" in message:
            schema.SessionNotification.model_validate(message["params"])
        else:
            answers[message["id"] - 1].model_validate(message["result"])
