"""What becomes of agents of Claude Code, opencode, Codex and Gemini CLI, field by field."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.definitions.frontmatter import parse_frontmatter
from pi_subagents.core.foreign import messages
from pi_subagents.core.foreign.convert import Converted, KnownNames, to_preset, to_profile
from pi_subagents.core.foreign.names import PROGRAMS
from pi_subagents.core.foreign.table import FORMATS
from pi_subagents.core.preset.preset import Preset, parse_preset
from pi_subagents.core.profile.profile import Profile, parse_profile
from pi_subagents.errors import AgentFileUnreadable

if TYPE_CHECKING:
    from pi_subagents.core.foreign.agent import ForeignAgent

KNOWN = KnownNames(
    models=("anthropic/claude-sonnet-4-5", "openai/gpt-5"),
    tools=("read", "bash", "edit", "write", "grep", "find", "ls"),
    skills=("review",),
)

CLAUDE = b"""---
name: code-reviewer
description: Reviews code. Example: "look at it": yes
tools: Read, Grep, Glob, WebFetch, Bash(git diff:*)
model: sonnet
color: red
---
You review code.
"""
OPENCODE = b"""---
description: Looks around
mode: subagent
model: anthropic/claude-sonnet-4-5
temperature: 0.1
tools:
  write: false
  webfetch: false
  read: true
permission:
  edit: ask
  bash:
    "*": allow
    "git push": deny
