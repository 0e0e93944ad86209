from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.engines.pi.skills.path_patterns import (
    is_enabled,
    is_glob,
    is_override,
    matches,
    selected,
    switched,
)

BASE = "/b"
ONE, TWO, THREE = (f"{BASE}/skills/{name}/SKILL.md" for name in ("one", "two", "three"))
LOOSE = f"{BASE}/skills/loose.md"
OUTSIDE = "/c/more/SKILL.md"
ALL = (ONE, TWO, THREE, LOOSE, OUTSIDE)


@pytest.mark.parametrize(
    ("entry", "override", "glob"),
    [
        ("a", False, False), ("a/*", False, True), ("a?", False, True), ("!a", True, False),
        ("+a", True, False), ("-a", True, False), ("{a,b}", False, False), ("!*", True, True),
    ],
)  # fmt: skip
def test_an_entry_is_a_path_a_glob_or_an_override(entry: str, override: bool, glob: bool) -> None:
    assert (is_override(entry), is_glob(entry)) == (override, glob)


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        ([], ALL),
        (["skills/t*"], (TWO, THREE)),
        (["skills/*/SKILL.md"], (ONE, TWO, THREE)),
        (["two"], (TWO,)),
        (["SKILL.md"], (ONE, TWO, THREE, OUTSIDE)),
        (["loose.md"], (LOOSE,)),
        (["/c/**"], (OUTSIDE,)),
        (["../c/more"], (OUTSIDE,)),
        (["skills/{one,two}"], (ONE, TWO)),
        (["!skills/t*"], (ONE, LOOSE, OUTSIDE)),
        (["!skills/**", "+skills/one"], (ONE, OUTSIDE)),
        (["!**", "+./skills/one/SKILL.md", "+/c/more"], (ONE, OUTSIDE)),
        (["+skills/one", "-skills/one"], (TWO, THREE, LOOSE, OUTSIDE)),
        (["one", "+skills/t*"], (ONE,)),
        (["-skills/t*"], ALL),
        (["-one"], ALL),
        (["#one"], ()),
        (["!!one"], ()),
    ],
)
def test_patterns_select_among_paths(patterns: list[str], kept: tuple[str, ...]) -> None:
    assert selected(ALL, patterns, BASE) == frozenset(kept)


def test_what_is_found_anyway_heeds_overrides_only() -> None:
    entries = ["somewhere", "nothing*", "!t*", "+skills/two"]
    assert [path for path in ALL if is_enabled(path, entries, BASE)] == [ONE, TWO, LOOSE, OUTSIDE]


def test_switches_name_what_they_change_and_the_last_counts() -> None:
    assert switched(ALL, [], BASE) == {}
    assert switched(ALL, ["t*", "-skills/two", "!one", "+skills/one", "+t*"], BASE) == {
        TWO: False, THREE: True, ONE: True,
    }  # fmt: skip


def test_a_file_in_the_base_itself_has_no_directory_to_be_named_by() -> None:
    at_base = f"{BASE}/SKILL.md"
    assert selected([at_base], ["*"], BASE) == {at_base}
    assert selected([at_base], ["b"], BASE) == {at_base}
    assert selected([at_base], ["c"], BASE) == frozenset()


def test_what_begins_with_a_hash_is_a_comment() -> None:
    assert not matches("#one", "#one")
    assert not matches("two", "#one")


some = st.lists(
    st.sampled_from(["!", "+", "-", "#", "*", "**", "/", "one", "t", "{", "}", ",", "[", "\\"]),
    max_size=6,
).map("".join)


@thoroughly
@given(patterns=st.lists(some, max_size=4))
def test_a_dropped_path_is_never_selected_and_an_added_one_always(patterns: list[str]) -> None:
    patterns = [each for each in patterns if not each.startswith(("+", "-"))]
    assert ONE not in selected(ALL, [*patterns, "+skills/one", "-skills/one"], BASE)
    assert ONE in selected(ALL, [*patterns, "+skills/one"], BASE)


@thoroughly
@given(path=some, pattern=some)
def test_a_negated_pattern_says_the_opposite(path: str, pattern: str) -> None:
    if not pattern.startswith("#"):
        assert matches(path, f"!{pattern}") is not matches(path, pattern)
