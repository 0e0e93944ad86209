"""
Prompts a host offers its user: common ways to put sub-agents to work.

In: a prompt's name and arguments.  Out: the text that begins a turn of the main agent.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_subagents.core.value import value
from pi_subagents.service.tools.registry import TOOLS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


@value
class PromptDef:
    """A prompt: what it is for, its arguments (name -> what it says), its text."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, str]
    text: str


PROMPTS = (
    PromptDef(
        "parallel-review",
        "Review in parallel",
        "Several sub-agents review the same thing from different sides; one list of findings.",
        {"subject": "What to review: files, a diff, a design."},
        "Review {subject} with sub-agents that work side by side.\n\n"
        "1. Choose three to five independent points of view that fit it (for example correctness, "
        "security, tests, clarity, performance).\n"
        "2. Call delegate_to_subagents once, with a task per point of view. Each prompt must be "
        "complete in itself: what to look at, what to look for, and to answer with findings that "
        "name file and line. Give files as `files` where you know them.\n"
        "3. Read every answer (get_subagent_output; if some still run, with waitSeconds).\n"
        "4. Check each finding against the code yourself before you repeat it. Then give one list, "
        "the gravest first, without duplicates, and say which you could not confirm.",
    ),
    PromptDef(
        "scout-then-work",
        "Scout first, then work",
        "A sub-agent explores and reports, you plan, then sub-agents do the parts.",
        {"goal": "What is to be done."},
        "Goal: {goal}\n\n"
        "1. Let one sub-agent explore what the goal touches (delegate_to_subagents with one task, "
        "with a read-only profile if list_subagent_profiles has one): which files, how they work "
        "together, what is risky. It changes nothing.\n"
        "2. Turn its report into a short plan. Parts that touch different files may be done side "
        "by side; parts that depend on each other may not.\n"
        "3. Delegate the independent parts in one call, a task each, with the findings that each "
        "needs in its prompt.\n"
        "4. Read the results, look at what changed, run the tests, and go on with a session "
        "(`resume`) where something is missing.",
    ),
    PromptDef(
        "in-the-background",
        "Leave it running",
        "Start long work in the background, go on here, and look at it later.",
        {"task": "The work to leave running.", "preset": "The preset to run it with."},
        "Start this with background_agent, preset {preset}: {task}\n\n"
        "Tell me the run id and go on with what we are doing. When I ask, or before you rely on "
        "it, look with background_agent_status (runId, waitSeconds) and tell truthfully whether "
        "it is done, failed or still running.",
    ),
)


def prompts_for(tools: Collection[str]) -> list[PromptDef]:
    """Return the prompts that name no other tools than these."""
    left_out = [name for name in TOOLS if name not in tools]
    return [
        prompt
        for prompt in PROMPTS
        if not any(re.search(rf"\b{name}\b", prompt.text) for name in left_out)
    ]


def prompt_text(prompt: PromptDef, given: Mapping[str, str]) -> str:
    """Return the text with its arguments filled in; KeyError names the one that is missing."""
    return prompt.text.format_map({name: given[name] for name in prompt.arguments})
