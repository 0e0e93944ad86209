"""The page's server over real run directories, asked as a browser would, and as one would not."""

from __future__ import annotations

import http.client
import json
import re
import socket
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.fleet_place import USAGE, FleetPlace

from pi_subagents.core.run import events as ev
from pi_subagents.errors import PortUnavailable
from pi_subagents.faces.watch import messages, web
from pi_subagents.faces.watch.web import MAX_BODY, WatchServer
from pi_subagents.faces.watch.web_files import POLICY, page_files
from pi_subagents.faces.watch.web_hub import About, Hub
from pi_subagents.service.fleet import Fleet
from pi_subagents.service.fleet_actions import ActionReport, FleetActions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the news are Linux's")


class Noted(FleetActions):
    """Actions that are written down instead of done."""

    def __init__(self) -> None:
        self.done: list[tuple[str, ...]] = []

    def stop(self, run_id: str) -> ActionReport:
        self.done.append(("stop", run_id))
        return ActionReport("stopped")

    def steer(self, run_id: str, message: str) -> ActionReport:
        self.done.append(("steer", run_id, message))
        return ActionReport("read")

    def answer(self, run_id: str, text: str, question: str = "") -> ActionReport:
        self.done.append(("answer", run_id, text, question))
        return ActionReport("answered")

    def resume(self, run_id: str, prompt: str) -> ActionReport:
        self.done.append(("resume", run_id, prompt))
        return ActionReport("why not", bad=True)


