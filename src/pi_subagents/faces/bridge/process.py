"""
The process `subagents bridge`: its wire, its signals, its end.

In: this process's standard input and output.  Out: nothing but the protocol on the latter.  A host
that says goodbye has attached work stopped in good order.  One that vanishes takes this process
along at once: supervisors see their lifelines close, end their children by the ladder and record
the runs as interrupted, which is what they are.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from pi_subagents.core.json_rpc import MAX_LINE_BYTES
from pi_subagents.core.plain_text import one_line
from pi_subagents.faces.bridge.peer import HostPeer, Outbox, Peer
from pi_subagents.faces.bridge.server import Bridge
from pi_subagents.faces.wire import LineWriter, claim_stdio, read_lines
from pi_subagents.service.telemetry.switch import flush_telemetry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.faces.wire import Wire

FLUSH_S = 2.0
MAX_COMPLAINT = 1000


def run_bridge() -> NoReturn:
    """Serve until the host is gone or says goodbye."""
    asyncio.run(_serve_and_leave(claim_stdio()))
    raise AssertionError


async def _serve_and_leave(wire: Wire) -> NoReturn:
    asyncio.get_running_loop().set_exception_handler(_complain)
    await serve(wire, os.environ)
    sys.stderr.flush()
    # Whatever still runs here (a thread that waits, a call whose host is gone) ends now.
    os._exit(0)


async def serve(wire: Wire, env: Mapping[str, str]) -> None:
    """Serve one host to its end; after a goodbye, attached work has ended too."""
    outbox = Outbox(LineWriter(wire.writing))
    host = HostPeer(outbox)
    bridge = Bridge(host, env)
    peer = Peer(host, outbox, bridge)
    _handle_signals(bridge)
    reading = asyncio.create_task(peer.serve(read_lines(wire.reading, MAX_LINE_BYTES)))
    ended = asyncio.create_task(bridge.ended.wait())
    await asyncio.wait({reading, ended}, return_when=asyncio.FIRST_COMPLETED)
    if bridge.ended.is_set():  # a goodbye may have come together with the end of the input
        await bridge.stop()
        host.leave()
        await peer.settled()
        await bridge.close()
        await outbox.close(FLUSH_S)
        flush_telemetry()


def _handle_signals(bridge: Bridge) -> None:
    """End in good order on SIGTERM; Ctrl+C is meant for the host, which passes it on."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, bridge.ended.set)
    # A handler, not SIG_IGN: that would be inherited by every child.
    loop.add_signal_handler(signal.SIGINT, lambda: None)


def _complain(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """Print on standard error, in a line, what went wrong where nobody waited for it."""
    problem = f"{context.get('message', '')}: {context.get('exception', '')!r}"
    print(one_line(problem, MAX_COMPLAINT), file=sys.stderr, flush=True)  # noqa: T201 - for people
