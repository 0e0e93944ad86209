"""
What is known of an agent on this machine, and whether it answers when it is started.

In: an agent, and how it would be started.  Out: an EngineReport; nothing is raised.  An agent that
is tried is started in an empty directory, asked who it is, and ended with all that it started: no
session is opened, no model asked.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pi_subagents.core import json_rpc
from pi_subagents.core.engine_values import EngineReport
from pi_subagents.core.framing import Line, LineFramer
from pi_subagents.core.json_rpc import Failure, Response
from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.engines.acp import messages, wire
from pi_subagents.engines.acp.opening import INITIALIZE
from pi_subagents.engines.acp.reading import as_object, as_text
from pi_subagents.engines.acp.turn import reason_of
from pi_subagents.errors import AgentNotFound
from pi_subagents.system import tethered
from pi_subagents.system.programs import end_asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.engines.acp.agent import Agent
    from pi_subagents.engines.acp.engine import AcpEngine
    from pi_subagents.engines.base import CallPlace

START_LIMIT_S = 60.0  # the slowest seen took 3 s
END_GRACE_S = 2.0
PACKAGE_DEPTH = 5
MAX_WORDS = 300
MAX_NAME = 60  # characters of a version, a title
_CHUNK = 64 * 1024


def report(engine: AcpEngine, place: CallPlace, *, start: bool) -> EngineReport:
    """Return what is known of an agent."""
    agent = engine.preview(place).agent
    try:
        argv, env = engine.open(place).started()
    except AgentNotFound as error:
        return EngineReport(
            engine.name,
            agent.title,
            login=agent.login,
            problem=f"{error.program} {error.why}",
            fix=error.fix,
        )
    answers: Mapping[str, Any] = {}
    starts, problem = None, ""
    if start:
        answers, problem = ask_who(argv, env, files=agent.announces_files)
        starts = not problem
    said = as_object(answers.get("agentInfo"))
    version, title = (one_line(as_text(said.get(key)), MAX_NAME) for key in ("version", "title"))
    return EngineReport(
        engine.name,
        agent.title or title,
        program=argv[0],
        version=version or version_of(argv[0]),
        logged_in=True if is_logged_in(agent, env) else None,
        login=agent.login,
        starts=starts,
        problem=problem,
        fix=messages.how_to_install(agent.package) if problem else "",
    )


def is_logged_in(agent: Agent, env: Mapping[str, str]) -> bool:
    """Return whether there is a sign of a login: a file of the agent's, or a variable."""
    home = env.get("HOME", "")
    return any(env.get(name) for name in agent.variables) or any(
        home and os.path.exists(os.path.join(home, name))  # noqa: PTH110, PTH118 - any text
        for name in agent.logins
    )


def version_of(program: str) -> str:
    """Return the version of the npm package that a program is part of, if it is of one."""
    for directory in Path(os.path.realpath(program)).parents[:PACKAGE_DEPTH]:
        with suppress(OSError, ValueError, RecursionError):
            manifest = json.loads((directory / "package.json").read_bytes())
            return one_line(as_text(as_object(manifest).get("version")), MAX_NAME)
    return ""


def ask_who(
    argv: Sequence[str], env: Mapping[str, str], *, files: bool = False
) -> tuple[Mapping[str, Any], str]:
    """Return what a started agent says of itself, or why it says nothing."""
    asked = json_rpc.encode_request(1, INITIALIZE, wire.initialize(files=files)) + b"\n"
    deadline = time.monotonic() + START_LIMIT_S
    with (
        tempfile.TemporaryDirectory(prefix="pi-subagents-") as nowhere,
        tempfile.TemporaryFile() as errors,
    ):
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", tethered.__file__, str(os.getpid()), *argv],
                env=dict(env),
                cwd=nowhere,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            return {}, str(error)
        try:
            answer = _answer_of(process, asked, deadline)
        finally:
            end_asked(process, END_GRACE_S)
        if answer is not None:
            return answer
        errors.seek(max(errors.tell() - _CHUNK, 0))
        words = one_line(printable(errors.read().decode("utf-8", "replace")), MAX_WORDS)
        return {}, messages.did_not_start(process.returncode, words)


def _answer_of(
    process: subprocess.Popen[bytes], asked: bytes, deadline: float
) -> tuple[Mapping[str, Any], str] | None:
    """Return the answer, and what is wrong with it; None where none came."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.write(asked)
    lines = LineFramer()
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        while (left_s := deadline - time.monotonic()) > 0 and ready.select(left_s):
            if not (data := os.read(process.stdout.fileno(), _CHUNK)):
                return None
            for frame in lines.feed(data):
                match json_rpc.decode(frame.data) if isinstance(frame, Line) else None:
                    case Response(1, Failure() as failure):
                        return {}, reason_of(failure)
                    case Response(1, outcome):
                        answer = as_object(outcome)
                        version = answer.get("protocolVersion")
                        wrong = version != wire.PROTOCOL
                        return answer, messages.other_protocol(version) if wrong else ""
    return None
