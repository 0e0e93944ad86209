from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.golden.documented_profiles import PLACE, PROFILES
from tests.unit.core.given_values import thoroughly

from pi_subagents.core import messages as core_messages
from pi_subagents.core.definitions.definition import FileProblem, is_definition_name
from pi_subagents.core.definitions.frontmatter import Frontmatter, Value, parse_frontmatter
from pi_subagents.core.profile.profile import (
    FIELDS,
    ISOLATIONS,
    MCP_CHOICES,
    THINKING_LEVELS,
    Profile,
    parse_profile,
)
from pi_subagents.core.workspace.modes import WORKSPACES

KEYS = [key for key in FIELDS if key != "systemPrompt"]
TEXTS = ["provider", "model", "thinkingLevel", "appendSystemPrompt", "apiKey"]
FLAGS = ["noTools", "noExtensions", "noSkills", "noContextFiles"]
NAMES = ["tools", "excludeTools", "suggestedSkills", "loadSkills"]
LISTS = [*NAMES, "extensions", "extraArgs"]


def read(*lines: str, body: str = "") -> tuple[Profile | None, list[tuple[int, str, bool]]]:
    text = "\n".join(["---", "name: x", *lines, "---", body])
    profile, problems = parse_profile("x.md", parse_frontmatter(text))
    assert all(found.path == "x.md" for found in problems)
    return profile, [(found.line, found.problem, found.fatal) for found in problems]


def fatal(key: str, problem: str) -> tuple[None, list[tuple[int, str, bool]]]:
    return None, [(3, f'"{key}" {problem}', True)]


def set_to(key: str, value: object) -> Profile:
    return Profile("x", **{FIELDS[key]: value})  # type: ignore[arg-type]  # fields by name, of many types


@pytest.mark.parametrize("expected", PROFILES, ids=lambda profile: profile.name)
def test_every_documented_example_is_read_whole_and_without_a_problem(expected: Profile) -> None:
    path = PLACE / f"{expected.name}.md"
    assert parse_profile(str(path), parse_frontmatter(path.read_text())) == (expected, ())


def test_the_documented_examples_are_all_there() -> None:
    assert sorted(path.stem for path in PLACE.iterdir()) == [each.name for each in PROFILES]


def test_the_seeds_fields_and_ours_each_belong_to_one_of_a_profile() -> None:
    assert len(KEYS) == 16 + 10
    ours = ["engine", "isolation", "mcp", "questions", "permissions", "outputSchema", "budget"]
    ours += ["workspace", "confine", "check"]
    assert sorted(KEYS) == sorted(["name", *TEXTS, *FLAGS, *LISTS, *ours])
    assert set(FIELDS.values()) == set(Profile.__slots__)


@pytest.mark.parametrize(
    "name", ["true", "constructor", "123", "a", "--", "_", "A-b_9", "x" * 64, "off"]
)
def test_a_plain_word_of_any_meaning_is_a_name(name: str) -> None:
    assert is_definition_name(name)
    found = parse_profile("p", parse_frontmatter(f"---\nname: {name}\n---\n"))
    assert found == (Profile(name), ())


@pytest.mark.parametrize(
    "name",
    ["''", "~", "", "a b", "a/b", "../a", ".", "a.md", "ä", "x" * 65, '"a\\n"', "[a]", "{a: b}", "\uff41",
     '"a\\0"', "/etc/passwd", "\u0661"],
)  # fmt: skip
def test_what_could_not_be_a_file_name_of_ours_is_no_name(name: str) -> None:
    found = parse_profile("p", parse_frontmatter(f"---\nmodel: m\nname: {name}\n---\n"))
    problem = '"name" is required: 1 to 64 letters, digits, hyphens and underscores'
    assert found == (None, (FileProblem("p", 3, problem, fatal=True),))


@pytest.mark.parametrize("text", ["", "Only a body.", "---\nmodel: m\n---\n", "---\n---\n"])
def test_a_file_without_a_name_is_no_profile(text: str) -> None:
    problem = core_messages.field_problem("name", core_messages.NEEDS_NAME)
    expected = (None, (FileProblem("p", 1, problem, fatal=True),))
    assert parse_profile("p", parse_frontmatter(text)) == expected


def test_the_body_is_the_system_prompt_trimmed_and_an_empty_one_is_none() -> None:
    assert read(body="\n  One.\n\nTwo. \n\n") == (Profile("x", system_prompt="One.\n\nTwo."), [])
    assert read(body=" \n\t\n") == (Profile("x"), [])


@pytest.mark.parametrize("key", TEXTS)
def test_a_text_is_taken_as_it_is(key: str) -> None:
    value = "high" if key == "thinkingLevel" else " a: b, #c "
    assert read(f'{key}: "{value}"') == (set_to(key, value), [])
    for empty in ("", "~", "''"):
        assert read(f"{key}: {empty}") == (Profile("x"), [])
    assert read(f"{key}: [a]") == fatal(key, "must be a string")
    assert read(f"{key}: {{a: b}}") == fatal(key, "must be a string")
    assert read(f'{key}: "a\\0b"') == fatal(key, "must not contain a null byte")