---
You look around.
"""
CODEX = b"""
name = "explorer"
description = "Reads only"
model = "gpt-5"
model_reasoning_effort = "none"
sandbox_mode = "read-only"
nickname_candidates = ["Ada"]
developer_instructions = '''
Stay in exploration mode.
'''
"""
CODEX_CONFIG = b"""
model = "gpt-5"
[profiles.quick]
model = "o9"
model_reasoning_effort = "low"
approval_policy = "never"
"""
GEMINI = b"""---
name: auditor
kind: local
tools: [read_file, grep_search, run_shell_command, google_web_search]
model: inherit
max_turns: 10
---
You audit.
"""


def made(format_name: str, data: bytes, kind: str = "profile", stem: str = "file") -> Converted:
    (agent,) = FORMATS[format_name].parse(stem, data)
    if kind == "preset":
        return to_preset(agent, KNOWN, FORMATS[format_name].title)
    return to_profile(agent, KNOWN)


def profile_of(converted: Converted) -> Profile:
    profile, problems = parse_profile("", parse_frontmatter(converted.text))
    assert profile is not None
    assert [each for each in problems if each.fatal] == []
    return profile


def preset_of(converted: Converted) -> Preset:
    preset, problems = parse_preset("", parse_frontmatter(converted.text))
    assert preset is not None
    assert [each for each in problems if each.fatal] == []
    return preset


def rows(converted: Converted) -> list[tuple[str, str]]:
    return [(row.field, row.becomes) for row in converted.rows]


def test_every_program_has_a_line_in_the_table() -> None:
    assert tuple(FORMATS) == PROGRAMS


def test_claude_code_also_where_its_front_matter_is_no_yaml() -> None:
    converted = made("claude-code", CLAUDE)
    assert profile_of(converted) == Profile(
        "code-reviewer", system_prompt="You review code.", tools=("read", "grep", "find")
    )
    assert rows(converted) == [
        ("name", "name: code-reviewer"),
        ("description", messages.left_out(messages.NO_DESCRIPTION)),
        ("tools", "tools: read, grep, find"),
        ("tools", messages.patterns_not_kept(("Bash(git diff:*)",))),
        ("tools", messages.no_such_tools(("WebFetch",))),
        ("model", messages.model_not_known("sonnet")),
        ("color", messages.left_out(messages.NOT_HERE)),
        (messages.BODY, messages.SYSTEM_PROMPT),
    ]


def test_opencode_is_called_after_its_file_and_what_it_would_ask_about_is_excluded() -> None:
    converted = made("opencode", OPENCODE, stem="looker")
    assert profile_of(converted) == Profile(
        "looker",
        model="anthropic/claude-sonnet-4-5",
        system_prompt="You look around.",
        exclude_tools=("write", "edit", "bash"),
    )
    assert rows(converted) == [
        ("description", messages.left_out(messages.NO_DESCRIPTION)),
        ("mode", messages.left_out(messages.NOT_HERE)),
        ("model", "model: anthropic/claude-sonnet-4-5"),
        ("temperature", messages.left_out(messages.NOT_HERE)),
        ("tools", "excludeTools: write"),
        ("tools", messages.no_such_tools(("webfetch",))),
        ("permission", "excludeTools: write, edit, bash"),
        (messages.BODY, messages.SYSTEM_PROMPT),
    ]


def test_codex_agents_are_toml_and_a_read_only_sandbox_becomes_tools_that_read() -> None:
    converted = made("codex", CODEX)
    assert profile_of(converted) == Profile(
        "explorer",
        model="openai/gpt-5",
        thinking_level="off",
        system_prompt="Stay in exploration mode.",
        tools=("read", "grep", "find", "ls"),
    )
    assert rows(converted) == [
        ("name", "name: explorer"),
        ("description", messages.left_out(messages.NO_DESCRIPTION)),
        ("model", "model: openai/gpt-5"),
        ("model_reasoning_effort", "thinkingLevel: off"),
        ("sandbox_mode", "tools: read, grep, find, ls"),
        ("nickname_candidates", messages.left_out(messages.NOT_HERE)),
        ("developer_instructions", messages.SYSTEM_PROMPT),
    ]


def test_profiles_of_codex_configuration_are_agents_without_a_prompt() -> None:
    converted = made("codex", CODEX_CONFIG, stem="config")
    assert profile_of(converted) == Profile("quick", thinking_level="low")
    assert rows(converted) == [
        ("model", messages.model_not_known("o9")),
        ("model_reasoning_effort", "thinkingLevel: low"),
        ("approval_policy", messages.left_out(messages.NOT_HERE)),
    ]
    assert FORMATS["codex"].parse("config", b'model = "gpt-5"') == ()


def test_gemini_tools_have_names_of_their_own() -> None:
    converted = made("gemini", GEMINI)
    assert profile_of(converted) == Profile(
        "auditor", system_prompt="You audit.", tools=("read", "grep", "bash")
    )
    assert rows(converted) == [
        ("name", "name: auditor"),
        ("kind", messages.left_out(messages.NOT_HERE)),
        ("tools", "tools: read, grep, bash"),
        ("tools", messages.no_such_tools(("google_web_search",))),
        ("model", messages.INHERITS),
        ("max_turns", messages.left_out(messages.NOT_HERE)),
        (messages.BODY, messages.SYSTEM_PROMPT),
    ]


def test_a_preset_keeps_the_description_and_turns_exclusions_into_a_list() -> None:
    assert preset_of(made("opencode", OPENCODE, "preset", "looker")) == Preset(
        "looker",
        "Looks around",
        "anthropic/claude-sonnet-4-5",
        ("read", "grep", "find", "ls"),
        "You look around.",
    )
    assert preset_of(made("gemini", GEMINI, "preset")).description == messages.imported_from(
        "Gemini CLI"
    )


@pytest.mark.parametrize(
    ("tools", "allowed"),
    [
        ("tools: WebFetch, Task", ()),
        ("tools: []", ()),
        ("tools: '*'", None),
        ("tools: Read\ndisallowedTools: Read", ()),
        ("disallowedTools: Bash(rm:*)", None),
        ("color: red", None),
    ],
)
def test_a_restriction_never_falls_away(tools: str, allowed: tuple[str, ...] | None) -> None:
    profile = profile_of(made("claude-code", f"---\nname: a\n{tools}\n---\n".encode()))
    assert profile.tools == allowed
    assert (profile.exclude_tools == ("bash",)) == ("rm" in tools)


@pytest.mark.parametrize(
    ("lines", "excluded"),
    [
        ("permission: ask", ("read", "bash", "edit", "write", "grep", "find", "ls")),
        ("permission: allow", None),
        ("permission:\n  bash: maybe", ("bash",)),
        (
            "permission:\n  '*': deny\n  read: allow\n  grep: allow",
            ("bash", "edit", "write", "find", "ls"),
        ),
        ("tools:\n  edit: no", ("edit",)),
    ],
)
def test_what_opencode_would_not_simply_allow_is_excluded(
    lines: str, excluded: tuple[str, ...] | None
) -> None:
    profile = profile_of(made("opencode", f"---\n{lines}\n---\n".encode()))
    assert profile.exclude_tools == excluded


def test_only_skills_that_exist_are_loaded() -> None:
    converted = made("claude-code", b"---\nname: a\nskills: review, other\n---\n")
    assert profile_of(converted).load_skills == ("review",)
    assert rows(converted)[1] == (
        "skills",
        f"loadSkills: review; {messages.skills_not_known(('other',))}",
    )


@pytest.mark.parametrize(
    ("format_name", "data", "problem"),
    [
        ("claude-code", b"\xff", messages.NOT_TEXT),
        ("gemini", b"---\nname: [\n- x\n---\n", "line "),
        ("claude-code", b"---\ndisallowedTools: {a: b}\n---\n", '"disallowedTools" '),
        ("codex", b"= 1", messages.toml_unreadable("")),
        ("codex", b"a = 1", messages.NO_AGENT),
        ("claude-code", b"# How we work\n\nRead this first.\n", messages.NO_AGENT),
        ("gemini", b"No front matter", messages.NO_AGENT),
        ("opencode", b"", messages.NO_AGENT),
        ("opencode", b"---\n: x\n", "line 1"),
    ],
)
def test_what_cannot_be_read_is_a_clear_problem(
    format_name: str, data: bytes, problem: str
) -> None:
    with pytest.raises(AgentFileUnreadable) as refused:
        FORMATS[format_name].parse("file", data)
    assert refused.value.problem.startswith(problem)


@pytest.mark.parametrize(
    ("format_name", "data"),
    [
        ("claude-code", b"---\nmodel: [a, b]\ndescription: d\n---\nx"),
        ("gemini", b"---\nmodel: [a, b]\n---\nx"),
        ("opencode", b"---\nmodel: [a, b]\n---\nx"),
        ("codex", b'developer_instructions = "x"\nmodel = 3'),
    ],
)
def test_a_model_that_is_no_text_is_left_out_and_said_to_be(format_name: str, data: bytes) -> None:
    (agent,) = FORMATS[format_name].parse("file", data)
    made = to_profile(agent, KNOWN)
    assert {row.field: row.becomes for row in made.rows}["model"] == "left out: it is no text"
    assert "model" not in made.text


BYTES = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")),
    st.dictionaries(
        st.sampled_from(["name", "description", "tools", "model", "permission", "skills", "x"]),
        st.one_of(st.text(max_size=20), st.lists(st.text(max_size=8), max_size=3)).map(repr),
        max_size=5,
    ).map(lambda fields: "\n".join(["---", *(f"{k}: {v}" for k, v in fields.items()), "---", "x"])
          .encode("utf-8", "replace")),
)  # fmt: skip


@pytest.mark.parametrize("format_name", [*FORMATS])
@thoroughly
@given(data=BYTES)
def test_any_bytes_become_files_that_are_read_back_or_a_problem(
    format_name: str, data: bytes
) -> None:
    agents: tuple[ForeignAgent, ...] = ()
    with suppress(AgentFileUnreadable):  # anything else is a fault
        agents = FORMATS[format_name].parse("stem", data)
    for agent in agents:
        assert profile_of(to_profile(agent, KNOWN)).name == agent.name
        assert preset_of(to_preset(agent, KNOWN, "any")).name == agent.name
