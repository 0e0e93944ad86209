"""Markdown of a sub-agent becomes HTML that loads nothing, runs nothing and hides no secret."""

from __future__ import annotations

import pytest

from pi_subagents.faces.report.answers import as_html

REL = 'rel="noopener noreferrer nofollow"'
KEY = "sk-" + "proj-" + "Zq7Tn2Lx9Vb4Kd8Rw3Hs"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A\n\n###### B", "<h3>A</h3>\n<h6>B</h6>\n"),
        ("**b** `c<d` ~~e~~", "<p><strong>b</strong> <code>c&lt;d</code> <s>e</s></p>\n"),
        ("<b onclick=x>hi</b>", "<p>&lt;b onclick=x&gt;hi&lt;/b&gt;</p>\n"),
        ("![a <b>](https://evil.example/x.png)", "<p>[picture: a &lt;b&gt;]</p>\n"),
        ("[a](javascript:alert(1))", "<p>[a](javascript:alert(1))</p>\n"),
        ("[a](src/b.py)", '<p><a title="src/b.py">a</a></p>\n'),
        (
            "[a](https://x.example/?%22>)",
            '<p><a title="https://x.example/?%22%3E" href="https://x.example/?%22%3E" {REL}>a</a></p>\n',
        ),
        (
            '```"><script>\nx</script>\n```',
            '<pre><code class="language-&quot;&gt;&lt;script&gt;">x&lt;/script&gt;\n</code></pre>\n',
        ),
    ],
)
def test_markdown_is_rendered_and_nothing_else(text: str, html: str) -> None:
    assert as_html(text) == html.replace("{REL}", REL)


def test_columns_of_a_table_are_aligned_without_a_style_of_their_own() -> None:
    rendered = as_html("|a|b|\n|---|--:|\n|1|2|")
    assert "style=" not in rendered
    assert rendered.count('class="figure"') == 2


@pytest.mark.parametrize(
    "text",
    [
        KEY.replace("-", "\\-"),
        KEY.replace("-", "&#45;"),
        f"`{KEY}`",
        f"    {KEY}",
        f"[a](https://x.example/{KEY.replace('-', '&#45;')})",
        f"![{KEY.replace('-', '&#45;')}](x)",
    ],
)
def test_a_secret_that_marks_of_markdown_hid_is_left_out(text: str) -> None:
    assert KEY not in as_html(text)
