import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import pi_subagents
from pi_subagents.core.offline.script import parse_script
from pi_subagents.engines.offline.conversations import Conversations
from pi_subagents.engines.offline.http_side import MAX_BODY_BYTES
from pi_subagents.engines.offline.server import OfflineModel
from pi_subagents.engines.offline.wire import models_body

HELLO: dict[str, Any] = {"messages": [{"role": "user", "content": "hello"}]}
STREAM = {**HELLO, "stream": True}
HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    assert [thread.name for thread in threading.enumerate() if "offline" in thread.name] == []


def model(turns: object = None, **options: Any) -> OfflineModel:
    return OfflineModel(None if turns is None else parse_script(turns), **options)


@contextlib.contextmanager
def sent(
    server: OfflineModel,
    body: object,
    *,
    path: str = "/c1/v1/chat/completions",
    headers: dict[str, str] | None = None,
) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(
            "GET" if body is None else "POST", path, None if body is None else raw, headers or {}
        )
        with contextlib.closing(connection.getresponse()) as response:
            yield response
    finally:
        connection.close()


def asked(
    server: OfflineModel, body: object, path: str = "/c1/v1/chat/completions"
) -> tuple[int, Any]:
    with sent(server, body, path=path) as response:
        return response.status, json.loads(response.read())


def said(server: OfflineModel, conversation: str = "c1", body: object = HELLO) -> str:
    status, answer = asked(server, body, f"/{conversation}/v1/chat/completions")
    if status != 200:
        return str(answer["error"]["message"])
    return str(answer["choices"][0]["message"]["content"])


def test_a_stream_ends_with_done():
    with model([{"text": "hi"}]) as server, sent(server, STREAM) as response:
        assert (response.status, response.headers["Content-Type"]) == (200, "text/event-stream")
        events = response.read().decode().split("\n\n")

    assert [
        json.loads(event.removeprefix("data: "))["choices"][0]["delta"] for event in events[:-2]
    ] == [
        {"role": "assistant", "content": ""},
        {"content": "hi"},
        {},
    ]
    assert events[-2:] == ["data: [DONE]", ""]


def test_without_a_script_the_rules_answer():
    tools = [{"type": "function", "function": {"name": "read"}}]
    body = {"messages": [{"role": "user", "content": "read LICENSE"}], "tools": tools}
    with model() as server:
        _, answer = asked(server, body)

    assert answer["choices"][0]["message"] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1_1_0",
                "type": "function",
                "function": {"name": "read", "arguments": '{"path": "LICENSE", "limit": 200}'},
            }
        ],
    }


def test_each_conversation_has_its_own_position():
    with model([{"text": "one"}, {"text": "two"}]) as server:
        assert [
            said(server, "a"),
            said(server, "b"),
            said(server, "a"),
            said(server, "a"),
            said(server, "b"),
        ] == [
            "one",
            "one",
            "two",
            "the script has 2 turns; this is request 3",
            "two",
        ]


def test_running_out_of_turns_is_a_400_that_says_so():
    with model([{"text": "one"}]) as server:
        said(server)
        status, answer = asked(server, HELLO)

    message = "the script has 1 turn; this is request 2"
    assert (status, answer) == (
        400,
        {
            "error": {
                "message": message,
                "type": "invalid_request_error",
                "param": None,
                "code": None,
            }
        },
    )


def test_a_repeated_turn_answers_for_ever():
    with model([{"text": "one"}, {"text": "again", "repeat": True}, {"text": "never"}]) as server:
        assert [said(server) for _ in range(5)] == ["one", "again", "again", "again", "again"]


def test_the_first_prompt_chooses_the_conversations_turns():
    turns = [{"text": "hi"}, {"text": "bye"}]
    with model({"conversations": [{"match": "hello", "turns": turns}]}) as server:
        assert said(server) == "hi"
        assert said(server, body={"messages": []}) == "bye"
        assert said(server, "other", {"messages": []}) == (
            "no conversation of the script matches the prompt, and it has no default"
        )


