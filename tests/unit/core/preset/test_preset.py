from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core import messages
from pi_subagents.core.definitions.definition import GLOBAL, FileProblem, is_definition_name
from pi_subagents.core.definitions.frontmatter import Frontmatter, Value, parse_frontmatter
from pi_subagents.core.preset.preset import (
    LoadedPreset,
    Preset,
    parse_preset,
    preset_profile,
    preset_to_markdown,
)
from pi_subagents.core.profile.profile import Profile
from pi_subagents.engines.pi.profile.options import profile_invocation
from pi_subagents.engines.pi.versions import traits_of

DOCUMENTED = Path(__file__).parents[3] / "golden" / "presets" / "repo-scout.md"
SCOUT = Preset(
    "repo-scout",
    "Fast repo exploration",
    model="github-copilot/gpt-4o",
    tools=("read", "grep", "find", "ls"),
    prompt="You are a scout. Explore quickly, summarize clearly, and avoid implementation.",
)
KEYS = ["name", "description", "model", "tools"]
NO_NAME = '"name" is required: 1 to 64 letters, digits, hyphens and underscores'
NO_DESCRIPTION = '"description" is required: a text that says what the preset is for'


def read(*lines: str, body: str = "") -> tuple[Preset | None, list[tuple[int, str, bool]]]:
    text = "\n".join(["---", "name: x", "description: d", *lines, "---", body])
    preset, problems = parse_preset("x.md", parse_frontmatter(text))
    assert all(found.path == "x.md" for found in problems)
    return preset, [(found.line, found.problem, found.fatal) for found in problems]


def fatal(key: str, problem: str) -> tuple[None, list[tuple[int, str, bool]]]:
    return None, [(4, f'"{key}" {problem}', True)]


def test_the_documented_example_is_read_whole_and_without_a_problem() -> None:
    content = parse_frontmatter(DOCUMENTED.read_text())
    assert parse_preset(str(DOCUMENTED), content) == (SCOUT, ())


def test_a_loaded_preset_goes_by_its_name() -> None:
    assert LoadedPreset(SCOUT, GLOBAL, "/x.md").name == "repo-scout"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", [(1, NO_NAME), (1, NO_DESCRIPTION)]),
        ("Only a body.", [(1, NO_NAME), (1, NO_DESCRIPTION)]),
        ("---\nname: x\n---\n", [(1, NO_DESCRIPTION)]),
        ("---\ndescription: d\n---\n", [(1, NO_NAME)]),
        ("---\nname: x\ndescription:\n---\n", [(3, NO_DESCRIPTION)]),
        ("---\nname: x\ndescription: ' \t'\n---\n", [(3, NO_DESCRIPTION)]),
        ("---\ndescription: d\nname: ../x\n---\n", [(3, NO_NAME)]),
        (f"---\ndescription: d\nname: {'x' * 65}\n---\n", [(3, NO_NAME)]),
    ],
)
def test_name_and_description_are_required(text: str, problems: list[tuple[int, str]]) -> None:
    expected = tuple(FileProblem("p", line, problem, fatal=True) for line, problem in problems)
    assert parse_preset("p", parse_frontmatter(text)) == (None, expected)


def test_a_description_is_any_text_trimmed() -> None:
    text = '---\nname: x\ndescription: "  true: #1, é "\n---\n'
    assert parse_preset("p", parse_frontmatter(text)) == (Preset("x", "true: #1, é"), ())


@pytest.mark.parametrize(
    ("given", "problem"),
    [("[a]", "must be a string"), ('"a\\0"', "must not contain a null byte")],
)
def test_a_description_that_is_no_text_is_fatal(given: str, problem: str) -> None:
    text = f"---\nname: x\ndescription: {given}\n---\n"
    expected = FileProblem("p", 3, f'"description" {problem}', fatal=True)
    assert parse_preset("p", parse_frontmatter(text)) == (None, (expected,))


def test_the_model_is_taken_as_it_is_written() -> None:
    assert read("model: a/b:high") == (Preset("x", "d", model="a/b:high"), [])
    assert read("model: 4.1") == (Preset("x", "d", model="4.1"), [])
    assert read("model:") == (Preset("x", "d"), [])
    assert read("model: [a]") == fatal("model", "must be a string")
    assert read('model: "a\\0"') == fatal("model", "must not contain a null byte")


def test_the_body_is_the_prompt_trimmed() -> None:
    assert read(body="\n One.\n\nTwo. \n") == (Preset("x", "d", prompt="One.\n\nTwo."), [])
    assert read(body=" \n") == (Preset("x", "d"), [])
    assert read(body="a\0b") == (None, [(1, messages.BODY_HAS_NULL, True)])


@pytest.mark.parametrize("written", ["a,b", " a , b,,", "[a, b]", '["a, b"]', "\n- a\n- b"])
def test_tools_are_a_list_or_a_text_with_commas(written: str) -> None:
    assert read(f"tools: {written}") == (Preset("x", "d", tools=("a", "b")), [])


@pytest.mark.parametrize("wrong", ["{a: b}", "[a, [b]]", "[~]"])
def test_tools_that_cannot_be_read_are_fatal_and_never_all_tools(wrong: str) -> None:
    assert read(f"tools: {wrong}") == fatal("tools", messages.MUST_BE_ITEMS)


def test_a_null_byte_in_a_tool_is_fatal() -> None:
    assert read('tools: ["a\\0"]') == fatal("tools", "must not contain a null byte")