@pytest.mark.parametrize("key", FLAGS)
def test_a_flag_is_true_or_false_and_anything_else_is_fatal(key: str) -> None:
    for yes in ("true", "True", "TRUE", "'true'", '"tRue"'):
        assert read(f"{key}: {yes}") == (set_to(key, value=True), [])
    for no in ("false", "False", "'FALSE'"):
        assert read(f"{key}: {no}") == (Profile("x"), [])
    for wrong in (
        "",
        "~",
        "yes",
        "no",
        "on",
        "1",
        "0",
        "' true'",
        "truee",
        "[true]",
        "{true: true}",
    ):
        assert read(f"{key}: {wrong}") == fatal(key, "must be true or false")


@pytest.mark.parametrize("key", LISTS)
def test_a_list_is_a_yaml_list_or_a_text_with_commas(key: str) -> None:
    for written in (
        "a,b,true", " a , b,, true ,", "[a, b, true]", "[a, b, '', true]", '"a,b,true"',
        "\n- a\n- b\n- true",
    ):  # fmt: skip
        assert read(f"{key}: {written}") == (set_to(key, ("a", "b", "true")), [])


@pytest.mark.parametrize("key", [*NAMES, "extensions"])
def test_names_and_paths_in_a_list_are_trimmed(key: str) -> None:
    assert read(f"{key}: [' a ', b]") == (set_to(key, ("a", "b")), [])


@pytest.mark.parametrize("key", LISTS)
def test_what_is_no_list_of_texts_is_fatal(key: str) -> None:
    for wrong in ("{a: b}", "[a, [b]]", "[a, {b: c}]", "[a, ~]", "[~]", "\n- a\n-"):
        assert read(f"{key}: {wrong}") == fatal(key, core_messages.MUST_BE_ITEMS)
    assert core_messages.MUST_BE_ITEMS == "must be a list of strings, or one string with commas"


EMPTY = ["", "~", "''", "','", "[]", "['']"]


@pytest.mark.parametrize("empty", EMPTY)
def test_an_allowlist_without_a_tool_allows_none_and_says_so(empty: str) -> None:
    problem = '"tools" is empty: the sub-agent gets no tools'
    assert read(f"tools: {empty}") == (Profile("x", tools=()), [(3, problem, False)])


@pytest.mark.parametrize("empty", EMPTY)
def test_other_lists_may_be_empty(empty: str) -> None:
    assert read(f"excludeTools: {empty}") == (Profile("x", exclude_tools=()), [])
    for key in ("extensions", "extraArgs", "suggestedSkills", "loadSkills"):
        assert read(f"{key}: {empty}") == (Profile("x"), [])


def test_a_comma_separates_names_also_within_a_list_but_not_paths_and_arguments() -> None:
    for key in NAMES:
        assert read(f'{key}: ["bash, edit", read]') == (set_to(key, ("bash", "edit", "read")), [])
    for key in ("extensions", "extraArgs"):
        assert read(f'{key}: ["/a,b.js", c]') == (set_to(key, ("/a,b.js", "c")), [])


def test_of_a_listed_argument_nothing_is_trimmed_so_that_a_leading_blank_is_seen() -> None:
    assert read('extraArgs: [" --verbose", "a "]') == (
        Profile("x", extra_args=(" --verbose", "a ")), [],
    )  # fmt: skip
    assert read("extraArgs: --verbose , a") == (Profile("x", extra_args=("--verbose", "a")), [])


def test_a_null_byte_is_fatal_wherever_nothing_else_looks_for_it() -> None:
    for key in (*NAMES, "extensions"):
        assert read(f'{key}: ["a\\0"]') == fatal(key, "must not contain a null byte")
    assert read('extraArgs: ["a\\0"]') == (Profile("x", extra_args=("a\0",)), [])
    problem = "the system prompt must not contain a null byte"
    assert read(body="a\0b") == (None, [(1, problem, True)])


def test_the_thinking_levels_of_pi_are_known() -> None:
    assert THINKING_LEVELS == ("off", "minimal", "low", "medium", "high", "xhigh", "max")
    for level in THINKING_LEVELS:
        assert read(f"thinkingLevel: {level}") == (Profile("x", thinking_level=level), [])


@pytest.mark.parametrize("level", ["ultra", "High", "true", "' high'"])
def test_another_thinking_level_is_reported_and_left_out(level: str) -> None:
    problem = '"thinkingLevel" must be one of off, minimal, low, medium, high, xhigh, max; left out'
    assert read(f"thinkingLevel: {level}") == (Profile("x"), [(3, problem, False)])


@pytest.mark.parametrize("mcp", MCP_CHOICES)
def test_a_profile_can_say_whether_its_children_have_mcp_servers(mcp: str) -> None:
    assert read(f"mcp: {mcp}") == (Profile("x", mcp=mcp), [])
    assert read("mcp:") == (Profile("x"), [])


