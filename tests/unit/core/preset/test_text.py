from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import briefly, texts

from pi_subagents.core.plain_text import printable
from pi_subagents.core.preset.preset import Preset, preset_detail, preset_fields, preset_summary

FULL = Preset("full", "What it is for", model="a/b", tools=("read", "ls"), prompt="One.\n\nTwo.")
PLAIN = Preset("plain", "Nothing else")


def test_the_summary_is_the_purpose_and_what_is_set() -> None:
    assert preset_summary(FULL) == (
        'preset: full — What it is for, model=a/b, appended-system-prompt="One. Two.", tools=[read,ls]'
    )
    assert preset_summary(PLAIN) == "preset: plain — Nothing else"
    assert preset_summary(Preset("none", "d", tools=())) == "preset: none — d, tools=[]"


def test_the_detail_has_a_line_per_field_and_more_for_the_prompt() -> None:
    assert preset_detail(FULL) == (
        "Preset: full\n"
        "  description:       What it is for\n"
        "  model:             a/b\n"
        "  tools:             [read, ls]\n"
        "  prompt:            One.\n"
        "\n"
        "                     Two."
    )
    assert preset_detail(PLAIN) == "Preset: plain\n  description:       Nothing else"


def test_of_a_long_prompt_the_beginning_is_shown() -> None:
    lines = [f"{n}" for n in range(23)]
    shown = preset_detail(Preset("x", "d", prompt="\n".join(lines))).splitlines()
    assert len(shown) == 23
    assert shown[-2:] == [" " * 21 + "19", " " * 21 + "… (3 more lines)"]


def test_only_what_is_set_is_told_and_an_empty_allowlist_is_set() -> None:
    assert preset_fields(PLAIN) == {"name": "plain", "description": "Nothing else"}
    assert preset_fields(Preset("none", "d", tools=())) == {
        "name": "none",
        "description": "d",
        "tools": (),
    }
    assert list(preset_fields(FULL)) == ["name", "description", "model", "tools", "prompt"]


@briefly
@given(st.builds(Preset, st.just("x"), texts, texts, st.none() | st.tuples(texts, texts), texts))
def test_whatever_a_preset_says_is_printable_and_a_summary_is_one_line(preset: Preset) -> None:
    summary, detail = preset_summary(preset), preset_detail(preset)
    assert (printable(summary), printable(detail)) == (summary, detail)
    assert "\n" not in summary