@pytest.mark.parametrize("empty", ["", "~", "''", "','", "[]", "['']"])
def test_tools_that_are_there_but_empty_are_no_tools_and_told(empty: str) -> None:
    expected = Preset("x", "d", tools=()), [(4, messages.TOOLS_EMPTY, False)]
    assert read(f"tools: {empty}") == expected


@pytest.mark.parametrize(
    ("key", "close"), [("tool", "tools"), ("Model", "model"), ("desciption", "description")]
)
def test_an_unknown_field_is_told_with_what_may_have_been_meant(key: str, close: str) -> None:
    problem = f'unknown field "{key}"; ignored (did you mean "{close}"?)'
    assert read(f"{key}: a") == (Preset("x", "d"), [(4, problem, False)])


@pytest.mark.parametrize(
    "key", ["systemPrompt", "prompt", "apiKey", "extensions", "extraArgs", "noTools", "provider"]
)
def test_what_only_profiles_may_set_is_unknown_here(key: str) -> None:
    preset, [(line, problem, is_fatal)] = read(f"{key}: secret-value")
    assert (preset, line, is_fatal) == (Preset("x", "d"), 4, False)
    assert problem.startswith(f'unknown field "{key}"; ignored')
    assert "secret-value" not in problem


def test_many_unknown_fields_are_counted() -> None:
    preset, problems = read(*(f"zz{n}: 1" for n in range(500)))
    assert (preset, len(problems)) == (Preset("x", "d"), 11)
    assert problems[-1] == (14, "490 more unknown fields; ignored", False)


def test_all_problems_are_told_in_the_order_of_their_lines() -> None:
    assert read("zzz: 1", "tools: {}", "model: []") == (
        None,
        [
            (4, 'unknown field "zzz"; ignored', False),
            (5, f'"tools" {messages.MUST_BE_ITEMS}', True),
            (6, '"model" must be a string', True),
        ],
    )


def test_a_preset_starts_a_child_as_a_profile_with_an_appended_prompt() -> None:
    assert preset_profile(SCOUT) == Profile(
        "repo-scout",
        model=SCOUT.model,
        tools=SCOUT.tools,
        append_system_prompt=SCOUT.prompt,
    )


@pytest.mark.parametrize(
    ("preset", "options"),
    [
        (
            SCOUT,
            ("--model", "github-copilot/gpt-4o", "--append-system-prompt", "FILE",
             "--tools", "read,grep,find,ls"),
        ),
        (Preset("x", "d", tools=()), ("--append-system-prompt", "FILE", "--no-tools")),
        (Preset("x", "d"), ("--append-system-prompt", "FILE")),
    ],
)  # fmt: skip
def test_the_command_line_is_the_one_of_profiles(preset: Preset, options: tuple[str, ...]) -> None:
    made = profile_invocation(
        preset_profile(preset),
        system_prompt_file=None,
        append_prompt_file="FILE",
        skill_paths=(),
        parent_tools=None,
        traits=traits_of("0.87.1"),
    )
    assert (made.argv, made.environment) == (options, {})


values: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.text(max_size=8) | st.sampled_from(["x", "a,b", ",", "a\0", "x" * 65]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@thoroughly
@given(st.dictionaries(st.sampled_from([*KEYS, "prompt", "tool"]) | st.text(max_size=8), values), st.text(max_size=8))  # fmt: skip
def test_any_fields_are_a_preset_or_have_a_fatal_problem(
    fields: dict[str, Value], body: str
) -> None:
    lines = {key: number for number, key in enumerate(fields, 2)}
    preset, problems = parse_preset("p", Frontmatter(fields, lines, body.strip()))
    assert (preset is None) == any(found.fatal for found in problems)
    assert [found.line for found in problems] == sorted(found.line for found in problems)
    if preset is not None:
        assert is_definition_name(preset.name)
        assert preset.description == preset.description.strip() != ""
        assert preset.prompt == body.strip()
        assert (preset.tools is None) == ("tools" not in fields)  # no restriction is lost
        assert "\0" not in f"{preset.description}{preset.model}{preset.prompt}{preset.tools}"


SCHEMA = '{"type": "object", "properties": {"n": {"minimum": 1, "const": "1"}}, "x": null}'


@pytest.mark.parametrize(
    "lines",
    [
        [f"outputSchema: {SCHEMA}"],
        [f"outputSchema: '{SCHEMA}'"],
        ["outputSchema: |", f"  {SCHEMA}"],
        ["outputSchema:", "  type: object", "  properties:", "    n: {minimum: 1, const: '1'}", "  x:"],
    ],
)  # fmt: skip
def test_a_schema_is_json_or_the_same_in_yaml(lines: list[str]) -> None:
    preset, problems = read(*lines)
    assert problems == []
    assert preset is not None
    assert preset.output_schema == SCHEMA
    assert preset_profile(preset).output_schema == SCHEMA
    again, _ = parse_preset("p", parse_frontmatter(preset_to_markdown(preset)))
    assert again == preset


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("object", "must be a JSON schema: an object"),
        ("[1]", "must be a JSON schema: an object"),
        ("true", "must be a JSON schema: an object"),
        ("{$ref: x.json}", "refers to x.json; only references into the schema itself (#...) are followed"),
    ],
)  # fmt: skip
def test_what_is_no_schema_keeps_the_file_from_use(written: str, problem: str) -> None:
    preset, problems = read(f"outputSchema: {written}")
    assert preset is None
    assert problems == [(4, f'"outputSchema" {problem}', True)]
