"""
Serve the offline model on loopback, OpenAI-compatible, streaming.

Contract: listens on 127.0.0.1 only; `/<conversation>/v1` is one child's own conversation;
prints nothing; a client that goes away is silence; close() ends open streams at once and
leaves no thread.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any, Self

from pi_subagents.engines.offline.conversations import CONVERSATION, Conversations
from pi_subagents.errors import NoMoreProcesses

if TYPE_CHECKING:
    from pi_subagents.core.offline.script import Script
    from pi_subagents.engines.offline.http_side import Server

HOST = "127.0.0.1"
KEPT_REQUESTS = 64


class OfflineModel:
    """
    A model server for children: rules without a script, else the script's turns.

    `keep_requests` is how many decoded request bodies each conversation remembers for
    `requests()`; 0 keeps none.
    """

    def __init__(
        self, script: Script | None = None, *, port: int = 0, keep_requests: int = KEPT_REQUESTS
    ) -> None:
        self._conversations = Conversations(script, keep_requests=keep_requests)
        self._wanted_port = port
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> Self:
        """Listen and serve in the background; raises OSError when the port is taken."""
        # http.server pulls in the email package: only those who serve pay for it
        from pi_subagents.engines.offline.http_side import Server

        if self._server is not None:
            return self
        self._server = Server((HOST, self._wanted_port), self._conversations)
        self._thread = threading.Thread(
            target=self._server.serve_forever,
            kwargs={"poll_interval": 0.05},  # how long close() may wait for the listener
            name="offline-model",
            daemon=True,
        )
        try:
            self._thread.start()
        except RuntimeError as error:  # no more threads may be started
            self._server.server_close()
            self._server = self._thread = None
            raise NoMoreProcesses(str(error)) from error
        return self

    def close(self) -> None:
        """Stop listening, end open streams, wait for every thread; safe to call twice."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is None or thread is None:
            return
        server.shutdown()
        thread.join()
        server.end_connections()
        server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        """The port it listens on."""
        if self._server is None:
            raise RuntimeError("the offline model is not started")
        return self._server.server_port

    def url_for(self, conversation: str) -> str:
        """Return the base address of a conversation, as URL_VARIABLE carries it to pi."""
        if re.fullmatch(CONVERSATION, conversation) is None:
            raise ValueError(f"not a conversation id: {conversation!r}")
        return f"http://{HOST}:{self.port}/{conversation}/v1"

    def requests(self, conversation: str) -> list[dict[str, Any]]:
        """Return the last request bodies of a conversation, oldest first."""
        return self._conversations.requests(conversation)

    def wait_for_request(self, conversation: str, number: int, timeout_s: float) -> None:
        """Return once the conversation has had so many requests; raises TimeoutError."""
        self._conversations.wait_for_request(conversation, number, timeout_s)
