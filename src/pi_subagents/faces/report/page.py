"""
Write a report as one page: nothing is fetched, nothing runs, and it looks the same for everybody.

In: a WorkReport.  Out: HTML.  Its policy allows the one style sheet in it, by its hash, and nothing
else; pictures are SVG in the page, folding is the browser's own.  Every text is escaped here, or
made harmless by `answers.py`.
"""

from __future__ import annotations

import time
from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib import resources
from typing import TYPE_CHECKING

from pi_subagents.core.run.record import short_id
from pi_subagents.faces.report.answers import as_html
from pi_subagents.view.report.report import KIND
from pi_subagents.view.time_spent import part_length
from pi_subagents.view.timeline_bars import piece_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pi_subagents.view.report.report import ReportedRun, WorkReport
    from pi_subagents.view.timeline import Bar, Segment, Timeline

LANE = 16  # pixels of a lane of a bar
THINNEST = 0.3  # percent of a bar that a segment has at least
MARKS = 5  # of the scale of time
FIGURE = ' class="figure"'
_WAITS_FOR = {
    "start": "waits to begin", "question": "asks", "limit": "limit of the provider",
    "retry": "pause before another attempt",
}  # fmt: skip
_DIFF_LINES = {"+": "plus", "-": "minus", "@": "place"}
_FILE_LINES = ("diff --git ", "index ", "--- ", "+++ ", "new file", "deleted file", "rename ")
_HATCH = (
    '<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate({turn})"><line class="hatch-{kind}" x1="0" y1="0" x2="0" y2="6" '
    'stroke-width="4"/></pattern>'
)
_HATCHES = (
    '<svg class="hatches" width="0" height="0" aria-hidden="true" focusable="false"><defs>'
    + _HATCH.format(name="waits", kind="wait", turn=45)
    + _HATCH.format(name="limits", kind="limit", turn=-45)
    + "</defs></svg>"
)
_LEGEND = (("bar", "model"), ("tool", "tool"), ("failed", "tool failed"), ("wait", "waits"),
           ("limit", "limit"))  # fmt: skip


def as_page(report: WorkReport) -> str:
    """Return the whole page."""
    style = resources.files(__package__).joinpath("page.css").read_text("utf-8")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    made = time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(report.made_at_ms / 1000))
    parts = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        '<meta name="referrer" content="no-referrer">',
        f'<meta name="generator" content="{KIND}">',
        f"<title>{escape(report.title)}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        _HATCHES,
        f"<header><h1>{escape(report.title)}</h1>{_facts((*report.facts, made))}</header>",
        "<main>",
        _listed(report.problems, "problems"),
        _table(report),
        *map(_timeline, report.timelines),
        _legend(),
        *map(_run, report.runs),
        "</main>",
        f"<footer>{escape(report.ending)}</footer>",
        "</body>",
        "</html>",
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _facts(facts: Iterable[str]) -> str:
    return f'<p class="facts">{escape(" · ".join(facts))}</p>'


def _listed(texts: Iterable[str], kind: str) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f'<ul class="{kind}">{items}</ul>' if items else ""


def _state(run: ReportedRun) -> str:
    state = run.bar.state
    return f'<span class="{state.role}">{escape(state.sign)} {escape(state.word)}</span>'


