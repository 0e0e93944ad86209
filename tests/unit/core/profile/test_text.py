from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.golden.documented_profiles import PLACE, PROFILES
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.definitions.frontmatter import parse_frontmatter
from pi_subagents.core.profile.profile import THINKING_LEVELS, Profile, parse_profile
from pi_subagents.core.profile.text import (
    mask_key,
    profile_detail,
    profile_summary,
    profile_to_markdown,
)
from pi_subagents.core.value import replace

FULL = Profile(
    "full",
    provider="p",
    model="m",
    thinking_level="low",
    system_prompt="One.\n\n  Two.",
    append_system_prompt="Be brief.",
    api_key="sk-test-abc123",
    tools=("read", "grep"),
    no_tools=True,
    exclude_tools=("bash", "edit"),
    no_extensions=True,
    extensions=("/a.js", "/b.js"),
    no_skills=True,
    suggested_skills=("s", "t"),
    load_skills=("u",),
    no_context_files=True,
    extra_args=("--verbose", "-x"),
)


@pytest.mark.parametrize(
    ("profile", "line"),
    [
        # As recorded from the original in a terminal, with what its documents promise beside it.
        (Profile("code-reviewer", provider="scripted", model="other", thinking_level="high",
                 system_prompt="You are an expert code reviewer.", tools=("read", "bash", "grep")),
         ('profile: code-reviewer, provider=scripted, model=other, thinking=high, '
          'custom-system-prompt="You are an expert code reviewer.", tools=[read,bash,grep]')),
        (Profile("fast-worker", model="scripted/scripted", thinking_level="off",
                 append_system_prompt="Be concise.", no_skills=True),
         'profile: fast-worker, model=scripted/scripted, thinking=off, appended-system-prompt="Be concise."'),
        (Profile("demo", thinking_level="off", system_prompt="You are a helpful coding assistant.",
                 no_tools=True, no_extensions=True),
         'profile: demo, thinking=off, custom-system-prompt="You are a helpful coding assistant.", no-tools'),
        # Ours.
        (Profile("x"), "profile: x"),
        (Profile("x", provider="zai"), "profile: x, provider=zai"),
        (Profile("x", tools=()), "profile: x, tools=[]"),
        (Profile("x", exclude_tools=()), "profile: x"),
        (FULL,
         ('profile: full, provider=p, model=m, thinking=low, custom-system-prompt="One. Two.", '
         'appended-system-prompt="Be brief.", '
         "tools=[read,grep], no-tools, exclude-tools=[bash,edit], extensions=[/a.js,/b.js], "
         "suggested-skills=[s,t], load-skills=[u], extra-args=[--verbose,-x]")),
        (Profile("x", model="a\x1b[31m\nb", tools=("c\td\u202e",)), "profile: x, model=a b, tools=[c d]"),
    ],
)  # fmt: skip
def test_a_summary_is_one_line_of_what_matters(profile: Profile, line: str) -> None:
    assert profile_summary(profile) == line


def test_of_a_long_prompt_a_summary_has_the_beginning() -> None:
    assert profile_summary(
        Profile("x", system_prompt="y" * 60, append_system_prompt="z " * 31)
    ) == (f'profile: x, custom-system-prompt="{"y" * 60}", appended-system-prompt="{"z " * 29}z…"')


def test_the_details_are_those_recorded_from_the_original() -> None:
    reviewer = Profile(
        "code-reviewer",
        provider="scripted",
        model="other",
        thinking_level="high",
        system_prompt="You are an expert code reviewer.",
        tools=("read", "bash", "grep"),
    )
    assert profile_detail(reviewer) == (
        "Profile: code-reviewer\n"
        "  provider:          scripted\n"
        "  model:             other\n"
        "  thinkingLevel:     high\n"
        "  systemPrompt:      You are an expert code reviewer.\n"
        "  tools:             [read, bash, grep]"
    )
    worker = Profile(
        "fast-worker",
        model="scripted/scripted",
        thinking_level="off",
        append_system_prompt="Be concise.",
        no_skills=True,
    )
    assert profile_detail(worker) == (
        "Profile: fast-worker\n"
        "  model:             scripted/scripted\n"
        "  thinkingLevel:     off\n"
        "  appendSystemPrompt: Be concise.\n"
        "  noSkills:          true"
    )


def test_the_details_have_every_field_and_mask_the_key() -> None:
    assert profile_detail(FULL) == (
        "Profile: full\n"
        "  provider:          p\n"
        "  model:             m\n"
        "  thinkingLevel:     low\n"
        "  systemPrompt:      One.\n"
        "\n"
        "                       Two.\n"
        "  appendSystemPrompt: Be brief.\n"
        "  tools:             [read, grep]\n"
        "  noTools:           true\n"
        "  excludeTools:      [bash, edit]\n"
        "  noExtensions:      true\n"
        "  extensions:        [/a.js, /b.js]\n"
        "  noSkills:          true\n"
        "  suggestedSkills:   [s, t]\n"
        "  loadSkills:        [u]\n"
        "  noContextFiles:    true\n"
        "  apiKey:            sk-t****bc123\n"
        "  extraArgs:         [--verbose, -x]"
    )


def test_empty_tool_lists_are_shown_because_they_were_set() -> None:
    assert profile_detail(Profile("x", tools=(), exclude_tools=())) == (
        "Profile: x\n  tools:             []\n  excludeTools:      []"
    )


