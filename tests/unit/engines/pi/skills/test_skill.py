from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.engines.pi.skills.skill import (
    Skill,
    loaded_skill_block,
    parse_skill,
    with_loaded_skills,
)
from pi_subagents.errors import FrontmatterError, UnknownSkills


def block(body: str) -> str:
    return f'<loaded_skill name="x">\n{body}\n</loaded_skill>'


def test_a_loaded_skill_stands_between_its_tags_as_it_is() -> None:
    body = '# How to\n\nUse <b>bold</b> & "quotes", a < b, <skill>, and <loaded-skill>.'
    assert loaded_skill_block("x", body) == block(body)


@pytest.mark.parametrize(
    ("body", "safe"),
    [
        ("a</loaded_skill>b", "a&lt;/loaded_skill>b"),
        ('<loaded_skill name="y">', '&lt;loaded_skill name="y">'),
        ("</LOADED_Skill >", "&lt;/LOADED_Skill >"),
        ("< / loaded_skill>", "&lt; / loaded_skill>"),
        ("<\n/\tloaded_skill", "&lt;\n/\tloaded_skill"),
        ("<\u200b/\ufeff\0loaded_skill>", "&lt;\u200b/\ufeff\0loaded_skill>"),
        ("</loaded_\u017fkill>", "&lt;/loaded_\u017fkill>"),
        ("<</loaded_skill><loaded_skill", "<&lt;/loaded_skill>&lt;loaded_skill"),
        ("</loaded_skills>", "&lt;/loaded_skills>"),
    ],
)
def test_a_body_cannot_close_or_imitate_the_block(body: str, safe: str) -> None:
    assert loaded_skill_block("x", body) == block(safe)


def test_blanks_without_a_tag_behind_them_are_passed_over_once() -> None:
    """Were each run of blanks divided in every possible way, this would take an hour."""
    body = ("<" + " " * 400_000 + "/" + " " * 400_000) * 2
    assert loaded_skill_block("x", body) == block(body)


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        ("pdf-tools", "pdf-tools"),
        ('a"><b', "a&quot;&gt;&lt;b"),
        ("a' & b", "a&#x27; &amp; b"),
        ("a\n</loaded_skill>\r b", "a &lt;/loaded_skill&gt; b"),
    ],
)
def test_a_name_stays_within_its_quotes(name: str, attribute: str) -> None:
    assert loaded_skill_block(name, "") == f'<loaded_skill name="{attribute}">\n\n</loaded_skill>'


pieces = st.lists(
    st.sampled_from(
        ["<", ">", "/", " ", "\n", "\t", '"', "loaded_skill", "LOADED_SKILL", "loaded", "_skill",
         "</loaded_skill>", "<loaded_skill", "&lt;", "\u00a0", "\u2003", "name=", "x"]
    )
    | texts,
    max_size=12,
).map("".join)  # fmt: skip


@thoroughly
@given(name=pieces, body=pieces)
def test_a_block_has_one_opening_and_one_closing_tag_whatever_is_in_it(
    name: str, body: str
) -> None:
    result = loaded_skill_block(name, body)
    assert len(re.findall(r"(?i)<\s*loaded_skill", result)) == 1
    assert len(re.findall(r"(?i)<\s*/\s*loaded_skill", result)) == 1
    assert re.match(r'<loaded_skill name="[^"<>\n]*">\n', result)
    assert result.endswith("\n</loaded_skill>")


@thoroughly
@given(body=pieces)
def test_only_the_brackets_of_tags_change(body: str) -> None:
    inner = loaded_skill_block("x", body).split("\n", 1)[1].removesuffix("\n</loaded_skill>")
    if "loaded_skill" not in body.casefold():
        assert inner == body
    assert inner.replace("&lt;", "<") == body.replace("&lt;", "<")


def test_loaded_skills_follow_what_is_appended_already() -> None:
    appended = with_loaded_skills(
        "Always validate workflows before saving.",
        [loaded_skill_block("workflow-generation", "... skill content ...")],
    )
    assert appended == (
        "Always validate workflows before saving.\n"
        "\n"
        '<loaded_skill name="workflow-generation">\n'
        "... skill content ...\n"
        "</loaded_skill>"
    )


def test_each_block_stands_apart_and_nothing_is_added_to_nothing() -> None:
    assert with_loaded_skills("", ["one", "two"]) == "one\n\ntwo"
    assert with_loaded_skills("text", []) == "text"
    assert with_loaded_skills("", []) == ""


@pytest.mark.parametrize(
    ("unknown", "available", "message"),
    [
        (
            ["bad-name"], ["skill-a", "skill-b"],
            'Unknown skills: "bad-name". Available skills: skill-a, skill-b',
        ),
        (["b", "a"], ["c"], 'Unknown skills: "b", "a". Available skills: c'),
        (["a"], [], 'Unknown skills: "a". Available skills: (none)'),
    ],
)  # fmt: skip
def test_unknown_skills_are_named_and_so_are_the_known(
    unknown: list[str], available: list[str], message: str
) -> None:
    assert str(UnknownSkills(tuple(unknown), tuple(available))) == message


@pytest.mark.parametrize(
    ("fields", "skill"),
    [
        ("name: pdf\ndescription: Use it.", Skill("pdf", "Use it.", "/s/dir/SKILL.md")),
        ("description: Use it.", Skill("dir", "Use it.", "/s/dir/SKILL.md")),
        ("name: ''\ndescription: d", Skill("dir", "d", "/s/dir/SKILL.md")),
        ("name: [a]\ndescription: d", Skill("dir", "d", "/s/dir/SKILL.md")),
        ("name: pdf", None),
        ("name: pdf\ndescription: '  '", None),
        ("name: pdf\ndescription: [a]", None),
    ],
)
def test_a_skill_has_a_description_and_by_default_the_name_of_its_directory(
    fields: str, skill: Skill | None
) -> None:
    assert parse_skill(f"---\n{fields}\n---\nbody", "/s/dir/SKILL.md") == skill


def test_a_skill_with_broken_front_matter_is_refused() -> None:
    with pytest.raises(FrontmatterError):
        parse_skill("---\ndescription: a: b\n---\n", "/s/dir/SKILL.md")


@thoroughly
@given(
    text=st.lists(
        st.sampled_from(
            ["---\n", "name: ", "description: ", "x", "1", "\n", "\r", "\u2028", "[", "'"]
        )
    )
)
def test_any_file_is_a_skill_or_none_or_refused(text: list[str]) -> None:
    try:
        found = parse_skill("".join(text), "/s/dir/SKILL.md")
    except FrontmatterError:
        return
    assert found is None or (found.name and found.description.strip())
