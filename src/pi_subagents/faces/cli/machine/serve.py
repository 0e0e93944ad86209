"""
`subagents mcp`, `bridge` and `offline-model`: serve MCP hosts, pi's extension, or the model alone.

In: requests on standard input, or on loopback.  Out: answers, until the other side closes its end
or a signal comes; children of calls end first.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pi_subagents.errors import McpNotInstalled
from pi_subagents.faces.cli import messages, options
from pi_subagents.faces.cli.given import FiniteRange, offline_choice

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from mcp.server.lowlevel import Server

    from pi_subagents.faces.cli.console import Console
    from pi_subagents.service.call import Options

_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command("mcp")
@click.option("--http", is_flag=True, help="Serve streamable HTTP on loopback, not stdin/stdout.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8765,
    show_default=True,
    help="0 picks a free one.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File with the bearer token, mode 0600 (default: mcp-token in the data directory, "
    "made on first use).",
)
@click.option(
    "--answer-within",
    type=FiniteRange(0, 86_400),
    default=50,
    show_default=True,
    metavar="SECONDS",
    help="Hosts cut off long calls: a delegation that takes longer is reported as still running, "
    "with its session ids, and goes on. 0 waits until it is done.",
)
@click.option(
    "--cwd",
    type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
    help="Directory to work in (default: where the host starts this).",
)
@options.child_options
@options.json_option
@click.pass_obj
def mcp(
    console: Console,
    *,
    http: bool,
    port: int,
    token_file: Path | None,
    answer_within: float,
    cwd: Path | None,
    chosen: Options,
    as_json: bool,
) -> None:
    """
    Serve all tools to an MCP host: Claude Code, Codex, Cursor, VS Code, Zed, Gemini CLI, ...

    A host starts this itself, once it is configured: `subagents install HOST` does that.

    \b
    Examples:
      subagents install claude-code
      subagents mcp --http --port 8765     # one server for several hosts
    """  # noqa: D301 - the backspace is click's mark for "do not re-wrap"
    chosen["cwd"] = cwd or Path.cwd()
    within = answer_within or None
    if http:
        _serve_http(console, chosen, within, port=port, token_file=token_file, as_json=as_json)
    else:
        _serve_stdio(console, chosen, within)


@click.command("bridge")
@click.pass_obj
def bridge(console: Console) -> None:
    """
    Serve pi's extension: JSON-RPC 2.0, a JSON object per line, on standard input and output.

    The extension starts it itself; docs/bridge.md describes the protocol. It ends when its input
    does, and so does every sub-agent of a call; background runs go on.
    """
    from pi_subagents.service.machine.head_start import import_lean_asyncio

    import_lean_asyncio()
    from pi_subagents.faces.bridge.process import run_bridge

    if sys.stdin.isatty():
        console.notice(messages.BRIDGE_IS_FOR_PI)
    run_bridge()


@click.command("offline-model")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: any free port.")
@click.option(
    "--script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Answer with scripted turns from this JSON file.",
)
@options.json_option
@click.pass_obj
def offline_model(console: Console, *, port: int, script: Path | None, as_json: bool) -> None:
    """
    Serve the offline model on loopback until Ctrl+C.

    It speaks the OpenAI chat-completions protocol, so that anything that can be pointed at a base
    URL can use it. It follows rules or a script; it is not a language model.
    """
    from pi_subagents.service.machine.setup import serve_offline_model

    chosen = offline_choice(offline=True, script=script)

    def ready(url: str, model: str) -> None:
        if as_json:
            console.json({"baseUrl": url, "model": model})
        else:
            console.answer(f"Serving model `{model}` at {url} (Ctrl+C stops it)")

    serve_offline_model(ready, port=port, script=None if isinstance(chosen, bool) else chosen)


def _serve_stdio(console: Console, chosen: Options, within: float | None) -> None:
    from pi_subagents.faces.wire import claim_stdio

    if os.isatty(0):
        console.notice(messages.MCP_NEEDS_HOST)
    wire = claim_stdio()  # before the library is loaded: nothing of it may print there either
    _load()
    from pi_subagents.faces.mcp_server.stdio import serve_stdio

    _run(lambda server: serve_stdio(server, wire), chosen, within)


def _serve_http(
    console: Console,
    chosen: Options,
    within: float | None,
    *,
    port: int,
    token_file: Path | None,
    as_json: bool,
) -> None:
    from pi_subagents.service.machine.server_token import server_token

    where, token = server_token(token_file, os.environ)
    _load()
    from pi_subagents.faces.mcp_server.http import listen, serve_http

    def ready(url: str) -> None:
        if as_json:
            console.json({"url": url, "tokenFile": str(where)})
        console.notice(messages.serving_mcp(url, str(where)))

    listening = listen(port)
    _run(lambda server: serve_http(server, listening, token, ready), chosen, within)


def _load() -> None:
    """Load the protocol's library: a second of work, less while nothing is collected."""
    gc.disable()
    try:
        import mcp.server.lowlevel  # noqa: F401 - for its effect: the rest finds it loaded
    except ModuleNotFoundError as missing:
        if (missing.name or "").split(".")[0] != "mcp":
            raise
        raise McpNotInstalled from missing
    gc.freeze()
    gc.enable()


def _run(
    serve: Callable[[Server[Any]], Coroutine[None, None, None]],
    chosen: Options,
    within: float | None,
) -> None:
    """Serve until the host closes its end or a signal comes; then see the children end."""
    import asyncio

    from pi_subagents.faces.mcp_server.calls import McpCalls
    from pi_subagents.faces.mcp_server.server import build_server

    calls = McpCalls(chosen, within)

    async def until_closed() -> None:
        loop = asyncio.get_running_loop()
        signalled = asyncio.Event()
        for number in _ENDING_SIGNALS:
            loop.add_signal_handler(number, signalled.set)
        serving = asyncio.create_task(serve(build_server(calls, chosen)))
        waiting = asyncio.create_task(signalled.wait())
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        for number in _ENDING_SIGNALS:  # a second signal ends this at once, and every child with it
            loop.remove_signal_handler(number)
        await calls.close()  # first: whoever waits for them may hear how they ended
        waiting.cancel()
        serving.cancel()
        await asyncio.wait({serving, waiting})
        await calls.close()
        if not serving.cancelled():
            serving.result()

    asyncio.run(until_closed())