@pytest.mark.parametrize("mcp", ["some", "All", "true", "github", "' all'"])
def test_another_word_for_mcp_is_reported_and_starts_no_server(mcp: str) -> None:
    problem = '"mcp" must be one of none, all; no MCP server is used'
    assert read(f"mcp: {mcp}") == (Profile("x", mcp="none"), [(3, problem, False)])


def test_mcp_is_one_word_and_no_list_of_servers() -> None:
    assert read("mcp: [github]") == fatal("mcp", "must be a string")


def test_a_profile_can_say_where_its_children_work_and_how_that_is_checked() -> None:
    for workspace in WORKSPACES:
        written = f"workspace: {workspace}\nconfine: true\ncheck: pytest -q"
        expected = Profile("x", workspace=workspace, confine=True, check="pytest -q")
        assert read(written) == (expected, [])
    problem = '"workspace" must be one of shared, worktree, auto'
    assert read("workspace: mine") == (Profile("x", workspace="worktree"), [(3, problem, False)])


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_profile_can_say_how_isolated_its_children_are(isolation: str) -> None:
    assert read(f"isolation: {isolation}") == (Profile("x", isolation=isolation), [])


def test_an_isolation_that_is_none_means_the_strictest_and_is_reported() -> None:
    problem = '"isolation" must be one of fresh, reuse; every task gets a new process'
    assert read("isolation: total") == (Profile("x", isolation="fresh"), [(3, problem, False)])


@pytest.mark.parametrize(
    ("key", "close"),
    [
        ("thinkinglevel", "thinkingLevel"), ("no_tools", "noTools"), ("NOTOOLS", "noTools"),
        ("exclude-tools", "excludeTools"), ("api_key", "apiKey"), ("loadSkill", "loadSkills"),
    ],
)  # fmt: skip
def test_an_unknown_field_is_reported_with_what_may_have_been_meant(key: str, close: str) -> None:
    problem = f'unknown field "{key}"; ignored (did you mean "{close}"?)'
    assert read("model: m", f"{key}: true") == (Profile("x", model="m"), [(4, problem, False)])


def test_an_unknown_field_that_resembles_none_is_reported_alone_and_printable() -> None:
    assert read("description: [a, {b: c}]")[1] == [
        (3, 'unknown field "description"; ignored', False)
    ]
    assert read('"\\e[31m\\nzzz": 1')[1] == [(3, 'unknown field "zzz"; ignored', False)]
    ((_, problem, _),) = read(f"{'z' * 1000}: 1")[1]
    assert problem == f'unknown field "{"z" * 63}…"; ignored'


def test_many_unknown_fields_are_counted() -> None:
    profile, problems = read(*(f"zz{n}: 1" for n in range(5000)))
    assert profile == Profile("x")
    assert problems == [
        *((3 + n, f'unknown field "zz{n}"; ignored', False) for n in range(10)),
        (13, "4990 more unknown fields; ignored", False),
    ]


def test_all_problems_are_told_in_the_order_of_their_lines() -> None:
    assert read("zzz: 1", "noTools: maybe", "tools:", "provider: []", "thinkingLevel: x") == (
        None,
        [
            (3, 'unknown field "zzz"; ignored', False),
            (4, '"noTools" must be true or false', True),
            (5, core_messages.TOOLS_EMPTY, False),
            (6, '"provider" must be a string', True),
            (7, core_messages.wrong_thinking_level(THINKING_LEVELS), False),
        ],
    )


def test_no_problem_shows_a_value_and_no_profile_its_key() -> None:
    secret = "sk-secret-secret-secret"
    _, problems = read(f"apiKey: [{secret}]", f"noTools: {secret}", f"thinkingLevel: {secret}")
    profile, _ = read(f"apiKey: {secret}")
    assert len(problems) == 3
    assert secret not in f"{problems}{profile}"


def test_a_problem_reads_as_one_printable_line() -> None:
    problem = FileProblem("a\n\x1b[31m/b.md", 7, "is odd", fatal=True)
    assert str(problem) == "a /b.md:7: is odd"


values: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.text(max_size=8) | st.sampled_from(["true", "False", "a,b", ",", "high", "x\0"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@thoroughly
@given(st.dictionaries(st.sampled_from([*KEYS, "systemPrompt", "notools"]) | st.text(max_size=8), values), st.text(max_size=8))  # fmt: skip
def test_any_fields_are_a_profile_or_have_a_fatal_problem(
    fields: dict[str, Value], body: str
) -> None:
    lines = {key: number for number, key in enumerate(fields, 2)}
    profile, problems = parse_profile("p", Frontmatter(fields, lines, body.strip()))
    assert (profile is None) == any(found.fatal for found in problems)
    assert [found.line for found in problems] == sorted(found.line for found in problems)
    if profile is not None:
        assert is_definition_name(profile.name)
        for key in FLAGS:  # no restriction is lost
            assert getattr(profile, FIELDS[key]) == (str(fields.get(key)).lower() == "true")
        assert (profile.tools is None) == ("tools" not in fields)
        assert (profile.exclude_tools is None) == ("excludeTools" not in fields)
