"""
Write a report as Markdown, for a comment on a pull request.

In: a WorkReport.  Out: text.  What sub-agents wrote stays inside its quotation: it can neither end
it nor load a picture.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.record import short_id
from pi_subagents.view.report.report import KIND
from pi_subagents.view.time_spent import part_length
from pi_subagents.view.timeline_bars import MARKS, draw, legend

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pi_subagents.view.report.report import ReportedRun, WorkReport

BEGINNING = f"<!-- {KIND} -->"
BAR = 60
MAX_TITLE = 30
_TAG = re.compile(r"<(?=[a-z/!?])", re.IGNORECASE)
_FENCE = re.compile(r"`{3,}")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|!~@])")


def as_markdown(report: WorkReport) -> str:
    """Return the whole text."""
    parts = [
        BEGINNING,
        f"# {_escaped(report.title)}",
        " · ".join(map(_escaped, report.facts)),
        _listed(report.problems),
        "\n".join(_table(report)),
        _fenced("\n".join(_bars(report)), "text"),
    ]
    for run in report.runs:
        parts += _run(run)
    return "\n\n".join(filter(None, [*parts, "---", _escaped(report.ending)])) + "\n"


def _table(report: WorkReport) -> Iterator[str]:
    yield "| | run | | time | tokens | cost | work |"
    yield "|---|---|---|--:|--:|--:|---|"
    for run in report.runs:
        cells = (
            run.bar.state.sign,
            f"`{short_id(run.record.run_id)}`",
            _escaped(run.record.title),
            part_length(run.record.duration_ms),
            run.tokens,
            run.cost,
            _escaped(run.record.work),
        )
        yield f"| {' | '.join(cells)} |"


def _bars(report: WorkReport) -> Iterator[str]:
    for timeline in report.timelines:
        for bar in timeline.bars:
            drawn = "".join(text for text, _ in draw(bar, timeline, BAR, MARKS))
            title = one_line(bar.title, MAX_TITLE)
            took = part_length(bar.end_ms - bar.begin_ms)
            yield f"{short_id(bar.run_id)} {bar.state.sign}  {drawn}  {took:>6}  {title}"
        yield ""
    yield legend(MARKS)


def _run(run: ReportedRun) -> list[str]:
    parts = [
        f"## {run.bar.state.sign} {_escaped(run.record.title)}",
        " · ".join(map(_escaped, run.facts)),
    ]
    parts.append(_listed((*run.problems, *run.notes)))
    if run.answer:
        parts.append(_quoted(run.answer))
    if run.task:
        parts.append(_folded("Task", _quoted(run.task)))
    if run.check:
        parts.append(f"Checked with {_code(run.check)}")
    if run.patch:
        left_out = f"\n\n{run.patch_left_out:,} more characters" if run.patch_left_out else ""
        parts.append(_folded("Changes", _fenced(run.patch, "diff") + left_out))
    return parts


def _listed(problems: Iterable[str]) -> str:
    return "\n".join(f"- {_escaped(problem)}" for problem in problems)


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"


def _quoted(text: str) -> str:
    """Return a text of somebody as a quotation, in which its Markdown counts and no HTML does."""
    harmless = _TAG.sub("&lt;", text.strip()).replace("![", "!\\[")
    return "\n".join(f"> {line}".rstrip() for line in harmless.split("\n"))


def _fenced(text: str, language: str) -> str:
    """Return a text as a block of code that nothing in it can end."""
    longest = max(map(len, _FENCE.findall(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _code(text: str) -> str:
    return f"`{one_line(text, 200).replace('`', chr(39))}`"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", one_line(text, 1000))
