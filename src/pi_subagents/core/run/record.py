"""
One run, with everything that is known of it: its task, what it does, how it ended.

A RunRecord is what every list, table, session text and tool answer is made from.  It is read from a
run's directory or a host's session log, or made of a result that has just arrived; every view of a
run is a function over the record, not a shape of its own.

A record is as full as its reader needs it: only the text of a session loads the messages of a run,
and a list of thousands keeps light records, whose texts are cut (`view/fleet.py`).
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, get_args

from pi_subagents.core import messages as core_messages
from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run import events as ev
from pi_subagents.core.run.outcome import Status
from pi_subagents.core.run.result import count_at, text_at, tool_status
from pi_subagents.core.task.request import is_unnamed
from pi_subagents.core.usage import Usage
from pi_subagents.core.value import value
from pi_subagents.errors.store import SHORT_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run.question import WaitingFor
    from pi_subagents.core.run.result import RunResult

PLANNED = "planned"
MAX_TITLE = 200

StoredMessage = ev.UserMessage | ev.AssistantMessage | ev.ToolFinished


@value
class RunMeta:
    """What was asked, by whom and when; a time of 0 has not come yet, or nobody knows it."""

    session_id: str = ""
    name: str = ""
    task: str = ""  # its beginning, as meta.json has it; all of it beside the run's messages
    cwd: str = ""
    project: str = ""  # the root of the project it was asked for in
    profile: str = ""
    preset: str = ""
    requested_model: str = ""
    resolved_model: str = ""
    engine: str = ""
    child_mode: str = ""
    offline: bool = False
    attached: bool = True  # else it is a background run
    timeout_s: float | None = None
    notes: tuple[str, ...] = ()
    resumed: str = ""  # how its session was to go on, where it is not a new one
    forked_from: str = ""  # the last run that its session has in common with another
    call_id: str = ""  # which it shares with the runs beside it; an old one has none
    cluster: str = ""  # where a worker does it, as people may see the address
    worker: str = ""  # which one, once one has it
    created_at_ms: int = 0
    started_at_ms: int = 0


@value
class RunProgress:
    """How a run stands by its journal."""

    state: str = PLANNED
    usage: Usage = Usage()
    model: str = ""  # only of a run that is followed, as its last line is
    last_line: str = ""


@value
class RunRecord:
    """One run at one look; without a result it goes on, unless it is lost."""

    run_id: str
    meta: RunMeta = RunMeta()
    progress: RunProgress = RunProgress()
    result: RunResult | None = None
    lost: bool = False  # nobody answers for it any more, and its end is not recorded
    messages: tuple[StoredMessage, ...] = ()  # where somebody asked for what was said in it
    elapsed_ms: int = 0  # since it began, when somebody looked; its result knows better
    path: str = ""  # of its directory
    desk: str = ""
    waiting_for: WaitingFor | None = None  # of one at work: it goes on when that is there

    @property
    def question(self) -> WaitingFor | None:
        """What it asks now: it goes on when somebody answers."""
        return self.waiting_for if self.waiting_for is not None and self.waiting_for.asks else None

    @property
    def why_it_waits(self) -> str:
        """What it waits for that nobody can answer: the end of a limit, a place; or nothing."""
        waiting = self.waiting_for
        return waiting.text if waiting is not None and not waiting.asks else ""

    @property
    def active(self) -> bool:
        """Return whether the run may still change."""
        return self.result is None and not self.lost

    @property
    def status(self) -> str:
        """How it stands, in a word of the core."""
        if self.result is not None:
            return self.result.status
        if self.lost:
            return "interrupted"
        # The journal has the end a moment before the supervisor is gone; until then the run can
        # neither be read as ended nor resumed, so no face may call it ended.
        return "stopping" if self.progress.state in get_args(Status) else self.progress.state

    @property
    def tool_status(self) -> str:
        """`running`, `completed` or `error`."""
        return tool_status(self.status)

    @property
    def session_id(self) -> str:
        """The session it belongs to."""
        return self.meta.session_id

    @property
    def name(self) -> str:
        """What its task is called."""
        return self.meta.name

    @property
    def title(self) -> str:
        """What it is called on screens: its own name, else the beginning of its task."""
        unnamed = is_unnamed(self.name, self.meta.preset)
        own = one_line(self.meta.task if unnamed else self.name, MAX_TITLE)
        return own or self.name or self.short_id

    @property
    def short_id(self) -> str:
        """Its id as screens show it."""
        return short_id(self.run_id)

    @property
    def no_answer(self) -> bool:
        """Return whether it completed and said nothing."""
        return self.result is not None and self.result.no_answer

    @property
    def kind(self) -> str:
        """The profile or preset it runs with."""
        return self.meta.profile or self.meta.preset

    @property
    def agent(self) -> str:
        """The engine it has, where that is one of a family: another program than usual."""
        return self.meta.engine if ":" in self.meta.engine else ""

    @property
    def worker(self) -> str:
        """The worker of a cluster that does it, in words; empty where it is done here."""
        return f"worker {self.meta.worker}" if self.meta.worker else ""

    @property
    def model(self) -> str:
        """The model that answered last, as far as it is known."""
        return self.progress.model if self.result is None else self.result.model

    @property
    def model_used(self) -> str:
        """The same with its provider, as far as that is known."""
        return self.progress.model if self.result is None else self.result.model_used

    @property
    def usage(self) -> Usage:
        """What it has used."""
        return self.progress.usage if self.result is None else self.result.usage

    @property
    def output(self) -> str:
        """Its answer, once it ended."""
        return "" if self.result is None else self.result.output

    @property
    def work(self) -> str:
        """What it changed, and whether somebody checked that; empty where neither is known."""
        return "" if self.result is None else self.result.work

    @property
    def exit_code(self) -> int | None:
        """How its child ended, if it did."""
        return None if self.result is None else self.result.exit_code

    @property
    def error_message(self) -> str:
        """Why it failed, where it did."""
        if self.result is not None:
            return self.result.error_message
        return core_messages.INTERRUPTED if self.lost else ""

    @property
    def duration_ms(self) -> int:
        """How long it took, or has taken so far."""
        return self.elapsed_ms if self.result is None else self.result.duration_ms

    @property
    def resumed(self) -> str:
        """How its session goes on, NATIVE or REPLAY; nothing where it is a new one."""
        return self.meta.resumed if self.result is None else self.result.resumed

    @property
    def begun_at_ms(self) -> int:
        """When it began; when it was planned, while it waits its turn."""
        return self.meta.started_at_ms or self.meta.created_at_ms


def short_id(any_id: str) -> str:
    """Return an id of a run or a session as screens show it; any command takes it."""
    return any_id[:SHORT_ID]


def meta_from_json(content: Mapping[str, object]) -> RunMeta:
    """Return what a run's meta.json says, or a host's entry that has its words."""
    timeout, notes = content.get("timeoutS"), content.get("notes")
    return RunMeta(
        session_id=text_at(content, "sessionId"),
        call_id=text_at(content, "callId"),
        name=text_at(content, "name"),
        task=text_at(content, "task"),
        cwd=text_at(content, "cwd"),
        project=text_at(content, "project"),
        profile=text_at(content, "profile"),
        preset=text_at(content, "preset"),
        requested_model=text_at(content, "requestedModel"),
        resolved_model=text_at(content, "resolvedModel"),
        engine=text_at(content, "engine"),
        child_mode=text_at(content, "childMode"),
        offline=content.get("offline") is True,
        attached=content.get("attached") is not False,
        timeout_s=timeout if isinstance(timeout, int | float) else None,
        notes=tuple(map(str, notes)) if isinstance(notes, list) else (),
        resumed=text_at(content, "resumed"),
        forked_from=text_at(content, "forkedFrom"),
        cluster=text_at(content, "cluster"),
        worker=text_at(content, "worker"),
        created_at_ms=count_at(content, "createdAt"),
        started_at_ms=count_at(content, "startedAt"),
    )


class Liveness(Enum):
    """Proved, never assumed: by a lock that the kernel releases when its holder dies."""

    FINISHED = "finished"  # it has a result
    ALIVE = "alive"  # somebody answers for it: whoever planned it, or its supervisor
    LOST = "lost"  # whoever should have written a result is gone