def _table(report: WorkReport) -> str:
    rows = "".join(
        f"<tr><td>{_state(run)}</td>"
        f'<td><a href="#{escape(run.record.run_id)}">{escape(run.record.title)}</a></td>'
        f"<td{FIGURE}>{part_length(run.record.duration_ms)}</td>"
        f"<td{FIGURE}>{run.tokens}</td><td{FIGURE}>{run.cost}</td>"
        f"<td>{escape(run.record.work)}</td></tr>"
        for run in report.runs
    )
    headings = (
        ("Status", ""),
        ("Task", ""),
        ("Time", FIGURE),
        ("Tokens", FIGURE),
        ("Cost", FIGURE),
    )
    head = "".join(f'<th scope="col"{kind}>{word}</th>' for word, kind in (*headings, ("Work", "")))
    return (
        '<div class="wide" tabindex="0" role="region" aria-label="All runs"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _timeline(timeline: Timeline) -> str:
    rows = "".join(_bar(bar, timeline) for bar in timeline.bars)
    span = timeline.end_ms - timeline.begin_ms
    marks = "".join(
        f"<span>{part_length(span * each // (MARKS - 1))}</span>" for each in range(MARKS)
    )
    call = f"Call {short_id(timeline.call_id)}" if timeline.call_id else "Timeline"
    scale = f'<div class="row"><span></span><div class="scale drawn">{marks}</div></div>'
    return f'<section class="call"><h2>{escape(call)}</h2>{rows}{scale}</section>'


def _bar(bar: Bar, timeline: Timeline) -> str:
    span = max(timeline.end_ms - timeline.begin_ms, 1)

    def rect(part: Bar | Segment, kind: str, title: str, lane: int, lanes: int = 1) -> str:
        left = 100 * (part.begin_ms - timeline.begin_ms) / span
        wide = max(100 * (part.end_ms - part.begin_ms) / span, THINNEST)
        return (
            f'<rect class="{kind}" x="{min(left, 100 - THINNEST):.3f}%" y="{lane * LANE + 1}" '
            f'width="{wide:.3f}%" height="{lanes * LANE - 2}"><title>{escape(title)}</title></rect>'
        )

    took = part_length(bar.end_ms - bar.begin_ms)
    whole = rect(bar, "bar", f"{bar.title}, {took}", 0, bar.lanes)
    parts = "".join(rect(each, piece_kind(each), _words(each), each.lane) for each in bar.segments)
    grid = "".join(
        f'<line class="grid" x1="{each}%" x2="{each}%" y1="0" y2="100%"/>' for each in (25, 50, 75)
    )
    label = f"{bar.title}: {bar.state.word}, {took}"
    return (
        f'<div class="row"><a class="name" href="#{escape(bar.run_id)}">{escape(bar.title)}</a>'
        f'<div class="drawn"><svg role="img" aria-label="{escape(label)}" '
        f'height="{bar.lanes * LANE}">{grid}{whole}{parts}</svg></div>'
        f'<span class="took">{took}</span></div>'
    )


def _words(segment: Segment) -> str:
    """Return what a segment is, in words."""
    what = segment.detail or segment.name
    if segment.kind != "tool":
        what = ": ".join(filter(None, (_WAITS_FOR[segment.kind], what)))
    failed = f", failed: {segment.reason}" if segment.failed else ""
    return f"{what}, {part_length(segment.end_ms - segment.begin_ms)}{failed}"


def _legend() -> str:
    items = "".join(
        f'<li><svg aria-hidden="true"><rect class="{kind}" width="100%" height="100%"/></svg>'
        f"{word}</li>"
        for kind, word in _LEGEND
    )
    return f'<ul class="legend">{items}</ul>'


def _run(run: ReportedRun) -> str:
    facts = escape(" · ".join((f"run {short_id(run.record.run_id)}", *run.facts)))
    parts = [
        f'<article id="{escape(run.record.run_id)}"><h2>{escape(run.record.title)}</h2>',
        f'<p class="facts">{_state(run)} · {facts}</p>',
        _listed(run.problems, "problems"),
        _listed(run.notes, "notes"),
        f'<div class="text">{as_html(run.answer)}</div>' if run.answer else "",
        f"<p>Checked with <code>{escape(run.check)}</code></p>" if run.check else "",
        _folded("Task", f"<pre>{escape(run.task)}</pre>") if run.task else "",
        _steps(run.bar),
        _diff(run),
        "</article>",
    ]
    return "".join(parts)


def _folded(title: str, content: str, *, is_open: bool = False) -> str:
    opened = " open" if is_open else ""
    return f"<details{opened}><summary>{escape(title)}</summary>{content}</details>"


def _steps(bar: Bar) -> str:
    if not bar.segments:
        return ""
    items = "".join(
        f'<li class="{"failed" if each.failed else "done"}"><span class="took">'
        f"{part_length(each.begin_ms - bar.begin_ms)}</span> {escape(_words(each))}</li>"
        for each in bar.segments
    )
    return _folded(f"Steps ({len(bar.segments)})", f'<ul class="steps">{items}</ul>')


def _diff(run: ReportedRun) -> str:
    if not run.patch:
        return ""
    left_out = f"<p>{run.patch_left_out:,} more characters</p>" if run.patch_left_out else ""
    lines = "".join(_diff_lines(run.patch))
    return _folded("Changes", f'<pre class="diff">{lines}</pre>{left_out}', is_open=True)


def _diff_lines(patch: str) -> Iterator[str]:
    for line in patch.rstrip("\n").split("\n"):
        kind = "file" if line.startswith(_FILE_LINES) else _DIFF_LINES.get(line[:1], "same")
        yield (
            f'<span class="{kind}">{escape(line)}</span>'
            if kind
            else f"<span>{escape(line)}</span>"
        )
