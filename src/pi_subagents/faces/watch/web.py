"""
The view in a browser: a server on loopback for one page, alive as long as the command is.

In: connections that the guard admits.  Out: the page, its events, answers to its actions.  All of
it is one process with threads of its own: however that ends, nothing of it is left.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import socketserver
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pi_subagents.core.plain_text import shown_name
from pi_subagents.errors import PortUnavailable
from pi_subagents.faces.loopback_peer import is_own_peer
from pi_subagents.faces.watch import messages
from pi_subagents.faces.watch.web_answers import answer_to
from pi_subagents.faces.watch.web_files import FOLDER, PAGE, POLICY, page_files
from pi_subagents.faces.watch.web_guard import LOOPBACK, Admitted, PageGuard
from pi_subagents.faces.watch.web_hub import About, Hub
from pi_subagents.faces.watch.web_stream import list_events, run_events
from pi_subagents.service.fleet_actions import ActionReport, FleetActions
from pi_subagents.view.fleet import WHICH, Wanted, Which

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.fleet import Fleet

MAX_BODY = 1024 * 1024
MAX_CONNECTIONS = 64
IDLE_S = 3600.0
ARRIVAL_S = 10.0  # for a request
UNREAD_S = 60.0  # for a page that reads nothing any more
_SIZE = re.compile(r"[0-9]{1,18}")  # int() fails on thousands of digits


def serve(console: Console, fleet: Fleet, *, port: int, open_browser: bool) -> None:
    """Serve until Ctrl+C."""
    hub = Hub(fleet, About(shown_name(fleet.project), shown_name(socket.gethostname())))
    actions = FleetActions(Path.cwd(), os.environ, hub.report)
    with WatchServer(port, hub, actions) as server:
        hub.start()
        # It has nothing to look after: a connection wakes it, and the end of the process ends it.
        serving = partial(server.serve_forever, poll_interval=IDLE_S)
        threading.Thread(target=serving, name="page", daemon=True).start()
        address = server.guard.address
        try:
            console.notice(messages.HOW_TO_END)
            console.answer(messages.serving(address))
            if open_browser:
                actions.open_on_desktop(address)
            hub.wait_for_end()
        except KeyboardInterrupt:
            console.notice(messages.CLOSING)
        finally:
            hub.close()


class WatchServer(ThreadingHTTPServer):
    """A server for one user's pages."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, hub: Hub, actions: FleetActions) -> None:
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise PortUnavailable(port, str(error)) from error
        self.hub = hub
        self.actions = actions
        self.guard = PageGuard(self.server_address[1], secrets.token_urlsafe(32))
        self.places = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def server_bind(self) -> None:
        """Bind without HTTPServer's name lookup, which can take seconds where DNS is absent."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Let only this user's programs connect, where the kernel shows whose they are."""
        del request
        address, port = client_address
        return is_own_peer(address, port, self.server_port)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Stay silent about browsers that went away; report anything else as the base does."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """One connection, one request: every answer closes it."""

    protocol_version = "HTTP/1.1"
    timeout = ARRIVAL_S

    @property
    def _watch(self) -> WatchServer:
        return cast("WatchServer", self.server)

    def do_GET(self) -> None:
        """Answer with the page, or with events for as long as the page listens."""
        asked = self._admitted()
        if asked is None:
            self._send(404)
            return
        match asked.words:
            case ("",):
                self._send(200, *page_files()[PAGE])
            case (folder, name) if folder == FOLDER and name in page_files():
                self._send(200, *page_files()[name])
            case ("events",):
                self._stream(list_events(self._watch.hub, _wanted(asked)))
            case ("run", run_id):
                self._stream(run_events(self._watch.hub, run_id))
            case ("changes", run_id):
                self._report(self._watch.actions.changes(run_id))
            case words:
                answer = answer_to(self._watch.hub, words, asked.query)
                found = (200, answer, "application/json") if answer is not None else (404,)
                self._send(*found)

    def do_POST(self) -> None:
        """Do something to a run, and report how it went."""
        asked = self._admitted()
        body = self._body() if asked else None
        if asked is None or body is None:
            self._send(404)
            return
        prompt, message = body.get("prompt"), body.get("message")
        actions = self._watch.actions
        match asked.words:
            case ("stop", run_id):
                self._report(actions.stop(run_id))
            case ("apply", run_id):
                self._report(actions.apply(run_id))
            case ("discard", run_id):
                self._report(actions.discard(run_id))
            case ("steer", run_id) if isinstance(message, str):
                self._report(actions.steer(run_id, message))
            case ("answer", run_id) if isinstance(message, str):
                self._report(actions.answer(run_id, message, str(body.get("question", ""))))
            case ("resume", run_id) if isinstance(prompt, str):
                self._report(actions.resume(run_id, prompt))
            case _:
                self._send(404)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is no request of ours without a word about it."""
        del code, message, explain
        self._send(404)

    def version_string(self) -> str:
        """Name no versions."""
        return "subagents"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Log nothing: an address with its token belongs into no log."""

    def _admitted(self) -> Admitted | None:
        names = [name.title() for name in self.headers]
        if any(names.count(name) > 1 for name in ("Host", "Origin")):
            return None
        headers = {name: self.headers.get(name, "") for name in names}
        return self._watch.guard.admit(self.command, self.path, headers)

    def _body(self) -> dict[str, object] | None:
        length = self.headers.get("Content-Length", "")
        if not _SIZE.fullmatch(length) or int(length) > MAX_BODY:
            return None
        try:
            value = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def _report(self, report: ActionReport) -> None:
        data = json.dumps({"text": report.text, "bad": report.bad}).encode("ascii")
        self._send(200, data, "application/json")

    def _stream(self, events: Iterable[bytes]) -> None:
        if not self._watch.places.acquire(blocking=False):
            self._send(503)
            return
        try:
            self._head(200, "text/event-stream")
            self.connection.settimeout(UNREAD_S)
            for event in events:
                self.wfile.write(event)
        finally:
            self._watch.places.release()

    def _send(self, status: int, data: bytes = b"", kind: str = "text/plain") -> None:
        self._head(status, kind, len(data))
        self.wfile.write(data)

    def _head(self, status: int, kind: str, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": kind,
            "Cache-Control": "no-store",
            "Content-Security-Policy": POLICY,
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }.items():
            self.send_header(name, value)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.close_connection = True


def _wanted(asked: Admitted) -> Wanted:
    which = asked.query.get("which", "")
    known: Which = next((each for each in WHICH if each == which), "all")
    return Wanted(asked.query.get("words", ""), known)
