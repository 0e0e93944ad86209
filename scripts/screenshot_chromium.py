# ruff: noqa: INP001 - scripts are files, not a package
"""
A real browser without a window: open a page, press keys, ask what it shows, take a picture.

Spoken to over two pipes (the DevTools protocol), so that no port is opened and the browser ends
when we do.  Its profile is a temporary directory.  Nothing sleeps: the page is asked until it says
yes.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = next(filter(shutil.which, ("chromium", "chromium-browser", "google-chrome")), None)
PATIENCE_S = 30.0
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--hide-scrollbars", "--no-first-run", "--disable-background-networking",
    "--disable-extensions", "--disable-sync",
    "--remote-debugging-pipe",
)  # fmt: skip
# It finds its two pipes under the numbers 3 and 4.
_WITH_PIPES = 'commands=$1 answers=$2; shift 2; exec "$@" 3<"$commands" 4>"$answers"'


class Browser:
    """One page."""

    def __init__(self, commands: int, answers: int, pid: int = 0) -> None:
        self.pid = pid
        self._commands = commands
        self._answers = answers
        self._number = 0
        self._read = b""
        self._session = ""
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        attached = self._send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        self._send("Page.enable")
        self._send("Runtime.enable")

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        """Give the page a size, and colours."""
        self._send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Go to an address."""
        self._send("Page.navigate", url=address)

    def at_start(self, script: str) -> None:
        """Run a script in every page that is opened from now on, before any of its own."""
        self._send("Page.addScriptToEvaluateOnNewDocument", source=script)

    def asks(self, expression: str) -> Any:
        """Return what a JavaScript expression is, on the page; of a promise what it becomes."""
        answer = self._send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, expression: str) -> Any:
        """Return what an expression is as soon as it is true."""
        deadline = time.monotonic() + PATIENCE_S
        while not (value := self.asks(expression)):
            assert time.monotonic() < deadline, f"never true: {expression}\n{self.text()}"
        return value

    def text(self) -> str:
        """Return all that the page says."""
        return str(self.asks("document.body?.innerText"))

    def sees(self, text: str) -> None:
        """Wait until the page says something."""
        self.until(f"document.body?.innerText?.includes({json.dumps(text)})")

    def press(self, key: str, *, ctrl: bool = False, shift: bool = False) -> None:
        """Press one key, by its name in the browser."""
        typed = {"text": key} if len(key) == 1 and not ctrl else {}
        if key == "Enter":
            typed = {"text": "\r"}
        code = {"Enter": 13, "Escape": 27, "ArrowDown": 40}.get(key, ord(key[0].upper()))
        about = {
            "key": key, "modifiers": 2 * ctrl + 8 * shift, "windowsVirtualKeyCode": code,
        }  # fmt: skip
        self._send("Input.dispatchKeyEvent", type="keyDown", **about, **typed)
        self._send("Input.dispatchKeyEvent", type="keyUp", **about)

    def types(self, text: str) -> None:
        """Type into what has the focus."""
        self._send("Input.insertText", text=text)

    def click(self, selector: str) -> None:
        """Click on the first such element."""
        self.asks(f"document.querySelector({json.dumps(selector)}).click()")

    def picture(self) -> bytes:
        """Return what is to be seen, as a PNG."""
        return base64.b64decode(self._send("Page.captureScreenshot", format="png")["data"])

    def _send(self, method: str, **parameters: object) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._read:
            piece = os.read(self._answers, 1 << 20)
            assert piece, "the browser is gone"
            self._read += piece
        message, _, self._read = self._read.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded


@contextmanager
def a_browser() -> Iterator[Browser]:
    """Have one, and be rid of it."""
    assert PROGRAM is not None
    with tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True) as profile:
        commands, answers = Path(profile) / "commands", Path(profile) / "answers"
        os.mkfifo(commands)
        os.mkfifo(answers)
        # Both ways, so that opening waits for nobody.
        ours = [os.open(path, os.O_RDWR | os.O_CLOEXEC) for path in (commands, answers)]
        process = subprocess.Popen(
            ["sh", "-c", _WITH_PIPES, "sh", commands, answers, PROGRAM, *FLAGS,
             f"--user-data-dir={profile}/profile", "about:blank"],
            env={"PATH": os.environ["PATH"], "HOME": profile, "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            yield Browser(ours[0], ours[1], process.pid)
        finally:
            os.killpg(process.pid, 9)
            process.wait()
            for descriptor in ours:
                os.close(descriptor)