class Listening:
    """What a page knows by the events it got."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self._answer = answer
        self._deadline = time.monotonic() + PATIENCE_S
        self.rows: dict[str, Any] = {}
        self.facts: dict[str, Any] = {}
        self.items: list[Any] = []

    def until(self, known: Callable[[Listening], object]) -> None:
        """Listen until something is true of what the page knows."""
        while not known(self):
            assert self.hear(), f"it ended with {self.facts}"
            assert time.monotonic() < self._deadline, f"never so: {self.rows} {self.facts}"

    def hear(self) -> bool:
        """Take one line in; tell whether there was one."""
        line = self._answer.readline()
        if line.startswith(b"data: "):
            event = json.loads(line[6:])
            self.rows |= {row["title"]: row for row in event.pop("rows", [])}
            for gone in event.pop("gone", []):
                self.rows = {name: row for name, row in self.rows.items() if row["runId"] != gone}
            self.items += event.pop("items", [])
            self.facts |= event
        return bool(line)


@dataclass
class Asking:
    """A browser, more or less."""

    server: WatchServer
    hub: Hub
    actions: Noted

    @property
    def token(self) -> str:
        return self.server.guard.token

    def ask(
        self, method: str, target: str, body: str | None = None, **headers: str
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, PATIENCE_S)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, target, body, named)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer, data

    def post(self, what: str, body: str = "{}") -> tuple[int, Any]:
        answer, data = self.ask(
            "POST", f"/{self.token}/{what}", body, Origin=self.server.guard.origin
        )
        return answer.status, json.loads(data) if data else None

    @contextmanager
    def events(self, what: str) -> Iterator[Listening]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, PATIENCE_S)
        connection.request("GET", f"/{self.token}/{what}")
        answer = connection.getresponse()
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/event-stream"
        try:
            yield Listening(answer)
        finally:
            answer.close()
            connection.close()


@pytest.fixture
def place(tmp_path: Path) -> FleetPlace:
    (tmp_path / "project" / ".pi").mkdir(parents=True)
    return FleetPlace(tmp_path / "project", {"HOME": str(tmp_path / "home")})


@pytest.fixture
def asking(place: FleetPlace) -> Iterator[Asking]:
    hub, actions = Hub(Fleet(place.runs, place.env), About("shop", "here")), Noted()
    with WatchServer(0, hub, actions) as server:
        hub.start()
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        yield Asking(server, hub, actions)
        hub.close()
        server.shutdown()
        serving.join(PATIENCE_S)


def test_the_page_may_fetch_nothing_but_its_own_files_and_our_answers(asking: Asking) -> None:
    answer, data = asking.ask("GET", f"/{asking.token}/")
    assert (answer.status, data) == (200, page_files()["page.html"][0])
    assert (
        dict(answer.headers).items()
        >= {
            "Server": "subagents",
            "Content-Type": "text/html; charset=utf-8",
            "Cache-Control": "no-store",
            "Content-Security-Policy": POLICY,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        }.items()
    )
    assert POLICY == (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )


def test_the_files_of_the_page_load_nothing_from_elsewhere_and_write_no_markup() -> None:
    forbidden = re.compile(
        r"https?://|//\w+\.|@import|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\("
        r"|new Function|setAttribute\(\"on|javascript:"
    )
    ours = {name: data for name, (data, _) in page_files().items() if name != "marked.esm.js"}
    found = {name: forbidden.findall(data.decode()) for name, data in ours.items()}
    # The name of SVG, which nobody fetches.
    assert found == {**{name: [] for name in ours}, "dom.js": ["http://"]}
    html = ours["page.html"].decode()
    assert re.findall(r"<(?:script|style|link|img)[^>]*>|\bon\w+=|\bstyle=", html) == [
        '<link rel="icon" href="data:,">',
        '<link rel="stylesheet" href="page/page.css">',
        '<link rel="stylesheet" href="page/run.css">',
        '<link rel="stylesheet" href="page/timeline.css">',
        '<script type="module" src="page/main.js">',
    ]


@pytest.mark.parametrize("name", sorted(page_files()))
def test_every_file_of_the_page_is_served_as_what_it_is(asking: Asking, name: str) -> None:
    answer, data = asking.ask("GET", f"/{asking.token}/page/{name}")
    assert (answer.status, answer.headers["Content-Type"], data) == (
        200,
        *reversed(page_files()[name]),
    )


@pytest.mark.parametrize(
    "name", ["", "../web.py", "%2e%2e/web.py", "marked.LICENSE", "nothing.js", "page.css/", "page/page.css"]
)  # fmt: skip
def test_nothing_else_is_served(asking: Asking, name: str) -> None:
    answer, data = asking.ask("GET", f"/{asking.token}/page/{name}")
    assert (answer.status, data) == (404, b"")


def test_a_change_is_told_at_once(place: FleetPlace, asking: Asking) -> None:
    with asking.events("events") as page:
        page.until(lambda page: page.facts.get("none") == messages.NO_RUNS)
        assert page.facts["about"] == {"project": "shop", "machine": "here"}
        run = place.going_on("new")
        run.does(ev.StateChanged("running"), ev.AssistantMessage("<b>I look.", usage=USAGE))
        page.until(lambda page: page.rows.get("new", {}).get("lastLine") == "<b>I look.")
        row = page.rows["new"]
        assert (row["sign"], row["role"], row["status"]) == ("●", "working", "running")
        assert (row["tokens"], row["cost"]) == ("1.2k", "$0.5000")
        assert page.facts["none"] == ""
        assert page.facts["counts"]["active"] == 1
        assert page.facts["totals"].startswith("1 active · ")
        run.ends()
        page.until(lambda page: page.rows["new"]["active"] is False)
        asking.hub.report(ActionReport("later \x1b[2J", bad=True))
        page.until(lambda page: "notices" in page.facts)
        assert page.facts["notices"] == [{"text": "later ", "bad": True}]


def test_only_what_is_wanted_is_told_and_the_totals_of_what_has_the_words(
    place: FleetPlace, asking: Asking
) -> None:
    place.finished("good one")
    place.finished("bad one", status="failed")
    place.finished("bad two", status="aborted")
    with asking.events("events?which=failed&words=one") as page:
        page.until(lambda page: "bad one" in page.rows)
        page.until(
            lambda page: page.facts["totals"].startswith(
                "0 active · 1 completed · 1 failed · today"
            )
        )
        run = place.going_on("another one")
        page.until(lambda page: page.facts["totals"].startswith("1 active (1 waiting) · "))
        assert list(page.rows) == ["bad one"]
        run.ends()
    with asking.events("events?which=nonsense") as page:
        page.until(lambda page: len(page.rows) == 4)


def test_a_run_that_is_wanted_no_more_or_removed_is_gone(place: FleetPlace, asking: Asking) -> None:
    place.finished("old")
    run = place.going_on("new")
    with asking.events("events?which=active") as page:
        page.until(lambda page: list(page.rows) == ["new"])
        run.ends()
        page.until(lambda page: not page.rows)
        assert page.facts["none"] == messages.NOTHING_WANTED


def test_a_run_is_followed_item_by_item(place: FleetPlace, asking: Asking) -> None:
    run = place.going_on("new", task="Look.\nTwice.", taskLength=12)
    run.does(ev.StateChanged("running"), ev.AssistantMessage("First."))
    with asking.events("events") as page:
        page.until(lambda page: page.rows.get("new", {}).get("lastLine") == "First.")
    with asking.events(f"run/{run.run_dir.run_id}") as page:
        page.until(lambda page: [item["text"] for item in page.items] == ["First."])
        assert (page.facts["task"], page.facts["skipped"]) == ("Look.\nTwice.", 0)
        shown = {key: page.facts["row"][key] for key in ("sign", "word", "title", "hasChanges")}
        assert shown == {"sign": "●", "word": "running", "title": "new", "hasChanges": False}
        run.does(ev.ToolStarted(ev.ToolCall("1", "bash", {"command": "ls"})))
        page.until(lambda page: len(page.items) == 2)
        assert {key: page.items[1][key] for key in ("kind", "id", "title")} == {
            "kind": "call", "id": "1", "title": "bash → ls",
        }  # fmt: skip
        run.ends(output="Done.")
        page.until(lambda page: page.facts["row"]["status"] == "completed")


def test_of_a_flood_a_page_gets_the_newest_and_is_told_how_many_it_missed(
    place: FleetPlace, asking: Asking
) -> None:
    run = place.going_on("new")
    run.does(*(ev.Note(f"line {number}") for number in range(1000)))
    with asking.events("events") as page:
        page.until(lambda page: page.rows.get("new", {}).get("lastLine") == "line 999")
    with asking.events(f"run/{run.run_dir.run_id}") as page:
        page.until(lambda page: page.items)
        assert [item["text"] for item in page.items] == [f"line {n}" for n in range(600, 1000)]
        assert page.facts["skipped"] == 600
        run.ends()


def test_a_run_that_is_not_there_is_said_to_be_missing(asking: Asking) -> None:
    with asking.events("run/nothing") as page:
        while page.hear():
            pass
        assert (page.items, page.facts) == ([], {"missing": messages.NO_SUCH_RUN})


def test_questions_about_a_journal_are_answered(place: FleetPlace, asking: Asking) -> None:
    run = place.going_on("new")
    call = ev.ToolCall("1", "edit", {"path": "a.py", "oldText": "a", "newText": "b"})
    run.does(ev.ToolStarted(call), ev.ToolFinished("1", "edit", "Edited.", failed=False))
    run.does(*(ev.Note(f"line {number}") for number in range(10)))
    run.ends(usage=USAGE)
    run_id = run.run_dir.run_id
    with asking.events("events") as page:
        page.until(lambda page: "new" in page.rows)

    def asked(what: str) -> Any:
        answer, data = asking.ask("GET", f"/{asking.token}/{what}")
        return (answer.status, json.loads(data) if data else None)

    status, items = asked(f"items/{run_id}?near=3")
    seqs = [item["seq"] for item in items["items"]]
    assert (status, items["earlier"], items["later"]) == (200, False, False)
    assert seqs == sorted(seqs)
    assert asked(f"item/{run_id}?seq={seqs[0]}") == (200, {
        "arguments": [["path", "a.py"], ["oldText", "a"], ["newText", "b"]],
        "diff": "--- a.py\n@@\n-a\n+b", "output": "Edited.", "failed": False, "done": True,
    })  # fmt: skip
    status, hits = asked(f"hits/{run_id}?words=LINE+7")
    assert [hit["text"] for hit in hits] == ["line 7"]
    status, bars = asked(f"bars?runs={run_id},nothing")
    assert [(bar["runId"], len(bar["segments"])) for bar in bars] == [(run_id, 1)]
    assert asked(f"spending?runs={run_id}") == (200, [])


@pytest.mark.parametrize(
    "what",
    [
        "items/{}", "items/{}?near=x", "items/{}?near=-1", "items/{}?other=1", "items/nothing?near=1",
        "items/{}?near=" + "9" * 5000, "item/{}", "item/{}?seq=99999", "other/{}", "hits/nothing?words=a",
        "items/{}/1?near=1", "bars/{}", "transcript/{}",
    ],
)  # fmt: skip
def test_what_is_no_question_gets_nothing(place: FleetPlace, asking: Asking, what: str) -> None:
    run = place.finished("new")
    with asking.events("events") as page:
        page.until(lambda page: "new" in page.rows)
    answer, data = asking.ask("GET", f"/{asking.token}/{what.format(run.run_id)}")
    assert (answer.status, data) == (404, b"")


def test_an_answer_is_given_to_the_question_that_was_read(asking: Asking) -> None:
    given = '{"message": "2", "question": "1"}'
    assert asking.post("answer/1", given) == (200, {"text": "answered", "bad": False})
    assert asking.actions.done == [("answer", "1", "2", "1")]


def test_actions_are_done_and_told(asking: Asking) -> None:
    assert asking.post("stop/1") == (200, {"text": "stopped", "bad": False})
    assert asking.post("resume/1", '{"prompt": "go on"}') == (200, {"text": "why not", "bad": True})
    assert asking.post("steer/1", '{"message": "look"}') == (200, {"text": "read", "bad": False})
    assert asking.actions.done == [("stop", "1"), ("resume", "1", "go on"), ("steer", "1", "look")]


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("stop/1", ""), ("stop/1", "["), ("stop/1", "[]"), ("stop/1", "[" * 100_000),
        ("resume/1", "{}"), ("resume/1", '{"prompt": 7}'), ("other/1", "{}"), ("stop", "{}"),
        ("stop/1/2", "{}"), ("", "{}"), ("answer/1", "{}"), ("steer/1", "{}"), ("steer/1", '{"message": 7}'),
    ],
)  # fmt: skip
def test_what_is_no_action_is_not_done(asking: Asking, what: str, body: str) -> None:
    assert asking.post(what, body) == (404, None)
    assert asking.actions.done == []


@pytest.mark.parametrize("length", [str(MAX_BODY + 1), "9" * 5000, "²", "-1", "+1", ""])
def test_a_body_that_is_too_large_or_of_no_size_is_not_read(
    asking: Asking, capfd: pytest.CaptureFixture[str], length: str
) -> None:
    with socket.create_connection(("127.0.0.1", asking.server.server_port), PATIENCE_S) as client:
        head = (
            f"POST /{asking.token}/stop/1 HTTP/1.1\r\nHost: 127.0.0.1:{asking.server.server_port}\r\n"
            f"Origin: {asking.server.guard.origin}\r\nContent-Length: {length}\r\n\r\n"
        )
        client.sendall(head.encode())
        assert client.recv(100).startswith(b"HTTP/1.1 404 ")
    assert (asking.actions.done, capfd.readouterr().err) == ([], "")


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/", {}),
        ("/wrong/", {}),
        ("/wrong/events", {}),
        ("/{token}x/stop/1", {}),
        ("/{token}x/steer/1", {}),
        ("/{token}/stop/1", {"Host": "localhost:{port}"}),
        ("/{token}/", {"Host": "evil.test"}),
        ("/{token}/events", {"Host": "evil.test:{port}"}),
        ("/{token}/stop/1", {"Origin": "http://evil.test"}),
        ("/{token}/events", {"Origin": "null"}),
    ],
)  # fmt: skip
def test_whoever_is_not_the_page_gets_nothing(
    asking: Asking, method: str, target: str, headers: dict[str, str]
) -> None:
    known = {"token": asking.token, "port": asking.server.server_port}
    filled = {name: value.format(**known) for name, value in headers.items()}
    answer, data = asking.ask(method, target.format(**known), "{}", **filled)
    assert (answer.status, data) == (404, b"")
    assert asking.actions.done == []


@pytest.mark.parametrize(
    "request_text",
    [
        "PUT /{token}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n",
        "GET /{token}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.test\r\n\r\n",
        "GET /{token}/ HTTP/1.1\r\n\r\n",
        "nonsense\r\n\r\n",
        "GET /{token}/ HTTP/9.9\r\n\r\n",
    ],
)
def test_what_is_no_proper_request_gets_nothing(asking: Asking, request_text: str) -> None:
    port = asking.server.server_port
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as client:
        client.sendall(request_text.format(token=asking.token, port=port).encode())
        answer = b"".join(iter(lambda: client.recv(4096), b""))
    assert b"<" not in answer
    assert asking.token.encode() not in answer


def test_programs_of_other_users_are_not_even_heard(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web, "is_own_peer", lambda *_: False)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        asking.ask("GET", f"/{asking.token}/")


def test_a_page_too_many_waits_for_nothing(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking.server, "places", threading.BoundedSemaphore(1))
    with asking.events("events") as page:
        page.until(lambda page: page.facts)
        answer, _ = asking.ask("GET", f"/{asking.token}/events")
        assert answer.status == 503


def test_a_page_that_goes_away_makes_room(
    asking: Asking, place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = threading.BoundedSemaphore(1)
    monkeypatch.setattr(asking.server, "places", places)
    with asking.events("events") as page:
        page.until(lambda page: page.facts)
    deadline = time.monotonic() + PATIENCE_S
    while not places.acquire(blocking=False):
        assert time.monotonic() < deadline
        asking.hub.report(ActionReport("are you there?"))
    places.release()


def test_a_port_that_is_taken_is_refused(asking: Asking) -> None:
    with pytest.raises(PortUnavailable, match=str(asking.server.server_port)):
        WatchServer(asking.server.server_port, asking.hub, asking.actions)


def test_each_server_has_a_token_of_its_own(asking: Asking) -> None:
    with WatchServer(0, asking.hub, asking.actions) as other:
        assert len(other.guard.token) == 43
        assert other.guard.token != asking.token


def test_a_view_that_cannot_follow_ends_and_says_why(
    place: FleetPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet(place.runs, place.env)

    def broken(_: object) -> None:
        raise OSError("no ears")

    monkeypatch.setattr(fleet, "follow", broken)
    hub = Hub(fleet)
    hub.start()
    with pytest.raises(OSError, match="no ears"):
        hub.wait_for_end()
    assert hub.over
