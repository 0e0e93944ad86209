"""
The offline model's brain: plain requests in, real tool calls and answers out.

In: the messages of a chat and the names of the child's tools.  Out: a Turn, either tool calls
or a text.  Pure and total: any JSON gives a Turn.  It never states what no tool has printed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.offline.script import ScriptedCall, Turn
from pi_subagents.engines.offline.answers import answer_for
from pi_subagents.engines.offline.chat import last_user_text, tool_results
from pi_subagents.engines.offline.commands import ToolMissing, plan_call
from pi_subagents.engines.offline.understand import understand

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pi_subagents.engines.offline.asks import Ask
    from pi_subagents.engines.offline.chat import ToolResult

ABILITIES = """\
I am the offline stand-in of pi-subagents: I follow a few fixed rules and am not a language model.
I understand requests such as:
- list docs
- count the Python files in src, count the lines in README.md
- find *.toml, find the Markdown files in docs
- search for TODO in src
- read pyproject.toml, read the first 20 lines of README.md
- summarise the headings of README.md
several of them joined by "and" or "then"."""

_SHOWN_FAILURE = 1000
_SHOWN_CLAUSE = 80
_SHOWN_CLAUSES = 3


def reply_to(
    messages: Sequence[object], tools: frozenset[str], *, one_at_a_time: bool = False
) -> Turn:
    """Return tool calls to make now, or the final answer, which follows from their results."""
    understood = understand(last_user_text(messages))
    if not understood.asks:
        return Turn(f"I did not understand the request, so I did nothing.\n\n{ABILITIES}")
    plans = [(ask, plan_call(ask, tools)) for ask in understood.asks]
    calls = tuple(plan for _, plan in plans if isinstance(plan, ScriptedCall))
    results = tool_results(messages)
    if one_at_a_time and len(results) < len(calls):
        return Turn(tool_calls=calls[len(results) :][:1])
    if calls and not results:
        return Turn(tool_calls=calls)
    # the plan follows from the text alone, so results come in the plan's own order
    paragraphs = list(_answers(plans, iter(results)))
    helped = all(good for _, good in paragraphs)
    texts = [text for text, _ in paragraphs]
    if understood.unknown:
        clauses = [f'"{clause[:_SHOWN_CLAUSE]}"' for clause in understood.unknown[:_SHOWN_CLAUSES]]
        texts.append(f"Not understood, and left undone: {', '.join(clauses)}.")
    if not helped:
        texts.append(ABILITIES)
    return Turn("\n\n".join(texts))


def _answers(
    plans: Sequence[tuple[Ask, ScriptedCall | ToolMissing]], results: Iterator[ToolResult]
) -> Iterator[tuple[str, bool]]:
    for ask, plan in plans:
        if isinstance(plan, ToolMissing):
            text = f"This needs the {plan.tool} tool, which I was not given: nothing was done."
            yield text, False
            continue
        result = next(results, None)
        if result is None or result.text is None:
            yield f"The {plan.name} tool gave no result.", False
            continue
        answer = answer_for(ask, result.text)
        if answer is None:
            output = result.text.strip()[-_SHOWN_FAILURE:]
            yield f"The {plan.name} tool failed; it said:\n{output}", False
        else:
            yield answer, True
