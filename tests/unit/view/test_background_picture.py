from __future__ import annotations

from hypothesis import given
from tests.fakes.records import record, with_facts
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.view.picture import BLANK, Layout, Part, Span
from pi_subagents.view.window_picture import end_picture

RUN = record("0f", "5e", preset="scout", task="look\naround", cwd="/w", duration_ms=2999)
SAID = Layout("wrap", indent=2, first=15, more=("... ({} more line)", "... ({} more lines)"))


def test_an_end_tells_how_it_was_what_was_asked_and_what_was_said() -> None:
    assert end_picture(RUN, "one\n\n\ttwo\n") == [
        Part((
            (
                Span("✓", "success"),
                Span(" "),
                Span("scout", "bold"),
                Span(" • completed in the background • 2s • run 0f", "muted"),
            ),
        )),
        Part(((Span("look around", "muted"),),), Layout("unfold", indent=2)),
        Part(((Span("one"),), BLANK, (Span("    two"),)), SAID),
    ]  # fmt: skip


def test_a_failure_is_told_before_what_was_said() -> None:
    header, asked, said = end_picture(
        with_facts(RUN, status="failed", task=" ", error_message="no key"), "half"
    )
    assert header.rows[0][0] == Span("✗", "error")
    assert (asked.rows, said.rows) == ((), ((Span("no key"),), (Span("half"),)))


@thoroughly
@given(texts, texts, texts)
def test_whatever_is_told_is_printable(preset: str, task: str, output: str) -> None:
    run = with_facts(RUN, preset=preset, task=task, error_message=output)
    for part in end_picture(run, output):
        assert all(span.text.isprintable() for row in part.rows for span in row)
