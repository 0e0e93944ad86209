"""
Render what a sub-agent wrote in Markdown as HTML that can do nothing.

In: a text without secrets.  Out: HTML without scripts, styles, pictures or tags of the text's own.
Links lead to the web or nowhere, headings stand below those of the page.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pi_subagents.core.redaction import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LEADS_OUT = ("http://", "https://", "mailto:")
DEEPER = 2  # levels of headings


def as_html(text: str) -> str:
    """Return the HTML of a text."""
    parser = _parser()
    tokens = parser.parse(text)
    _make_harmless(tokens)
    rendered = parser.renderer.render(tokens, parser.options, {})
    assert isinstance(rendered, str)
    return rendered


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _make_harmless(tokens: Iterable[Token]) -> None:
    """Change what could load or hide something; marks of Markdown may have hidden a secret."""
    redactor = Redactor()
    for token in tokens:
        _make_harmless(token.children or ())
        if token.type == "image":
            token.type, token.children = "text", None
            token.content = f"[picture: {token.content}]"
        elif token.type == "link_open":
            _lead_out_or_nowhere(token, redactor)
        elif token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + DEEPER, 6)}"
        if "right" in str(token.attrs.pop("style", "")):  # of a column: no style of its own
            token.attrs["class"] = "figure"
        if token.type in ("text", "code_inline", "code_block", "fence"):
            token.content = redactor.text(token.content)


def _lead_out_or_nowhere(token: Token, redactor: Redactor) -> None:
    address = redactor.text(str(token.attrs.get("href", "")))
    token.attrs = {"title": address}
    if address.lower().startswith(LEADS_OUT):
        token.attrs |= {"href": address, "rel": "noopener noreferrer nofollow"}
