"""The commands of docs/background.md do what is said of them, started by the end of a real run."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import os
import re
import tty
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.driver import PATIENCE_S
from tests.fakes.preset_place import MODEL, PresetPlace

if TYPE_CHECKING:
    from tests.fakes.workplace import Workplace

PAGE = Path(__file__).resolve().parents[2] / "docs" / "background.md"
BLOCK = re.compile(r"^```(?:sh|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECRET = "whsec_" + base64.b64encode(b"only for this test").decode()
# What stands in for a program of the desktop: it says which arguments it got.
SAYS = '#!/bin/sh\nprintf "%s\\n" "$@" > "$SAID"\n'


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}")
    return made


@pytest.fixture
def bin_dir(tmp_path: Path) -> Path:
    made = tmp_path / "recipes"
    made.mkdir()
    return made


def program(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def recipe(bin_dir: Path, title: str) -> str:
    """Return the command of one section, saved as it stands there."""
    _, _, section = PAGE.read_text("utf-8").partition(f"\n### {title}\n")
    (text,) = (
        block for block in BLOCK.findall(section.partition("\n##")[0]) if block.startswith("#!")
    )
    return program(bin_dir / "recipe", text)


async def end_a_run(here: PresetPlace, *command: str) -> str:
    """Return the id of a run at whose end the command is started."""
    here.settings(json.dumps({"subagents": {"on_complete": command}}))
    return await here.answered("look")


@pytest.mark.parametrize(
    ("system", "tool", "arguments"),
    [
        ("Linux", "notify-send", ["--app-name=subagents", "--", "scout: completed"]),
        (
            "Darwin",
            "osascript",
            ["-e", "on run {text}", "-e", 'display notification text with title "subagents"',
             "-e", "end run", "--", "scout: completed"],
        ),
    ],
)  # fmt: skip
async def test_the_desktop_shows_what_ended_and_how(
    here: PresetPlace, bin_dir: Path, system: str, tool: str, arguments: list[str]
) -> None:
    said = bin_dir / "said"
    os.mkfifo(said)
    program(bin_dir / "uname", f"#!/bin/sh\necho {system}\n")
    program(bin_dir / tool, SAYS)
    here.work.secrets |= {"PATH": f"{bin_dir}:{os.defpath}", "SAID": str(said)}
    await end_a_run(here, recipe(bin_dir, "A line on the desktop"))
    async with asyncio.timeout(PATIENCE_S):
        assert (await asyncio.to_thread(said.read_text)).splitlines() == arguments


async def test_the_bell_rings_in_terminals_of_the_user_and_touches_nothing_else(
    here: PresetPlace, bin_dir: Path
) -> None:
    terminals = bin_dir / "terminals"
    terminals.mkdir()
    (terminals / "1 no terminal").write_text("a file")
    (terminals / "2 gone").symlink_to("/no/such/terminal")
    master, terminal = os.openpty()
    try:
        tty.setraw(terminal)
        (terminals / "3 mine").symlink_to(os.ttyname(terminal))
        await end_a_run(here, recipe(bin_dir, "A bell in your terminals"), f"{terminals}/")
        async with asyncio.timeout(PATIENCE_S):
            assert await asyncio.to_thread(os.read, master, 100) == b"\a"
    finally:
        os.close(master)
        os.close(terminal)
    assert (terminals / "1 no terminal").read_text() == "a file"


async def test_the_webhook_is_signed_sent_again_where_it_was_not_taken_and_holds_no_answer(
    here: PresetPlace, bin_dir: Path
) -> None:
    heard: Queue[tuple[dict[str, str], str]] = Queue()
    answers = iter((503, 204))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            heard.put((dict(self.headers), body))
            self.send_response(next(answers))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    (bin_dir / "secret").write_text(f"{SECRET}\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            address = f"http://127.0.0.1:{server.server_address[1]}/hook"
            command = recipe(bin_dir, "A webhook with a signature")
            run_id = await end_a_run(here, command, address, str(bin_dir / "secret"))
            first, again = [await asyncio.to_thread(heard.get, True, PATIENCE_S) for _ in range(2)]
        finally:
            server.shutdown()
    for headers, body in (first, again):
        sent: dict[str, Any] = json.loads(body)
        assert (sent["runId"], sent["status"], "output" in sent) == (run_id, "completed", False)
        names = {name.lower(): text for name, text in headers.items()}
        assert names["webhook-id"] == run_id
        signed = f"{run_id}.{names['webhook-timestamp']}.{body}".encode()
        expected = base64.b64encode(hmac.digest(b"only for this test", signed, "sha256")).decode()
        assert names["webhook-signature"] == f"v1,{expected}"
    assert first[1] == again[1]
