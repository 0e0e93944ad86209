"""Figures as a table for a terminal, as JSON, and as the table in docs/performance.md."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from measuring import Figure

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
BEGIN, END = "<!-- figures -->", "<!-- /figures -->"
HEADINGS = ("", "median", "min", "max", "rounds", "target", "")
IDLE = 0.5


def as_json(figures: Iterable[Figure], machine: Mapping[str, str]) -> dict[str, object]:
    """Return everything for a script, each round included."""
    return {
        "schemaVersion": 1,
        "machine": dict(machine),
        "figures": [
            {
                "section": figure.section,
                "name": figure.name,
                "unit": figure.unit,
                "median": figure.median,
                "min": min(figure.values),
                "max": max(figure.values),
                "values": list(figure.values),
                "target": _target(figure) or None,
                "met": figure.met,
            }
            for figure in figures
        ],
    }


def as_text(figures: Sequence[Figure], machine: Mapping[str, str]) -> str:
    """Return aligned columns, one block per section."""
    lines = [f"{name}: {value}" for name, value in machine.items()]
    for section, members in groupby(figures, key=lambda figure: figure.section):
        rows = [(section, *HEADINGS[1:]), *map(_row, members)]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
        lines += ["", *(_aligned(row, widths) for row in rows)]
    return "\n".join(lines)


MISSED = "Missed:"


def write_document(
    figures: Sequence[Figure], machine: Mapping[str, str], *, whole: bool = True
) -> None:
    """Put the tables between the markers of docs/performance.md; the prose stays as it is."""
    text = DOCUMENT.read_text("utf-8")
    before, begin, rest = text.partition(BEGIN)
    known, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{DOCUMENT.name} has no {BEGIN} ... {END}")
    table = "\n".join(_markdown(figures, machine)) if whole else _amended(known, figures, machine)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", "utf-8")


def _amended(known: str, figures: Sequence[Figure], machine: Mapping[str, str]) -> str:
    """Return the tables with some sections measured anew, or added; they say when."""
    head, *sections = known.strip("\n").split("\n### ")
    bodies = {section.partition("\n")[0]: section.partition("\n")[2] for section in sections}
    when = (
        f"Measured by itself: {machine['date']}, pi {machine['pi']}, "
        f"load before {machine['load before']}."
    )
    for name, lines in _sections(figures):
        bodies[name] = "\n".join(["", when, *lines])
    heard = [f"### {name}\n{body.rstrip()}\n" for name, body in bodies.items()]
    missed = [
        f"{name}: {row.split('|')[1].strip()}"
        for name, body in bodies.items()
        for row in body.splitlines()
        if "**missed**" in row
    ]
    head = "\n".join(
        _missed(missed) if line.startswith(MISSED) else line for line in head.splitlines()
    )
    return "\n".join(["", f"{head.rstrip()}\n", *heard])


def _missed(names: Sequence[str]) -> str:
    return f"{MISSED} {'; '.join(names) or 'nothing'}."


def _markdown(figures: Sequence[Figure], machine: Mapping[str, str]) -> list[str]:
    lines = ["", "Measured on:", ""]
    lines += [f"- {name}: {value}" for name, value in machine.items()]
    missed = [f"{each.section}: {each.name}" for each in figures if each.met is False]
    if float(machine["load before"].split(",")[0]) > IDLE:
        lines += ["", "**Other work was running: these figures are not those of an idle machine.**"]
    lines += ["", _missed(missed)]
    for section, table in _sections(figures):
        lines += ["", f"### {section}", *table]
    return [*lines, ""]


def _sections(figures: Sequence[Figure]) -> Iterator[tuple[str, list[str]]]:
    """Yield every section with its table."""
    for section, members in groupby(figures, key=lambda figure: figure.section):
        head = ["", f"| {' | '.join(HEADINGS)} |", "|---|--:|--:|--:|--:|--:|---|"]
        yield section, head + [f"| {' | '.join(_row(member))} |" for member in members]


def _row(figure: Figure) -> tuple[str, ...]:
    verdict = {True: "met", False: "**missed**", None: ""}[figure.met]
    values = (figure.median, min(figure.values), max(figure.values))
    shown = (_number(value, figure.unit) for value in values)
    return (figure.name, *shown, str(len(figure.values)), _target(figure), verdict)


def _number(value: float, unit: str) -> str:
    if unit == "x":
        return f"{value:.2f} x"
    digits = 0 if abs(value) >= 100 else 1
    return f"{value:,.{digits}f} {unit}"


def _target(figure: Figure) -> str:
    if figure.target is None:
        return ""
    sign = "≥" if figure.target.at_least else "≤"
    return f"{sign} {_number(figure.target.limit, figure.unit)}"


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    first, *others = row
    cells = [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(others, widths[1:], strict=True))]
    return "  ".join(cells).rstrip()
