"""
What is said to an agent before its prompt: who we are, how it logs in, which session, set to what.

A clock-free machine of requests in a row: it says which one is next, and takes its answer.  In: the
answers.  Out: the session's id, or the reason why there is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_subagents.core.json_rpc import Failure
from pi_subagents.core.plain_text import one_line
from pi_subagents.engines.acp import messages, wire
from pi_subagents.engines.acp.agent import METHOD
from pi_subagents.engines.acp.reading import (
    SessionOption,
    as_object,
    as_objects,
    as_text,
    listed,
    member,
    session_options,
)
from pi_subagents.engines.acp.turn import reason_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pi_subagents.engines.acp.agent import Agent
    from pi_subagents.engines.acp.orders import AgentOrders

INITIALIZE, AUTHENTICATE = "initialize", "authenticate"
NEW, LOAD, RESUME = "session/new", "session/load", "session/resume"
SET_OPTION, SET_MODE, SET_MODEL = (
    "session/set_config_option",
    "session/set_mode",
    "session/set_model",
)
_OPENS = (NEW, LOAD, RESUME)
MAX_MODEL = 160  # characters of a model's name
MAX_OFFERED = 12  # values that a refusal names
MAX_WAYS = 6  # of logging in

Asking = tuple[str, dict[str, object]]  # a method and its parameters


class Opening:
    """From `initialize` to the prompt."""

    def __init__(self, agent: Agent, orders: AgentOrders) -> None:
        self._agent = agent
        self._orders = orders
        self._capabilities: Mapping[str, Any] = {}
        self._ways: list[Mapping[str, Any]] = []
        self._authenticated = False
        self._settings: list[Asking] = []
        self._options: tuple[SessionOption, ...] = ()
        self.session_id = ""
        self.model = ""
        self.refusal = ""

    def first(self) -> Asking:
        """Return what is said first."""
        return INITIALIZE, wire.initialize(files=self._agent.announces_files)

    def next(self, method: str, outcome: object) -> Asking | None:
        """Take an answer; return what is said next, or None: the prompt, or a refusal."""
        if isinstance(outcome, Failure):
            return self._on_failure(method, outcome)
        result = as_object(outcome)
        if method == INITIALIZE:
            if (version := result.get("protocolVersion")) != wire.PROTOCOL:
                return self._refused(messages.other_protocol(version))
            self._capabilities = as_object(result.get("agentCapabilities"))
            self._ways = list(as_objects(result.get("authMethods")))
            return self._open()
        if method == AUTHENTICATE:
            return self._open()
        if method in _OPENS:
            self.session_id = as_text(result.get("sessionId")) or self._orders.resume
            if not self.session_id:
                return self._refused(messages.NO_SESSION_ID)
            self.take_options(result)
            self._settings = list(self._wanted(result))
        elif method == SET_OPTION:
            self.take_options(result)
        elif method == SET_MODEL:
            self.model = self._orders.model
        return None if self.refusal or not self._settings else self._settings.pop(0)

    def take_options(self, given: Mapping[str, Any]) -> None:
        """Take what a session is set to, which may change by itself."""
        if "configOptions" in given:
            self._options = session_options(given["configOptions"])
        models = listed(given.get("models"), "availableModels", "model")
        found = self._option("model") or models
        if found is not None and found.current:
            self.model = one_line(found.current, MAX_MODEL)

    def _open(self) -> Asking | None:
        """Return what opens the session, anew or as it was."""
        orders = self._orders
        given = wire.open_session(orders.cwd, orders.servers, orders.session)
        if not orders.resume:
            return NEW, given
        again = {**orders.session, "sessionId": orders.resume}
        given = wire.open_session(orders.cwd, orders.servers, again)
        if member(self._capabilities, "sessionCapabilities", "resume") is not None:
            return RESUME, given
        if self._capabilities.get("loadSession") is True:
            return LOAD, given
        return self._refused(messages.no_native_resume(orders.resume))

    def _on_failure(self, method: str, failure: Failure) -> Asking | None:
        needs_login = method in _OPENS and failure.code == wire.AUTH_REQUIRED
        if needs_login and not self._authenticated and (way := self._way_without_browser()):
            self._authenticated = True
            return AUTHENTICATE, {"methodId": way}
        if needs_login or method == AUTHENTICATE:
            offered = [one_line(_words(way), 160) for way in self._ways[:MAX_WAYS]]
            return self._refused(messages.not_logged_in(self._agent.login, offered))
        return self._refused(messages.step_failed(method, reason_of(failure)))

    def _way_without_browser(self) -> str:
        """Return a way to log in that only needs variables which are set."""
        for way in self._ways:
            way_id = as_text(way.get("id"))
            named = [as_text(each.get("name")) for each in as_objects(way.get("vars"))]
            needed = named if way.get("type") == "env_var" else [self._agent.keys.get(way_id, "")]
            if way_id and needed and all(each in self._orders.variables for each in needed):
                return way_id
        return ""

    def _wanted(self, result: Mapping[str, Any]) -> Iterator[Asking]:
        """Yield what the session is to be set to; refuse what it does not offer."""
        orders, session = self._orders, {"sessionId": self.session_id}
        if orders.mode:
            modes = listed(result.get("modes"), "availableModes", "mode")
            offered = modes or self._option("mode")
            # One that asks about everything is only needed where something is not allowed.
            has_it = offered is not None and offered.meant(orders.mode) is not None
            if has_it or orders.permissions.restricted:
                if modes is None:
                    yield from self._by_option("mode", orders.mode)
                elif value := self._offers("mode", modes, orders.mode):
                    yield SET_MODE, {**session, "modeId": value}
        if orders.model:
            models = listed(result.get("models"), "availableModels", "model")
            if self._agent.model_by == METHOD or self._option("model") is None:
                if value := self._offers("model", models, orders.model):
                    yield SET_MODEL, {**session, "modelId": value}
            else:
                yield from self._by_option("model", orders.model)
        if orders.thinking:
            yield from self._by_option("thought_level", orders.thinking)

    def _by_option(self, category: str, wanted: str) -> Iterator[Asking]:
        option = self._option(category)
        if (value := self._offers(category, option, wanted)) and option is not None:
            given = {"configId": option.option_id, "value": value}
            yield SET_OPTION, {"sessionId": self.session_id, **given}

    def _offers(self, category: str, option: SessionOption | None, wanted: str) -> str:
        """Return the value that is meant; refuse where there is none."""
        value = option.meant(wanted) if option else None
        if value is None:
            offered = option.values[:MAX_OFFERED] if option else ()
            self._refused(messages.not_offered(_CALLED[category], wanted, offered))
        return value or ""

    def _option(self, category: str) -> SessionOption | None:
        return next((each for each in self._options if each.category == category), None)

    def _refused(self, reason: str) -> Asking | None:
        self.refusal = self.refusal or reason
        return None


_CALLED = {"mode": "mode", "model": "model", "thought_level": "thinking level"}


def _words(way: Mapping[str, Any]) -> str:
    named = (as_text(way.get("name")), as_text(way.get("description")))
    return ": ".join(filter(None, named)) or as_text(way.get("id"))