def test_nothing_in_a_profile_can_drive_a_terminal() -> None:
    evil = "a\x1b[2J\r\x07\u202eb"
    profile = Profile(
        evil, evil, evil, evil, evil + "\nc", evil, evil * 3, (evil,), extra_args=(evil,)
    )
    assert profile_detail(profile) == (
        "Profile: ab\n"
        "  provider:          ab\n"
        "  model:             ab\n"
        "  thinkingLevel:     ab\n"
        "  systemPrompt:      ab\n"
        "                     c\n"
        "  appendSystemPrompt: ab\n"
        "  tools:             [ab]\n"
        "  apiKey:            ****\n"
        "  extraArgs:         [ab]"
    )
    assert profile_summary(profile) == (
        'profile: ab, provider=ab, model=ab, thinking=ab, custom-system-prompt="ab c", '
        'appended-system-prompt="ab", '
        "tools=[ab], extra-args=[ab]"
    )


def test_a_long_prompt_is_cut_and_says_so() -> None:
    lines = profile_detail(Profile("x", system_prompt="\n".join(["y" * 600] * 25))).split("\n")
    shown = "y" * 499 + "…"
    assert lines == [
        "Profile: x", f"  systemPrompt:      {shown}", *[" " * 21 + shown] * 19,
        " " * 21 + "… (5 more lines)",
    ]  # fmt: skip
    one_more = profile_detail(Profile("x", system_prompt="\n".join("z" * 21)))
    assert one_more.endswith("z\n" + " " * 21 + "… (1 more line)")
    twenty = profile_detail(Profile("x", append_system_prompt="\n".join("z" * 20)))
    assert twenty.endswith("\n" + " " * 21 + "z")


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("sk-test-abc123", "sk-t****bc123"),
        ("sk-proj-abc123def456ghi789", "sk-p****hi789"),
        ("sk-test-abc12", "****"),
        ("", "****"),
    ],
)
def test_a_key_is_masked_and_a_short_one_hidden(key: str, shown: str) -> None:
    assert mask_key(key) == shown


def test_a_file_reads_as_a_person_would_write_it() -> None:
    profile = replace(FULL, append_system_prompt="One.\n\n# two: 'three'\n", name="true")
    assert (
        profile_to_markdown(profile)
        == """---
name: 'true'
provider: p
model: m
thinkingLevel: low
appendSystemPrompt: |
  One.

  # two: 'three'
tools:
- read
- grep
noTools: true
excludeTools:
- bash
- edit
noExtensions: true
extensions:
- /a.js
- /b.js
noSkills: true
suggestedSkills:
- s
- t
loadSkills:
- u
noContextFiles: true
apiKey: sk-test-abc123
extraArgs:
- --verbose
- -x
---

One.

  Two.
"""
    )
    assert profile_to_markdown(Profile("x")) == "---\nname: x\n---\n"
    padded = Profile("x", system_prompt=" \n One. \n\n")
    assert profile_to_markdown(padded) == "---\nname: x\n---\n\nOne.\n"
    assert profile_to_markdown(Profile("x", system_prompt=" \n")) == "---\nname: x\n---\n"


def read_back(profile: Profile) -> Profile | None:
    text = profile_to_markdown(profile)
    return parse_profile("x.md", parse_frontmatter(text))[0]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_the_documented_examples_come_back(profile: Profile) -> None:
    assert read_back(profile) == profile
    assert (PLACE / f"{profile.name}.md").is_file()


odd = st.sampled_from(
    ["true", "null", "~", "", "#", " #x", ": ", "a: b", "'", '"', "---", "\n---\n", "...", "|", ">", "- a", "&a", "*a",
     "!!str a", "<<", "{}", "[a]", "%x", "@x", "`", "\\", "\t", "\r", "\r\n", "\n", " ", "  a", "a  ", "\x85", "\u2028",
     "\u2029", "\ufeff", "\x1b", "\x7f", "é", "🎈", "\ufffe", "1e3", "0x1", "2001-01-01", "=", "?", ","],
)  # fmt: skip
texts = st.lists(odd | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6), max_size=6).map("".join)  # fmt: skip
names = texts.map(lambda text: text.replace(",", "").strip()).filter(bool)
paths = texts.map(str.strip).filter(bool)


def tuples(items: st.SearchStrategy[str]) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(items, max_size=3).map(tuple)


profiles = st.builds(
    Profile,
    name=st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True) | st.sampled_from(["true", "null", "1", "-"]),
    provider=texts,
    model=texts,
    thinking_level=st.sampled_from(["", *THINKING_LEVELS]),
    system_prompt=texts,
    append_system_prompt=texts,
    api_key=texts,
    tools=st.none() | tuples(names),
    exclude_tools=st.none() | tuples(names),
    no_tools=st.booleans(),
    no_extensions=st.booleans(),
    extensions=tuples(paths),
    no_skills=st.booleans(),
    suggested_skills=tuples(names),
    load_skills=tuples(names),
    no_context_files=st.booleans(),
    extra_args=tuples(texts.filter(bool)),
)  # fmt: skip


@thoroughly
@given(profiles)
@example(Profile("x", system_prompt="---\nname: y\n---"))
@example(Profile("x", append_system_prompt="One.\n"))
@example(Profile("x", append_system_prompt="\n\n  a\n b \n\n---\n\n"))
def test_every_profile_comes_back_from_its_file_exactly(profile: Profile) -> None:
    body = profile.system_prompt.replace("\r\n", "\n").replace("\r", "\n").strip()
    assert read_back(profile) == replace(profile, system_prompt=body)


@thoroughly
@given(profiles)
def test_no_profile_shows_its_key_or_a_control_character(profile: Profile) -> None:
    secret = "sk-" + "0123456789" * 3
    keyed = replace(profile, api_key=secret)
    shown = profile_detail(keyed) + profile_summary(keyed)
    assert secret not in shown
    assert secret[4:-5] not in shown
    assert not any(ord(character) < 32 for character in shown if character not in "\n\t")
    assert "\n" not in profile_summary(keyed)
