"""
Ask a pi which models it has.

In: how a child would be started.  Out: the models, as pi lists them in RPC mode with the child's
own trust, options and extensions; ModelsUnknown if it does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.engines.pi.asking import ask_pi
from pi_subagents.engines.pi.models import messages
from pi_subagents.engines.pi.models.names import parse_models
from pi_subagents.errors import ModelsUnknown

if TYPE_CHECKING:
    from pi_subagents.core.models import Model
    from pi_subagents.engines.pi.models.config import ChildSetup

LIMIT_S = 20.0
COMMAND = "get_available_models"
_MAX_ERROR = 500


def ask_models(setup: ChildSetup, *, limit_s: float = LIMIT_S) -> tuple[Model, ...]:
    """Start pi, ask, end pi; ModelsUnknown says what went wrong and what pi wrote about it."""
    trust = "--approve" if setup.trusted else "--no-approve"
    # No MCP server has models to tell of.
    options = (trust, *setup.traits.without_mcp, *setup.arguments)
    argv = (*setup.pi_argv, "--mode", "rpc", "--no-session", *options)
    answers = ask_pi(argv, (COMMAND,), env=setup.env, cwd=setup.cwd, limit_s=limit_s)
    if answers.reason:
        raise ModelsUnknown(answers.reason, answers.output)
    models = _models(answers.replies[COMMAND])
    if setup.traits.has_slashed_providers:
        return models
    # An older pi takes what stands before the first slash for the provider.
    return tuple(model for model in models if "/" not in model.provider)


def _models(reply: dict[str, object]) -> tuple[Model, ...]:
    if reply.get("success") is not True:
        raise ModelsUnknown(one_line(str(reply.get("error")), _MAX_ERROR))
    data = reply.get("data")
    models = data.get("models") if isinstance(data, dict) else None
    if not isinstance(models, list):
        raise ModelsUnknown(messages.MODELS_IN_UNKNOWN_FORM)
    return parse_models(models)
