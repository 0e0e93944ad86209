from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.engines.pi.skills.ignore_rules import (
    IgnoreRule,
    is_ignored,
    parse_ignore_file,
)


def ignored(path: str, *files: tuple[str, str]) -> bool:
    """Ask for a path; one that ends in a slash is a directory."""
    rules = [rule for place, text in files for rule in parse_ignore_file(text, place)]
    return is_ignored(path.rstrip("/").split("/"), rules, is_dir=path.endswith("/"))


@pytest.mark.parametrize(
    ("text", "yes", "no"),
    [
        ("", [], ["a", "a/"]),
        ("# a\n  # a\n\n \n", [], ["a", "# a"]),
        ("a", ["a", "a/", "b/a", "a/b"], ["ab", "b"]),
        ("a\r\nb\r\n", ["a", "b"], ["c"]),
        ("\ufeffa", ["a"], ["b"]),
        ("A*", ["a", "abc", "AB"], ["b"]),
        ("a/", ["a/", "b/a/", "a/x"], ["a", "b/a"]),
        ("/a", ["a", "b/a"], ["ab"]),
        ("a/b", ["a/b", "a/b/c"], ["b", "c/a/b"]),
        ("//a", ["a"], ["ab"]),
        ("*.md", ["x.md", "a/.md"], ["x.mdx"]),
        ("a/**", ["a/b", "a/b/c"], ["a/", "a"]),
        ("**/a", ["a", "b/c/a"], ["ab"]),
        ("a/**/b", ["a/b", "a/c/b"], ["b"]),
        ("*\n!b/", ["a", "a/", "b", "b/c"], ["b/"]),
        ("*\n!b/\n!b/**", ["a"], ["b/", "b/c"]),
        ("a/\n!a/b", ["a/", "a/b"], []),
        ("!a\na", ["a"], []),
        ("a\n!a", [], ["a"]),
        ("a ", ["a"], ["a "]),
        ("a\t", ["a\t"], ["a"]),
        ("a\t  ", ["a\t"], ["a", "a\t "]),
        ("a \r", ["a"], ["a \r"]),
        ("a\\ ", ["a "], ["a"]),
        ("a\\\\ ", ["a\\"], ["a"]),
        ("a\\", [], ["a", "a\\"]),
        ("\\#a", ["#a"], ["a"]),
        ("/#a", [], ["#a", "a"]),
        ("a\n\\!a", [], ["a"]),
        ("[a-b]", ["a", "B"], ["c"]),
        ("/", [], ["a"]),
        ("!", [], ["a"]),
    ],
)
def test_a_file_at_the_root_ignores_these_and_not_those(
    text: str, yes: list[str], no: list[str]
) -> None:
    assert {path: ignored(path, ("", text)) for path in [*yes, *no]} == (
        dict.fromkeys(yes, True) | dict.fromkeys(no, False)
    )


def test_a_file_further_down_counts_from_its_directory() -> None:
    below = ("sub/dir", "a\n/b\n!keep\n\\!c\n# d\n")
    assert {
        path for path in ("a", "sub/a", "sub/dir/a", "sub/dir/x/a") if ignored(path, below)
    } == {"sub/dir/a"}
    assert ignored("sub/dir/b", below)
    assert ignored("sub/dir/!c", below)
    assert (ignored("sub/dir/keep", ("", "keep")), ignored("sub/dir/keep", ("", "keep"), below)) == (
        True, False,
    )  # fmt: skip


def test_a_rule_is_kept_in_lower_case_with_what_it_is_for() -> None:
    assert parse_ignore_file("!Build/x/\n", "") == (
        IgnoreRule(("build", "x"), for_directories=True, brings_back=True),
    )
    assert parse_ignore_file("Build", "") == (
        IgnoreRule(("**", "build"), for_directories=False, brings_back=False),
    )


lines = st.lists(
    st.sampled_from(["a", "b", "*", "**", "/", "!", "\\", " ", "#", "[", "]", "?", "\n", "\r\n"]),
    max_size=12,
).map("".join)
paths = st.lists(st.sampled_from(["a", "b", "ab", "!a", "#", " "]), min_size=1, max_size=3)


@thoroughly
@given(text=lines, path=paths)
def test_nothing_inside_an_ignored_directory_comes_back(text: str, path: list[str]) -> None:
    rules = parse_ignore_file(text, "")
    if is_ignored(path, rules, is_dir=True):
        assert is_ignored([*path, "x"], rules, is_dir=False)


@thoroughly
@given(text=lines, path=paths)
def test_a_last_word_settles_it(text: str, path: list[str]) -> None:
    rules = parse_ignore_file(text, "")
    everything = parse_ignore_file("**", "")
    nothing = parse_ignore_file("!**", "")
    assert is_ignored(path, [*rules, *everything], is_dir=False)
    assert not is_ignored(path, [*rules, *nothing], is_dir=False)


@thoroughly
@given(text=lines, path=paths)
def test_rules_of_another_directory_change_nothing(text: str, path: list[str]) -> None:
    rules = parse_ignore_file(text, "elsewhere")
    assert not is_ignored(path, rules, is_dir=False)
