"""
The conversation of one run with a pi in RPC mode.

A clock-free state machine: it is given the time (monotonic seconds) and the child's lines, sends
commands, and knows when to be woken and whether the run is over or was refused.  First the session,
where one is wanted, then its orders, then the prompt; the child's own account comes after its last
event, and it can be asked more after that.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from pi_subagents.core import messages as core_messages
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.core.usage import Usage, usage_from_json
from pi_subagents.engines.pi import messages, rpc
from pi_subagents.engines.pi.dialogs import OpenDialogs
from pi_subagents.engines.pi.limits import LimitReports
from pi_subagents.engines.pi.records import REPEATED, advice_on, as_mapping, events_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.engines.conversation import Beginning, Channel

# From the child's answer that it took a command to what must follow; measured: 10 ms.
START_LIMIT_S = 10.0
ACCOUNT_LIMIT_S = 1.0


class Stage(Enum):
    """How far the conversation is."""

    GREETING = "greeting"  # it is up once it answers anything
    SWITCHING = "switching"  # to a session of its own; what is read until then is another run's
    ORDERING = "ordering"  # what our extension in the child is to do for this run
    PROMPTING = "prompting"
    STARTING = "starting"  # the prompt was taken, work has not begun
    WORKING = "working"
    COUNTING = "counting"  # settled: the account is asked for
    OVER = "over"


# What is read in these stages is not about this run.
_BEFORE_PROMPT = (Stage.GREETING, Stage.SWITCHING, Stage.ORDERING)
# A question then belongs to the run, and pi goes on when it is answered.
_ANSWERABLE = (Stage.PROMPTING, Stage.STARTING, Stage.WORKING)


class RpcConversation:
    """
    What one run sends to its child, and reads from it.

    `ids` begins every command's id, so that an answer to another run's command is known as such.
    """

    repeated: ClassVar[bytes] = REPEATED
    can_steer: ClassVar[bool] = True
    can_abort: ClassVar[bool] = True
    can_ask: ClassVar[bool] = True
    can_go_on: ClassVar[bool] = True
    advice = staticmethod(advice_on)

    def __init__(self, ids: str, channel: Channel) -> None:
        self._ids = ids
        self._channel = channel
        self._dialogs = OpenDialogs(channel)
        self._limits = LimitReports()
        self._prompt = self._orders = ""
        self._session: str | None = None
        self._on_ready: Callable[[], None] | None = None
        self._deadline: float | None = None
        self._steers: dict[str, str] = {}  # on their way, by number
        self._numbers: set[str] = set()  # of messages that came; one may be announced twice
        self._asked: Counter[str] = Counter()  # commands that are yet to be answered, by their ids
        self._stopping = False
        # pi reads nothing until its extensions have begun: one that waits for an answer gets none,
        # and pi then exits, with 0, because nothing is left for it to do.
        self._is_up = self._asked_too_early = False
        self._prompt_read = False  # the child's first user message is its prompt
        self.stage = Stage.PROMPTING
        self.refusal = ""
        self.aborted = False  # the child has done what an abort asked of it
        self.interfered = False  # it answered a command that was never given
        self.usage: Usage | None = None
        self._news: list[ev.Event] = []

    @property
    def over(self) -> bool:
        """Return whether nothing more is to be read."""
        return self.stage is Stage.OVER

    @property
    def unasked(self) -> bool:
        """Return whether the child has not been given the prompt yet."""
        return self.stage in _BEFORE_PROMPT

    @property
    def waiting(self) -> bool:
        """Return whether a question of the child waits for its answer."""
        return self._dialogs.waiting

    def begin(self, beginning: Beginning) -> None:
        """Send the first command: a greeting, where the caller waits for the child to be up."""
        self._dialogs.within_s = beginning.answer_within_s
        self._prompt, self._session = beginning.prompt, beginning.session
        self._orders = beginning.orders
        self._on_ready = beginning.on_ready
        self._is_up, self._deadline = beginning.is_up, None
        if self._on_ready is not None:
            self.stage = Stage.GREETING
            self._send("get_state")
        else:
            self._open_session()

    def take_news(self) -> list[ev.Event]:
        """Return what is to be journaled, once."""
        news, self._news = self._news, []
        return news

    def hears(self, line: bytes, now: float) -> tuple[ev.Event, ...]:
        """Take one line of the child; return the events of this run in it, if there are any."""
        event = self.take(rpc.decode_rpc_line(line), now)
        return () if event is None else self._limits.added(line, events_in(line, event))

    def unfinished(self) -> tuple[ev.Event, ...]:
        """Know of nothing: pi says in the end what it said in parts."""
        return ()

    def hears_idle(self, line: bytes) -> None:
        """Take one line between two runs: no command is open then, and nobody sees a dialog."""
        heard = rpc.decode_rpc_line(line)
        self.interfered |= isinstance(heard, rpc.Answered)
        if isinstance(heard, rpc.DialogAsked):
            self._channel.send(rpc.dismissal(heard.dialog_id))

    def take(self, heard: rpc.Heard, now: float) -> ev.Event | None:
        """Take a record; return it if it is an event of this run."""
        match heard:
            case rpc.Answered():
                self._on_answer(heard, now)
                return None
            case rpc.DialogAsked():
                self._asked_too_early = not self._is_up
                answerable = self._is_up and self.stage in _ANSWERABLE and not self._stopping
                self._news.append(self._dialogs.opened(heard, now, answerable=answerable))
                return None
            case rpc.WorkBegan():
                self._on_work()
                return None
            case ev.UserMessage(text):
                self._on_user_message(text)
            case ev.Settled(aborted):
                self.aborted = self.aborted or (aborted and not self.unasked)
                self._on_settled(now)
        return None if self.unasked else heard

    def why_nothing(self, exit_code: int | None) -> str:
        """Return why the child did not work on its prompt, if that is known."""
        if self._asked_too_early and exit_code == 0:
            return messages.ASKED_TOO_EARLY
        return self.refusal

    def deadline(self) -> float | None:
        """Return when the child is waited for no longer, or its question is not."""
        return self._dialogs.deadline() if self.waiting else self._deadline

    def check_time(self, now: float) -> None:
        """Give up waiting where it was long enough."""
        if self.waiting:
            self._news += self._dialogs.overdue(now)
            # It could not go on meanwhile: what must follow has as long as ever.
            self._deadline = now + START_LIMIT_S if self._deadline else None
            return
        opening = self.stage in (Stage.SWITCHING, Stage.ORDERING)
        if opening and self._is_up and self._deadline is None:
            self._deadline = now + START_LIMIT_S
        if self._deadline is None or now < self._deadline:
            return
        match self.stage:
            case Stage.COUNTING:
                self._end()
            case Stage.SWITCHING:
                self.refuse(messages.SESSION_NOT_OPENED)
            case Stage.ORDERING:
                self.refuse(messages.ORDERS_NOT_TAKEN)
            case _:
                self.refuse(messages.NO_RUN_STARTED)

    # Messages for a child at work

    def steer(self, number: str, text: str) -> None:
        """Pass a message on, as soon as the child works; refuse it where that is too late."""
        if number in self._numbers:
            return
        self._numbers.add(number)
        if self._stopping:
            self._refuse_steer(number, text, core_messages.STEER_NOT_ANY_MORE)
        elif self.stage in (Stage.COUNTING, Stage.OVER):
            self._refuse_steer(number, text, core_messages.STEER_TOO_LATE)
        else:
            self._steers[number] = text
            if self.stage is Stage.WORKING:
                self._send_steer(number)

    def go_on(self, text: str) -> None:
        """Ask more in the same session, once it was over."""
        self._say_prompt(rpc.compose_prompt(text))

    def abort(self) -> None:
        """Ask the child to stop what it does; queued messages would make it go on."""
        self._stopping = True
        self._send("clear_queue")
        self._send("abort")
        self._news += self._dialogs.close(core_messages.STEER_NOT_ANY_MORE)  # it waits for them

    def answer(self, question: str, reply: str, text: str) -> None:
        """Give the child an answer, or refuse it; the news show which."""
        self._news.append(self._dialogs.answer(question, reply, text))

    def _send_steer(self, number: str) -> None:
        self._send("steer", f"steer-{number}", message=rpc.compose_prompt(self._steers[number]))

    def _refuse_steer(self, number: str, text: str, reason: str) -> None:
        self._news.append(ev.Steer(number, ev.REFUSED, text, reason))

    # What the child answers

    def _on_answer(self, answer: rpc.Answered, now: float) -> None:
        self._is_up, self._asked_too_early = True, False
        self._asked[answer.command_id] -= 1
        self.interfered |= self._asked[answer.command_id] < 0
        if not answer.command_id.startswith(f"{self._ids}-"):
            return  # to a command of another run
        name = answer.command_id.removeprefix(f"{self._ids}-")
        if name == "get_state" and self.stage is Stage.GREETING:
            assert self._on_ready is not None
            self._on_ready()
            self._open_session()
        elif name == "switch_session" and self.stage is Stage.SWITCHING:
            if answer.error or answer.data.get("cancelled") is True:
                self.refuse(answer.error or messages.SESSION_REFUSED)
            else:
                self._give_orders()
        elif name == "orders" and self.stage is Stage.ORDERING:
            if answer.error or answer.data.get("disposition", "handled") != "handled":
                self.refuse(answer.error or messages.ORDERS_NOT_TAKEN)
            else:
                self._say_prompt(self._prompt)
        elif name == "prompt" and self.stage is Stage.PROMPTING:
            if answer.error:
                self.refuse(answer.error)
            elif answer.data.get("disposition") == "handled":
                self.refuse(messages.NO_RUN_STARTED)  # newer pis report it at once
            else:
                self.stage, self._deadline = Stage.STARTING, now + START_LIMIT_S
        elif name == "get_session_stats" and self.stage is Stage.COUNTING:
            self.usage = None if answer.error else _account(answer.data)
            self._end()
        elif name == "abort":
            self.aborted = True
        elif name.startswith("steer-") and answer.error:
            number = name.removeprefix("steer-")
            reason = messages.steer_refused_by_child(answer.error)
            if number in self._steers:
                self._refuse_steer(number, self._steers.pop(number), reason)

    def _open_session(self) -> None:
        if self._session is None:
            self._give_orders()
        else:
            self.stage = Stage.SWITCHING
            self._send("switch_session", sessionPath=self._session)

    def _give_orders(self) -> None:
        if not self._orders:
            self._say_prompt(self._prompt)
        elif not self._stopping:
            self.stage, self._deadline = Stage.ORDERING, None
            self._send("prompt", "orders", message=rpc.orders_prompt(self._orders))

    def _say_prompt(self, prompt: str) -> None:
        if not self._stopping:
            self.stage, self._deadline = Stage.PROMPTING, None
            self._send("prompt", message=prompt)

    def _on_work(self) -> None:
        if self.stage in (Stage.PROMPTING, Stage.STARTING) and not self._stopping:
            for number in self._steers:
                self._send_steer(number)
        if self.stage not in (*_BEFORE_PROMPT, Stage.OVER):
            self.stage, self._deadline = Stage.WORKING, None

    def _on_user_message(self, text: str) -> None:
        if self.stage in _BEFORE_PROMPT:
            return
        if not self._prompt_read:
            self._prompt_read = True
            return
        for number, steer in self._steers.items():
            if rpc.compose_prompt(steer).strip() == text.strip():
                self._news.append(ev.Steer(number, ev.DELIVERED, steer))
                del self._steers[number]
                return

    def _on_settled(self, now: float) -> None:
        if self.stage is not Stage.WORKING:
            return
        if self._steers:
            self._send("clear_queue")  # pi would keep them for the next prompt
        for number, text in self._steers.items():
            self._refuse_steer(number, text, core_messages.STEER_TOO_LATE)
        self._steers.clear()
        self._news += self._dialogs.close(run_messages.ASKED_NO_MORE)
        self._send("get_session_stats")
        self.stage, self._deadline = Stage.COUNTING, now + ACCOUNT_LIMIT_S

    def refuse(self, reason: str) -> None:
        """End a conversation that came to nothing."""
        self.refusal = reason
        self._end()

    def _end(self) -> None:
        self.stage, self._deadline = Stage.OVER, None

    def _send(self, name: str, own_id: str = "", **fields: object) -> None:
        command_id = f"{self._ids}-{own_id or name}"
        self._asked[command_id] += 1
        self._channel.send(rpc.command(name, command_id, **fields))


def _account(stats: Mapping[str, object]) -> Usage:
    """Return what a whole session used: messages, tools that report usage, summaries."""
    counted = as_mapping(stats.get("tokens"))
    return usage_from_json(
        {**counted, "totalTokens": counted.get("total"), "cost": stats.get("cost")}
    )
