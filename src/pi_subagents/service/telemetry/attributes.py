"""
A run in the words of the semantic conventions for generative AI (`gen_ai.*`), and in a few of ours.

In: planned tasks, results, tool calls.  Out: attributes.  What somebody wrote (prompts, answers,
arguments, error messages) is only in what is named content here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.run import events as ev
    from pi_subagents.core.run.result import RunResult
    from pi_subagents.service.delegation import PlannedTask

OPERATION = "gen_ai.operation.name"
CALL, RUN, TOOL = "invoke_workflow", "invoke_agent", "execute_tool"
ERROR = "error.type"
TOOL_ERROR = "tool_error"
CANCELLED = "cancelled"
STATUS = "pi_subagents.run.status"
REASON = "pi_subagents.wait.reason"
WAITED = "pi_subagents.wait.duration"
WORKFLOW = "pi_subagents"
MAX_CONTENT = 32_768  # characters of one text

# Providers that the conventions call otherwise than most programs do.
_PROVIDERS = {
    "amazon-bedrock": "aws.bedrock",
    "azure-openai-responses": "azure.ai.openai",
    "google": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}


def of_call(count: int) -> dict[str, Any]:
    """Return what a call is."""
    return {OPERATION: CALL, "gen_ai.workflow.name": WORKFLOW, "pi_subagents.tasks": count}


def agent_of(run: PlannedTask) -> str:
    """Return what kind of agent a run has: its profile or preset, else its engine."""
    profile = run.needs.profile
    return (profile.name if profile else "") or run.task.profile or run.spec.child.engine


def of_run(run: PlannedTask) -> dict[str, Any]:
    """Return what is known of a run before it begins."""
    return _said(
        {
            OPERATION: RUN,
            "gen_ai.agent.name": agent_of(run),
            "gen_ai.conversation.id": run.spec.session_id,
            "gen_ai.provider.name": _provider(run.spec.child.provider),
            "gen_ai.request.model": requested_model(run),
            "pi_subagents.run.id": run.spec.run_id,
            "pi_subagents.task.name": run.task.name,
            "pi_subagents.engine": run.spec.child.engine,
        }
    )


def requested_model(run: PlannedTask) -> str:
    """Return the model that was asked for, where one was."""
    profile = run.needs.profile
    return run.task.model or (profile.model if profile else "")


def of_result(run: PlannedTask, result: RunResult) -> dict[str, Any]:
    """Return how a run ended, and what it used."""
    usage = result.usage
    known = _said(
        {
            STATUS: result.status,
            ERROR: "" if result.completed else result.status,
            "gen_ai.provider.name": _provider(result.provider or run.spec.child.provider),
            "gen_ai.response.model": result.model,
            "gen_ai.response.finish_reasons": (result.stop_reason,) if result.stop_reason else (),
        }
    )
    if not usage.total_tokens and not usage.cost:  # the child did not say, or used nothing
        return known
    return {
        **known,
        "gen_ai.usage.input_tokens": input_tokens(result),
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write,
        "pi_subagents.cost": usage.cost,
        "pi_subagents.cost.billed": usage.cost_is_billed,
    }


def input_tokens(result: RunResult) -> int:
    """Return the tokens that the model was given; by the conventions also those from a cache."""
    usage = result.usage
    return usage.input + usage.cache_read + usage.cache_write


def for_metrics(run: PlannedTask, result: RunResult) -> dict[str, Any]:
    """Return by what metrics of runs are told apart: few things with few values."""
    kept = (OPERATION, "gen_ai.agent.name", "gen_ai.provider.name", "gen_ai.request.model",
            "gen_ai.response.model", STATUS, ERROR)  # fmt: skip
    known = {**of_run(run), **of_result(run, result)}
    return {name: known[name] for name in kept if name in known}


def of_tool(call_id: str, name: str) -> dict[str, Any]:
    """Return what a tool call is."""
    return _said(
        {
            OPERATION: TOOL,
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.type": "function",
        }
    )


def prompt_content(run: PlannedTask) -> dict[str, Any]:
    """Return what was asked of a run."""
    return {"gen_ai.input.messages": _messages("user", run.task.prompt)}


def answer_content(result: RunResult) -> dict[str, Any]:
    """Return what it answered, and what is said of its failure."""
    answer = _messages("assistant", result.answer, result.stop_reason or "stop")
    return _said({"gen_ai.output.messages": answer, "error.message": result.error_message})


def arguments_content(call: ev.ToolCall) -> dict[str, Any]:
    """Return the arguments of a tool call."""
    arguments = json.dumps(dict(call.arguments or {}), ensure_ascii=False, default=str)
    return {"gen_ai.tool.call.arguments": arguments[:MAX_CONTENT]}


def result_content(event: ev.ToolFinished) -> dict[str, Any]:
    """Return what a tool answered."""
    return {"gen_ai.tool.call.result": event.text[:MAX_CONTENT]}


def _messages(role: str, text: str, finish: str = "") -> str:
    message: dict[str, Any] = {
        "role": role,
        "parts": [{"type": "text", "content": text[:MAX_CONTENT]}],
    }
    if finish:
        message["finish_reason"] = finish
    return json.dumps([message], ensure_ascii=False)


def _provider(name: str) -> str:
    return _PROVIDERS.get(name, name)


def _said(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is not known."""
    return {name: known for name, known in attributes.items() if known not in ("", ())}
