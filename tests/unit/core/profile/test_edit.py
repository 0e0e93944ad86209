"""A profile's file is changed line by line: comments and unknown keys survive, or nothing is done."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly
from tests.unit.core.profile.test_text import profiles

from pi_subagents.core import messages
from pi_subagents.core.definitions.frontmatter import Value, parse_frontmatter
from pi_subagents.core.profile.edit import changed_fields, edit_profile_text
from pi_subagents.core.profile.profile import Profile, parse_profile
from pi_subagents.core.value import replace
from pi_subagents.errors import ProfileNotSaved

BEFORE = """\
---
# Who reviews.
name: reviewer
model: "old/model"  # quick enough

# What it may do
tools:
  - read
  # looks, never touches
  - grep
# between
team: [core, 'docs']
appendSystemPrompt: |
  Be brief.
  # this is text

noExtensions: true
# the end
---

Review  it.\r
"""


def read(text: str) -> Profile:
    profile, _ = parse_profile("", parse_frontmatter(text))
    assert profile
    return profile


WAS = read(BEFORE)


def edited(text: str = BEFORE, **changes: object) -> str:
    return edit_profile_text(text, replace(read(text), **changes))


def test_without_a_change_the_file_is_the_same_to_the_byte() -> None:
    assert edited() == BEFORE


def test_a_field_changes_in_its_line_and_keeps_the_comment_behind_it() -> None:
    assert edited(model="new/model") == BEFORE.replace('"old/model"', "new/model")


def test_a_list_changes_in_its_lines_and_the_comments_around_it_stay() -> None:
    old = "tools:\n  - read\n  # looks, never touches\n  - grep\n"
    assert edited(tools=("ls",)) == BEFORE.replace(old, "tools:\n- ls\n")
    assert edited(tools=()) == BEFORE.replace(old, "tools: []\n")
    assert edited(tools=None) == BEFORE.replace(old, "")


def test_a_text_of_several_lines_goes_with_what_looks_like_a_comment_in_it() -> None:
    old = "appendSystemPrompt: |\n  Be brief.\n  # this is text\n"
    assert edited(append_system_prompt="") == BEFORE.replace(old, "")
    assert edited(append_system_prompt="a\nb\n") == BEFORE.replace(
        old, "appendSystemPrompt: |\n  a\n  b\n"
    )


def test_a_new_field_stands_behind_the_one_that_is_written_before_it() -> None:
    assert edited(thinking_level="high", no_context_files=True) == BEFORE.replace(
        "enough\n", "enough\nthinkingLevel: high\n"
    ).replace("noExtensions: true\n", "noExtensions: true\nnoContextFiles: true\n")


def test_a_new_system_prompt_takes_the_place_of_the_body_alone() -> None:
    front, _, _ = BEFORE.partition("\nReview")
    assert edited(system_prompt=" New.\n\nLines. ") == f"{front}\nNew.\n\nLines.\n"
    assert edited(system_prompt="") == front


def test_the_mark_in_front_and_the_line_ends_of_a_file_stay() -> None:
    text = "\ufeff---\r\nname: a\r\n# c\r\n---"
    assert edited(text, model="m", system_prompt="One\nTwo") == (
        "\ufeff---\r\nname: a\r\nmodel: m\r\n# c\r\n---\r\n\r\nOne\r\nTwo\r\n"
    )


def test_fields_that_are_indented_stay_so() -> None:
    text = "---\n  name: a\n  model: m\n---\n"
    assert edited(text, model="n", tools=("x",)) == (
        "---\n  name: a\n  model: n\n  tools:\n  - x\n---\n"
    )


def test_a_value_that_could_not_be_read_is_replaced_only_when_it_is_set_anew() -> None:
    text = "---\nname: a\nthinkingLevel: lots\n---\n"
    assert edited(text, model="m") == "---\nname: a\nmodel: m\nthinkingLevel: lots\n---\n"
    assert edited(text, thinking_level="low") == "---\nname: a\nthinkingLevel: low\n---\n"


def test_what_would_become_part_of_the_text_before_it_goes_with_a_removed_field() -> None:
    text = "---\nname: a\nnote: |+\n  kept\n\nmodel: m\n\nprovider: p\n---\n"
    assert edited(text, model="") == "---\nname: a\nnote: |+\n  kept\n\nprovider: p\n---\n"


@pytest.mark.parametrize(
    "text",
    [
        "---\n{name: a, model: m}\n---\n",
        "no front matter",
        "---\nname: [\n---\n",
        "---\nmodel: m\n---\n",
    ],
)
def test_a_file_that_cannot_be_changed_line_by_line_is_left_alone(text: str) -> None:
    with pytest.raises(ProfileNotSaved) as refusal:
        edit_profile_text(text, Profile("a", model="n"))
    assert str(refusal.value) == f'Profile "a" cannot be saved: {messages.NOT_EDITABLE}'


def test_a_profile_that_no_file_can_hold_is_refused() -> None:
    with pytest.raises(ProfileNotSaved):
        edited(model="a\0b")
    with pytest.raises(ProfileNotSaved):
        edited(system_prompt="a\0b")


def test_what_changed_is_named_as_a_file_names_it() -> None:
    wanted = replace(WAS, system_prompt="x", tools=None)
    assert changed_fields(WAS, wanted) == ("systemPrompt", "tools")


gaps = st.sampled_from(["", "", "# kept\n", "\n", "\n# kept\n\n", "  # kept\n"])
known = st.sampled_from(
    [
        "provider: p\n", "model: 'a b'\n", "model: x # kept\n", "thinkingLevel: >-\n  high\n",
        "tools: a, b\n", "tools:\n- a\n- b\n", "tools: [a,\n  b] # kept\n", "noTools: false\n",
        "excludeTools: []\n", "extensions:\n  - |-\n    a\n", "noSkills: true\n",
        "loadSkills:\n", "suggestedSkills: ~\n", 'apiKey: "k\\\n  l"\n', "extraArgs: [--verbose]\n",
        "appendSystemPrompt: |\n  a\n   b\n\n  # text\n", "appendSystemPrompt: >+\n  a\n\n\n",
        "appendSystemPrompt: a\n  b\n  c\n", "? noContextFiles\n: true\n",
    ]
)  # fmt: skip
unknown = st.sampled_from(
    ["x: 1\n", "'y': {a: [b]}\n", "z: |+\n  kept\n\n", "w:\n  v:\n    - 1\n", "é: '#'\n"]
)


def key_of(lines: str) -> str:
    return lines.partition(":")[0].strip()


@st.composite
def files(draw: st.DrawFn) -> str:
    fields = draw(st.lists(known | unknown, max_size=6, unique_by=key_of))
    rows = draw(st.permutations(["name: a\n", *fields]))
    front = "".join(row + draw(gaps) for row in rows)
    body = draw(st.sampled_from(["", "Body", " a\n\n b\n"]))
    text = f"---\n{draw(gaps)}{front}---\n{body}"
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def others(text: str, changed: tuple[str, ...]) -> dict[str, Value]:
    return {k: v for k, v in parse_frontmatter(text).fields.items() if k not in changed}


@thoroughly
@given(files(), profiles)
def test_any_file_becomes_any_profile_and_keeps_its_comments_and_other_keys(
    text: str, wanted: Profile
) -> None:
    wanted = replace(
        wanted,
        name="a",
        system_prompt=read("---\nname: a\n---\n" + wanted.system_prompt).system_prompt,
    )
    changed = changed_fields(read(text), wanted)
    after = edit_profile_text(text, wanted)
    assert read(after) == wanted
    assert others(after, changed) == others(text, changed)
    if not changed:
        assert after == text


plain = st.sampled_from(["provider", "model", "thinkingLevel", "noSkills"])


@thoroughly
@given(st.lists(plain, unique=True), st.lists(plain, unique=True))
def test_comments_beside_plain_fields_all_survive(there: list[str], wanted: list[str]) -> None:
    values = {"provider": "p", "model": "m", "thinkingLevel": "low", "noSkills": "true"}
    text = "---\n# 0\nname: a\n" + "".join(f"# {k}\n{k}: {values[k]}\n\n" for k in there) + "---\n"
    fields = {
        "provider": "q" if "provider" in wanted else "",
        "model": "m" if "model" in wanted else "",
        "thinking_level": "low" if "thinkingLevel" in wanted else "",
        "no_skills": "noSkills" in wanted,
    }
    after = edit_profile_text(text, Profile("a", **fields))  # type: ignore[arg-type]  # fields by name, of many types
    kept = [line for line in after.split("\n") if line.startswith("# ")]
    assert kept == ["# 0", *(f"# {key}" for key in there)]
    assert sum(not line for line in after.split("\n")) == len(there) + 1
