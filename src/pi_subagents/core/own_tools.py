"""
The tools of ours that a child can have: to give its answer, and to ask whoever gave it the task.

Their names, and what a model reads of them.  How a child gets them is its engine's matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pi_subagents.core.value import JsonObject

SUBMIT_TOOL, ASK_TOOL = OWN_TOOLS = ("submit_answer", "ask_parent")
TAKEN = "The answer was taken. The task is done."
NOBODY = "Nobody answered. Decide yourself, and say in your answer what you assumed."
NO_RUN = "The run has ended: nobody is there any more."
# They change nothing: an agent that has calls approved, by a person or a model, lets these pass.
_HARMLESS: JsonObject = {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}
_ASK_PARAMETERS: JsonObject = {
    "type": "object",
    "properties": {
        "question": {"type": "string", "description": "Complete in itself."},
        "options": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The answers there are, if few.",
        },
    },
    "required": ["question"],
}


def not_taken(problem: str) -> str:
    """Return what a model reads whose answer does not fit."""
    return f"The answer was not taken: {problem}. Mend it and call {SUBMIT_TOOL} again."


def wrong_question(problem: str) -> str:
    """Return what a model reads whose question is none."""
    return f"Nobody was asked: {problem}."


def how_to_use(tools: Sequence[str]) -> str:
    """Return what follows a prompt whose child has such tools, which its agent may not show."""
    words = {
        SUBMIT_TOOL: f"Give your final answer by calling the tool {SUBMIT_TOOL}, in no other way.",
        ASK_TOOL: f"What only whoever gave you this task can know, ask by the tool {ASK_TOOL}.",
    }
    said = " ".join(words[name] for name in tools)
    return f"({said} It belongs to the MCP server subagents.)" if said else ""


def submit_answer(parameters: Mapping[str, object]) -> JsonObject:
    """Return the tool to give an answer with, as the Model Context Protocol lists it."""
    return {
        "name": SUBMIT_TOOL,
        "description": "Give your final answer, in the form its parameters have. Call it once, "
        "when everything else is done: it ends the task. Give the answer in no other way.",
        "inputSchema": dict(parameters),
        "annotations": _HARMLESS,
    }


def ask_parent() -> JsonObject:
    """Return the tool to ask with, likewise."""
    return {
        "name": ASK_TOOL,
        "description": "Ask whoever gave you the task, and wait for the answer. Only where you "
        "cannot find it out or decide it yourself.",
        "inputSchema": _ASK_PARAMETERS,
        "annotations": _HARMLESS,
    }