def test_an_error_has_its_status_and_retry_header_and_the_next_request_goes_on():
    error = {"status": 429, "message": "slow down", "retryAfterS": 2}
    with model([{"error": error}, {"text": "ok"}]) as server:
        with sent(server, STREAM) as response:
            assert (response.status, response.headers["Retry-After"]) == (429, "2")
            assert json.loads(response.read())["error"]["message"] == "slow down"
        assert said(server) == "ok"


def test_a_cut_stream_ends_in_the_middle_of_the_body():
    with (
        model([{"text": "x" * 240, "cut": True}]) as server,
        sent(server, STREAM) as response,
        pytest.raises(http.client.IncompleteRead) as caught,
    ):
        response.read()

    partial = caught.value.partial.decode()
    assert partial.count("data: ") == 6  # role, then five of ten pieces
    assert "[DONE]" not in partial


def test_a_cut_answer_without_a_stream_is_half_of_its_bytes():
    with (
        model([{"text": "x", "cut": True}]) as server,
        sent(server, HELLO) as response,
        pytest.raises(http.client.IncompleteRead),
    ):
        response.read()


def test_requests_are_kept_as_the_model_got_them():
    bodies = [{"messages": [{"role": "user", "content": f"n{n} \u2028 é"}]} for n in range(5)]
    with model([{"repeat": True}], keep_requests=3) as server:
        for body in bodies:
            said(server, body=body)
        assert server.requests("c1") == bodies[2:]
        assert server.requests("nobody") == []


def test_keeping_requests_can_be_turned_off():
    with model([{}], keep_requests=0) as server:
        said(server)
        server.wait_for_request("c1", 1, 5)
        assert server.requests("c1") == []


def test_one_can_wait_for_a_request():
    conversations = Conversations(parse_script([{"repeat": True}]), keep_requests=1)
    waiting = threading.Thread(target=conversations.wait_for_request, args=("c1", 2, 20))
    waiting.start()
    conversations.answer("c1", HELLO)
    conversations.answer("c1", HELLO)
    waiting.join(20)
    assert not waiting.is_alive()
    with pytest.raises(TimeoutError, match=r"^request 3 of c1 did not come$"):
        conversations.wait_for_request("c1", 3, 0)


