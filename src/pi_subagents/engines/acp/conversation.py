"""
The conversation of one run with an agent that speaks the Agent Client Protocol.

A clock-free state machine: it is given the time (monotonic seconds) and the agent's lines, sends
requests, and knows when to be woken and whether the run is over or was refused.  First the session
is opened and set to what the orders say, then comes the prompt; its answer ends the turn.  Both
sides number their own requests: whose an id is, only the kind of message says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pi_subagents.core import json_rpc
from pi_subagents.core import messages as core_messages
from pi_subagents.core.json_rpc import Broken, Failure, Notification, Request, Response
from pi_subagents.core.profile.permissions import ALLOWED
from pi_subagents.core.run import events as ev
from pi_subagents.core.run import messages as run_messages
from pi_subagents.engines.acp import agent as of_agent
from pi_subagents.engines.acp import messages, opening, wire
from pi_subagents.engines.acp.asks import CANCELLED, OpenAsks
from pi_subagents.engines.acp.catalogue import agent_of
from pi_subagents.engines.acp.kept import kept_session
from pi_subagents.engines.acp.opening import Opening
from pi_subagents.engines.acp.orders import AgentOrders, read_orders
from pi_subagents.engines.acp.reading import as_object, as_text, cost_of
from pi_subagents.engines.acp.requests import Requests
from pi_subagents.engines.acp.steering import Steering
from pi_subagents.engines.acp.turn import AgentTurn, limits_in, plan_events, with_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.usage import Usage
    from pi_subagents.engines.acp.agent import Agent
    from pi_subagents.engines.acp.files import WorkspaceFiles
    from pi_subagents.engines.conversation import Beginning, Channel, Conversation

# How long an agent may take for each request before the prompt; the slowest seen took 5 s.
OPENING_LIMIT_S = 120.0
# How long it may be silent while no call is at work: it retries without a word, some for ever.
SILENCE_LIMIT_S = 600.0
CANCEL_LIMIT_S = 10.0  # how long it may take to end a turn that we gave up
PROMPT, CANCEL, UPDATE = "session/prompt", "session/cancel", "session/update"
STEER, JOIN = "_session/steering", "session/prompt, joining"


class AcpConversation:
    """What one run sends to its agent, and reads from it."""

    repeated: ClassVar[bytes] = b"\n"  # no line begins so: an update's head has the session's id
    can_steer: ClassVar[bool] = False
    can_abort: ClassVar[bool] = True
    can_ask: ClassVar[bool] = True
    can_go_on: ClassVar[bool] = True

    def __init__(self, agent: Agent, channel: Channel) -> None:
        self._agent = agent
        self._out = Requests(channel)
        self._orders = AgentOrders()
        self._opening = Opening(agent, self._orders)
        self._asks = OpenAsks(agent, self._out)
        self._steering = Steering(agent)
        self._files: WorkspaceFiles | None = None  # where they are ours to read and write
        self._turn: AgentTurn | None = None
        self._prompt = ""
        self._on_ready: Callable[[], None] | None = None
        self._on_session: Callable[[bytes], None] | None = None
        self._answer: Mapping[str, Any] | Failure | None = None  # to the prompt of the turn
        self._heard_at: float | None = None  # when something was heard last, or waited for
        self._cost, self._cost_before = 0.0, None if self._orders.resume else 0.0
        self._plans = 0
        self._stopping = self._ended = False
        self._given_up = ""  # why we end the turn ourselves
        self.refusal = ""
        self.over = self.aborted = self.interfered = False
        self.usage: Usage | None = None
        self._news: list[ev.Event] = []

    @property
    def unasked(self) -> bool:
        """Return whether the agent has not been given the prompt yet."""
        return self._turn is None

    @property
    def waiting(self) -> bool:
        """Return whether a question of the agent waits for its answer."""
        return self._asks.waiting

    def begin(self, beginning: Beginning) -> None:
        """Send the first request."""
        self._prompt, self._on_ready = beginning.prompt, beginning.on_ready
        self._on_session = beginning.on_session
        try:
            self._orders = read_orders(beginning.orders)
        except (ValueError, RecursionError):
            self.refuse(messages.ORDERS_UNREADABLE)
            return
        self._opening = Opening(self._agent, self._orders)
        self._asks.permissions = self._orders.permissions
        self._asks.own_tools = self._orders.own_tools
        self._asks.within_s = beginning.answer_within_s
        self._cost_before = None if self._orders.resume else 0.0
        if self._agent.announces_files:
            from pi_subagents.engines.acp.files import WorkspaceFiles

            self._files = WorkspaceFiles(self._orders.cwd, self._orders.permissions)
        self._out.request(*self._opening.first())

    def take_news(self) -> list[ev.Event]:
        """Return what is to be journaled, once."""
        news, self._news = self._news, []
        return news

    def refuse(self, reason: str) -> None:
        """End a conversation that came to nothing."""
        self.refusal, self.over = reason, True

    def why_nothing(self, exit_code: int | None) -> str:
        """Return why the agent did not work on its prompt, if that is known."""
        del exit_code
        return self.refusal

    def advice(self, last_words: str) -> tuple[str, ...]:  # noqa: ARG002 - a refusal has it
        """Know of nothing."""
        return ()

    # What is heard

    def hears(self, line: bytes, now: float) -> tuple[ev.Event, ...]:
        """Take one line of the agent; return the events of this run in it, if any."""
        self._heard_at = now
        match json_rpc.decode(line):
            case Notification(method, params):
                return self._on_notification(method, params)
            case Request(own, method, params):
                return self._on_request(own, method, params, now)
            case Response(own, outcome):
                return self._on_response(own, outcome)
            case Broken(own, failure):
                if own is not None:  # whoever waits for an answer has one
                    self._out.respond(own, failure)
        return (ev.OutputText(line.decode("utf-8", "replace")),)

    def hears_idle(self, line: bytes) -> None:
        """Whatever an agent says between two runs makes it unfit for another."""
        del line
        self.interfered = True

    def unfinished(self) -> tuple[ev.Event, ...]:
        """Return what the agent had begun when its output ended."""
        if self._turn is None or self._ended:
            return ()
        return self._turn.cut_off(self._given_up)

    def _on_notification(self, method: str, params: Mapping[str, Any]) -> tuple[ev.Event, ...]:
        if method == "$/cancel_request":
            self._news += self._asks.withdrawn(params.get("requestId"))
        if method != UPDATE:
            return (ev.Activity(method),)
        update = as_object(params.get("update"))
        kind = as_text(update.get("sessionUpdate"))
        session_id, ours = params.get("sessionId"), self._opening.session_id
        if ours and session_id != ours:
            return (ev.Activity(kind),)  # of a session that it has beside ours
        if kind == "config_option_update":
            self._opening.take_options(update)
        elif kind == "usage_update":
            self._on_cost(as_object(update.get("cost")))
        if self._turn is None or self.over:  # a history, a banner, or what comes too late
            return (ev.Activity(kind),)
        return self._in_turn(self._turn, kind, update) or (ev.Activity(kind),)

    def _in_turn(
        self, turn: AgentTurn, kind: str, update: Mapping[str, Any]
    ) -> tuple[ev.Event, ...]:
        turn.model = self._opening.model
        match kind:
            case "agent_message_chunk":
                return turn.chunk(update)
            case "tool_call" | "tool_call_update":
                events = turn.calls.heard(update, announces=kind == "tool_call")
                self._check_permitted(turn, events)
                return turn.call(events)
            case "plan" | "plan_update":
                self._plans += 1
                return plan_events(self._plans, update)
            case "session_info_update":
                return turn.trouble(update)
        return ()

    def _on_cost(self, cost: Mapping[str, Any]) -> None:
        """Take what the session cost by now; before the prompt it was not for us."""
        if "amount" in cost and as_text(cost.get("currency")) in ("USD", ""):
            self._cost = cost_of(cost["amount"])
            if self.unasked:
                self._cost_before = self._cost

    def _on_request(
        self, own: json_rpc.Id, method: str, params: Mapping[str, Any], now: float
    ) -> tuple[ev.Event, ...]:
        match method:
            case "session/request_permission":
                return self._on_permission(own, params, now)
            case "craft/drainMidTurnQueue" if self._agent.steering == of_agent.BY_DRAIN:
                said = {"messages": self._steering.drain(self._news), "hasQueuedPrompt": False}
                self._out.respond(own, said)
            case "fs/read_text_file" | "fs/write_text_file" if (
                self._files is not None and not self.over
            ):
                self._out.respond(own, self._files.serve(method, params))
            case _:
                self._out.respond(own, Failure(json_rpc.METHOD_NOT_FOUND, messages.NOT_SERVED))
        return (ev.Activity(method),)

    def _on_permission(
        self, own: json_rpc.Id, params: Mapping[str, Any], now: float
    ) -> tuple[ev.Event, ...]:
        turn = self._turn
        if turn is None or self.over or self._stopping:
            self._out.respond(own, CANCELLED)
            return (ev.Activity("session/request_permission"),)
        call, began = turn.calls.asked(as_object(params.get("toolCall")))
        self._news += self._asks.requested(own, params, call, now)
        return turn.call(began)

    def _check_permitted(self, turn: AgentTurn, events: tuple[ev.Event, ...]) -> None:
        """End a turn in which something was done unasked that the profile does not allow."""
        for event in events:
            if isinstance(event, ev.ToolFinished) and not event.failed:
                call = turn.calls.known(event.call_id)
                if call is None or call.allowed:
                    continue
                word = self._orders.permissions.by_kind[call.group]
                if word != ALLOWED and not call.tool_is_one_of(self._orders.own_tools):
                    self._give_up(messages.unpermitted(call.group, call.title))

    # What it answers

    def _on_response(self, own: json_rpc.Id, outcome: object) -> tuple[ev.Event, ...]:
        method = self._out.asked(own)
        if not method:
            self.interfered = True
            return (ev.Activity("response"),)
        if method in (STEER, JOIN):
            self._steering.answered(own, outcome, self._news)
        elif method == PROMPT:
            self._answer = outcome if isinstance(outcome, Failure) else as_object(outcome)
        elif self._turn is None and not self.over:
            self._go_on_opening(method, outcome)
            return (ev.Activity(method),)
        if self._answer is None or JOIN in self._out.pending.values():
            return (ev.Activity(method),)
        return self._on_answered(self._answer)

    def _go_on_opening(self, method: str, outcome: object) -> None:
        if method == opening.INITIALIZE and self._on_ready is not None:
            self._on_ready()
        if self._stopping:
            self.over = self.aborted = True
            return
        following = self._opening.next(method, outcome)
        if self._opening.refusal:
            self.refuse(self._opening.refusal)
        elif following is not None:
            self._out.request(*following)
        else:
            if self._on_session is not None and self._agent.resumes:
                self._on_session(
                    kept_session(self._agent.name, self._opening.session_id, self._orders.cwd)
                )
            self._say_prompt(self._prompt)

    def _say_prompt(self, text: str) -> None:
        self._turn, self._answer = AgentTurn(self._agent, self._opening.model), None
        if self._cost_before is not None:
            self._cost_before = self._cost
        self._out.request(PROMPT, wire.prompt(self._opening.session_id, text))
        for number, steer in self._steering.waiting():
            self._send_steer(number, steer)

    def _on_answered(self, answer: Mapping[str, Any] | Failure) -> tuple[ev.Event, ...]:
        """Return what the turn came to, and that nothing is left to do."""
        turn = self._turn
        assert turn is not None
        cancelled = not isinstance(answer, Failure) and answer.get("stopReason") == "cancelled"
        if self._given_up:
            events = turn.cut_off(self._given_up)
        elif isinstance(answer, Failure):
            events = turn.failed(answer)
        else:
            events = turn.answered(answer, stopping=self._stopping)
        if self._cost_before is not None:
            events = with_cost(events, self._cost - self._cost_before)
        self._steering.close(core_messages.STEER_TOO_LATE, self._news)
        self._news += self._asks.close(run_messages.ASKED_NO_MORE)
        self.over = self._ended = True
        self.aborted = self.aborted or self._stopping
        return (*events, *limits_in(events), ev.Settled(aborted=cancelled and self._stopping))

    # What is asked of it

    def steer(self, number: str, text: str) -> None:
        """Pass a message on, as soon as the agent works; refuse it where that is too late."""
        reason = ""
        if self._stopping or self._given_up:
            reason = core_messages.STEER_NOT_ANY_MORE
        elif self.over:
            reason = core_messages.STEER_TOO_LATE
        if self._steering.takes(number, text, reason, self._news) and not self.unasked:
            self._send_steer(number, text)

    def _send_steer(self, number: str, text: str) -> None:
        given = wire.prompt(self._opening.session_id, text)
        if self._agent.steering == of_agent.BY_PROMPT:
            self._steering.sent(self._out.request(PROMPT, given, known_as=JOIN), number)
        elif self._agent.steering == of_agent.BY_METHOD:
            given["_meta"] = {"steering": {"idleBehavior": "promptRequired"}}
            self._steering.sent(self._out.request(STEER, given), number)

    def go_on(self, text: str) -> None:
        """Ask more in the same session, once it was over."""
        self.over = self._ended = False
        self._say_prompt(text)

    def abort(self) -> None:
        """Ask the agent to end its turn; what it asked meanwhile is answered by us."""
        self._stopping = True
        self._cancel(core_messages.STEER_NOT_ANY_MORE)

    def _give_up(self, why: str) -> None:
        self._given_up = self._given_up or why
        self._cancel(run_messages.ASKED_NO_MORE)

    def _cancel(self, reason: str) -> None:
        if self._turn is not None and not self.over:
            given = {"sessionId": self._opening.session_id}
            self._out.notify(CANCEL, given)
        self._news += self._asks.close(reason)
        self._steering.close(reason, self._news)

    def answer(self, question: str, reply: str, text: str) -> None:
        """Give the agent an answer, or refuse it; the news show which."""
        self._news.append(self._asks.answer(question, reply, text))

    # Time

    def deadline(self) -> float | None:
        """Return when the agent is waited for no longer, or its question is not."""
        if self.waiting:
            return self._asks.deadline()
        if self._heard_at is None or self.over or (limit := self._patience()) is None:
            return None
        return self._heard_at + limit

    def check_time(self, now: float) -> None:
        """Give up waiting where it was long enough."""
        if self.waiting:
            self._news += self._asks.overdue(now)
            self._heard_at = now  # it could not go on meanwhile
            return
        if self._heard_at is None:
            self._heard_at = now
        limit = self._patience()
        if self.over or limit is None or now < self._heard_at + limit:
            return
        self._heard_at = now
        if self._turn is None:
            step = next(iter(self._out.pending.values()), opening.INITIALIZE)
            self.refuse(messages.no_word(step, limit))
        elif self._given_up:
            self._news.append(ev.Note(messages.NO_END))
            self.over = True
        else:
            self._give_up(messages.silent(limit))

    def _patience(self) -> float | None:
        """Return how long the agent may be silent now; None: for ever, a call is at work."""
        if self._turn is None:
            return OPENING_LIMIT_S
        if self._given_up:
            return CANCEL_LIMIT_S
        return None if self._turn.calls.at_work or self._stopping else SILENCE_LIMIT_S


class SteerableConversation(AcpConversation):
    """The same with an agent that takes messages while it works."""

    can_steer: ClassVar[bool] = True


def open_conversation(mode: str, run_id: str, channel: Channel) -> Conversation:
    """Return the conversation of one run with the agent of that name."""
    del run_id
    agent = agent_of(mode)
    made = SteerableConversation if agent.steering else AcpConversation
    return made(agent, channel)
