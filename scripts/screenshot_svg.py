# ruff: noqa: INP001 - scripts are files, not a package
"""
Draw what a terminal shows as an SVG that needs nothing else.

In: the rows of a screen with their ANSI sequences, as tmux captures them.  Out: SVG text; its size
depends on columns and rows alone.  No font and nothing else is fetched from anywhere.
"""

from __future__ import annotations

import io
import re

from rich.ansi import AnsiDecoder
from rich.console import Console

# What rich fills in; its own frame would fetch a font from the web.
FRAME = """\
<svg viewBox="0 0 {width:g} {height:g}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-matrix, .{unique_id}-title {{
  font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
}}
.{unique_id}-title {{ font-size: 16px; }}
{styles}
</style>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
# Of rich's own: references to paths that our frame has not, and the line ends as texts.
USELESS = re.compile(r' clip-path="[^"]*"|<text [^>]*>\n</text>')
NARROW = 0.6  # width to height of the usual monospaced fonts


def drawn(shown: str, columns: int, rows: int, *, name: str, title: str) -> str:
    """Return the SVG of a screen; `name` keeps its styles apart from those of other pictures."""
    console = Console(
        record=True,
        width=columns,
        height=rows,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        legacy_windows=False,
    )
    styles = AnsiDecoder()  # one may go on in the next row
    for row in (shown.split("\n") + [""] * rows)[:rows]:
        console.print(styles.decode_line(row), soft_wrap=True, highlight=False)
    svg = console.export_svg(
        title=title, code_format=FRAME, unique_id=name, font_aspect_ratio=NARROW
    )
    lines = USELESS.sub("", svg).replace("</text><", "</text>\n<").splitlines()
    return "".join(f"{line.strip()}\n" for line in lines if line.strip())