def test_close_ends_a_delayed_answer_at_once():
    with model([{"delayMs": HOUR_MS}]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("POST", "/c1/v1/chat/completions", json.dumps(HELLO))
        server.wait_for_request("c1", 1, 20)
    with contextlib.closing(connection), pytest.raises(http.client.RemoteDisconnected):
        connection.getresponse()


def test_close_ends_an_open_stream_at_once():
    with (
        model([{"text": "x", "chunkDelayMs": HOUR_MS}]) as server,
        sent(server, STREAM) as response,
    ):
        assert response.readline().startswith(b"data: ")
        server.close()
        with pytest.raises(http.client.IncompleteRead):
            response.read()


def test_a_client_that_goes_away_ends_its_delay(capfd: pytest.CaptureFixture[str]):
    with model([{"delayMs": HOUR_MS}]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("POST", "/c1/v1/chat/completions", json.dumps(HELLO))
        server.wait_for_request("c1", 1, 20)
        (thread,) = [
            thread for thread in threading.enumerate() if thread.name == "offline-model-connection"
        ]
        connection.close()
        thread.join(20)
        assert not thread.is_alive()
    assert capfd.readouterr() == ("", "")


def test_a_client_that_goes_away_in_mid_stream_is_silence(capfd: pytest.CaptureFixture[str]):
    with model([{"fillKB": 20_000}]) as server, sent(server, STREAM) as response:
        assert response.readline().startswith(b"data: ")
    assert capfd.readouterr() == ("", "")


def test_bytes_nobody_asked_for_do_not_end_a_delay():
    raw = json.dumps(HELLO).encode()
    head = b"POST /c1/v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(
        raw
    )
    with (
        model([{"text": "late", "delayMs": 20}]) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection,
    ):
        connection.sendall(head + raw + b"\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"


@pytest.mark.parametrize(
    ("body", "path", "status", "message"),
    [
        (b"{", "/c1/v1/chat/completions", 400, "the request is not JSON: "),
        (b"[" * 100_000, "/c1/v1/chat/completions", 400, "the request is not JSON: "),
        (b"\xff", "/c1/v1/chat/completions", 400, "the request is not JSON: "),
        (
            [],
            "/c1/v1/chat/completions",
            400,
            "the request must be an object with a list of messages",
        ),
        (
            {},
            "/c1/v1/chat/completions",
            400,
            "the request must be an object with a list of messages",
        ),
        (HELLO, "/a.b/v1/chat/completions", 404, "no such address: /a.b/v1/chat/completions"),
        (HELLO, f"/{'a' * 65}/v1/chat/completions", 404, "no such address: /aaa"),
        (HELLO, "/c1/v1/models", 404, "no such address: /c1/v1/models"),
        (None, "/c1/v1/chat/completions", 404, "no such address: /c1/v1/chat/completions"),
    ],
)
def test_a_wrong_request_is_refused_and_takes_no_turn(
    body: object, path: str, status: int, message: str
):
    with model([{"text": "first"}]) as server:
        got, answer = asked(server, body, path)
        assert (got, answer["error"]["message"][: len(message)]) == (status, message)
        assert said(server) == "first"


@pytest.mark.parametrize(
    ("length", "status"), [(str(MAX_BODY_BYTES + 1), 413), ("-1", 411), ("x", 411)]
)
def test_a_body_without_a_sane_length_is_refused_unread(length: str, status: int):
    with model([{}]) as server, sent(server, b"", headers={"Content-Length": length}) as response:
        assert response.status == status


def test_health_models_and_the_default_conversation_have_addresses():
    with model([{"text": "hi"}]) as server:
        assert asked(server, None, "/healthz") == (200, {"status": "ok"})
        assert asked(server, None, "/c1/v1/models?x=1") == (200, models_body())
        assert asked(server, HELLO, "/v1/chat/completions")[0] == 200
        assert server.requests("default") == [HELLO]


def test_an_address_is_loopback_and_names_the_conversation():
    with model() as server:
        assert server.url_for("run_1-a") == f"http://127.0.0.1:{server.port}/run_1-a/v1"
        with pytest.raises(ValueError, match=r"^not a conversation id: '\.\./x'$"):
            server.url_for("../x")


def test_start_and_close_may_be_called_twice_and_the_port_is_gone_after():
    server = model([{}])
    assert server.start().start() is server
    port = server.port
    server.close()
    server.close()
    with pytest.raises(RuntimeError, match=r"^the offline model is not started$"):
        _ = server.port
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_sixteen_conversations_at_once_each_get_their_own_answers():
    with model([{"echo": True, "chunkDelayMs": 1}] * 3) as server:
        wrong: list[str] = []

        def talk(name: str) -> None:
            for n in range(3):
                prompt = f"{name} {n} " * 20
                if (
                    said(server, name, {"messages": [{"role": "user", "content": prompt}]})
                    != prompt
                ):
                    wrong.append(prompt)

        threads = [threading.Thread(target=talk, args=(f"c{n}",)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_serving_alone_returns_when_it_is_told_to_stop(stop: signal.Signals):
    program = (
        "from pi_subagents.engines.offline.serve import serve_forever\n"
        "serve_forever(lambda url: print(url, flush=True))\n"
        "print('returned')"
    )
    source = str(Path(pi_subagents.__file__).parent.parent)
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PYTHONPATH": source},
    ) as process:
        assert process.stdout is not None
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/default/v1\n", process.stdout.readline())
        process.send_signal(stop)
        assert process.communicate(timeout=20)[0] == "returned\n"
    assert process.returncode == 0
