from __future__ import annotations

import fnmatch
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.glob_match import (
    MAX_ALTERNATIVES,
    alternatives,
    name_matches,
    names_match,
)


def found(path: str, pattern: str, *, hidden: bool = False) -> bool:
    return names_match(path.split("/"), pattern.split("/"), hidden=hidden)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a", ["a"], ["b", "a/a", "A", ""]),
        ("*", ["a", "a.md"], ["", ".a", "a/b"]),
        ("a*", ["a", "ab"], ["ba", "a/b"]),
        ("*.md", ["x.md"], [".md", "x.mdx", "a/x.md"]),
        ("?b", ["ab"], ["b", ".b", "aab"]),
        ("[ab]", ["a", "b"], ["c", "ab"]),
        ("[!a]", ["b"], ["a", ".", "bb"]),
        ("[^a]", ["b"], ["a"]),
        ("[a", ["[a"], ["a"]),
        ("\\*", ["*"], ["a", "\\*"]),
        ("\\[a]", ["[a]"], ["a"]),
        ("\\a", ["a"], ["\\a"]),
        (".*", [".a"], ["a", ".", ".."]),
        ("**", ["a", "a/b", ""], [".a", "a/.b"]),
        ("a/**", ["a/b", "a/b/c"], ["a", "b/a"]),
        ("**/a", ["a", "b/a", "c/b/a"], ["a/b", ".b/a"]),
        ("a/**/b", ["a/b", "a/c/b", "a/c/d/b"], ["a", "b", "a/.c/b"]),
        ("a/**/**/b", ["a/b", "a/c/b"], ["a"]),
        ("/a/*", ["/a/b"], ["a/b", "/a"]),
        ("*/a", ["b/a"], ["/a", "a"]),
        ("../a", ["../a"], ["b/a"]),
    ],
)
def test_a_pattern_describes_these_and_not_those(
    pattern: str, yes: list[str], no: list[str]
) -> None:
    assert {path: found(path, pattern) for path in [*yes, *no]} == (
        dict.fromkeys(yes, True) | dict.fromkeys(no, False)
    )


@pytest.mark.parametrize("pattern", ["*", "?a", "[!b]a", "**"])
def test_names_with_a_dot_are_found_only_where_they_may_be(pattern: str) -> None:
    assert (found(".a", pattern), found(".a", pattern, hidden=True)) == (False, True)


@pytest.mark.parametrize(
    ("pattern", "written_out"),
    [
        ("a", ("a",)),
        ("{a,b}", ("a", "b")),
        ("x{a,}y", ("xay", "xy")),
        ("{a,b}{c,d}", ("ac", "ad", "bc", "bd")),
        ("{a,{b,c}d}", ("a", "bd", "cd")),
        ("{a}", ("{a}",)),
        ("{a}{b,c}", ("{a}b", "{a}c")),
        ("{a,b", ("{a,b",)),
        ("a,b}", ("a,b}",)),
        ("{a{b,c}", ("{ab", "{ac")),
        ("{a{b,c}}", ("{ab}", "{ac}")),
        ("}{a,b}", ("}a", "}b")),
        ("{a,{b,c", ("{a,{b,c",)),
        (",{a},{b,c}", (",{a},b", ",{a},c")),
    ],
)
def test_braces_are_written_out(pattern: str, written_out: tuple[str, ...]) -> None:
    assert alternatives(pattern) == written_out


def test_too_many_alternatives_are_left_as_they_are() -> None:
    most = MAX_ALTERNATIVES.bit_length() - 1
    assert len(alternatives("{a,b}" * most)) == MAX_ALTERNATIVES
    assert alternatives("{a,b}" * (most + 1)) == ("{a,b}" * (most + 1),)


def test_no_pattern_takes_for_ever() -> None:
    """A few milliseconds; with backtracking it would not end."""
    assert not name_matches("a" * 255, "*a" * 100 + "b", hidden=False)
    assert not names_match(["a"] * 100, ["**", "a"] * 50 + ["b"], hidden=False)


def test_too_many_alternatives_are_counted_before_they_are_written_out() -> None:
    pattern = "{" + "," * 2000 + "}" + "x" * 2000
    tracemalloc.start()
    try:
        assert alternatives(pattern) == (pattern,)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 200 * len(pattern)


def test_braces_that_nothing_closes_are_looked_at_once() -> None:
    """Were the rest read again for each of them, this would take minutes."""
    opened = "{" * 25_000
    assert alternatives(opened) == (opened,)
    assert alternatives(opened + "}") == (opened + "}",)
    assert alternatives(opened + "{a,b}") == (opened + "a", opened + "b")


def test_however_many_patterns_there_are_each_is_compiled_once_and_plain_names_never(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wild = [f"*{number}-compiled-once" for number in range(1100)]
    compiled: list[str] = []
    translate = fnmatch.translate

    def translated(pattern: str) -> str:
        compiled.append(pattern)
        return translate(pattern)

    monkeypatch.setattr(fnmatch, "translate", translated)
    for _ in range(2):
        assert not any(name_matches("a", segment, hidden=True) for segment in wild)
    assert compiled == wild
    assert name_matches("never-compiled]", "never-compiled]", hidden=True)
    assert not name_matches("a", "never-compiled", hidden=True)
    assert compiled == wild


segments = st.sampled_from(["a", "b", "ab", "*", "**", "?", "a*", "[ab]", "[", "\\", "]", "!", ""])
names = st.sampled_from(["a", "b", "ab", ".a", "", "[", "..", "\\"])


@thoroughly
@given(st.lists(names, min_size=1, max_size=5), st.lists(segments, min_size=1, max_size=5))
def test_what_stands_for_anything_finds_at_least_what_the_rest_finds(
    path: list[str], pattern: list[str]
) -> None:
    plain = names_match(path, pattern, hidden=False)
    assert names_match(path, ["**", *pattern], hidden=True) >= plain
    assert names_match(path, pattern, hidden=True) >= plain


@thoroughly
@given(st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=5))
def test_a_path_without_wildcards_describes_itself(path: list[str]) -> None:
    assert names_match(path, path, hidden=False)
    assert not names_match([*path, "a"], path, hidden=False)
    assert not names_match(path, [*path, "a"], hidden=False)
