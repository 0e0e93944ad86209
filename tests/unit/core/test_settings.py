from __future__ import annotations

import math
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_objects, json_values, thoroughly

from pi_subagents.core.engine_values import AgentCommand
from pi_subagents.core.settings import (
    _KEYS,
    InlineAnswers,
    Settings,
    SettingsProblem,
    parse_settings,
)
from pi_subagents.core.spending.budget import Budget

NAMED = (
    "should be an object whose names have small letters, digits, `-`, `_` and `.` alone, is dict; "
    "ignored"
)
COMMANDED = (
    "should be an object whose `a` has `command`, a list of texts, perhaps `env` and `like`, is "
    "dict; ignored"
)


def read(**section: object) -> tuple[Settings, tuple[SettingsProblem, ...]]:
    return parse_settings({"subagents": section}, None)


def test_the_defaults_are_those_of_the_seeds() -> None:
    assert parse_settings(None, None) == (
        Settings(
            max_lines_per_window=15,
            command_preview_width=160,
            extend_timeout_debounce=30,
            extend_timeout_max=3600,
            looping_tool_count=5,
            max_concurrency=4,
            max_machine_children=16,
            max_run_megabytes=256,
            retention_days=30,
            retention_megabytes=2048,
            runner="process",
            child_mode="rpc",
            reuse_children=True,
            warm_children=1,
            wrap_up_before=0,
            pi_command=None,
            extra={},
        ),
        (),
    )


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        (0, InlineAnswers(0, 0)),
        (100.9, InlineAnswers(100, 600)),
        (-5, InlineAnswers(0, 0)),
        (10**9, InlineAnswers(400_000, 400_000)),
        ({}, InlineAnswers(2000, 12_000)),
        ({"each": 300}, InlineAnswers(300, 1800)),
        ({"call": 5000}, InlineAnswers(2000, 5000)),
        ({"each": 300, "call": 100}, InlineAnswers(300, 100)),
    ],
)
def test_answers_have_a_room_each_and_one_together(said: object, meant: InlineAnswers) -> None:
    settings, problems = read(inline_answers=said)
    assert (settings.inline_answers, problems) == (meant, ())


@pytest.mark.parametrize(
    "said", ["much", True, None, [1], {"each": "much"}, {"all": 1}, {"each": None}]
)
def test_a_room_for_answers_that_is_none_leaves_the_default(said: object) -> None:
    settings, (problem,) = read(inline_answers=said)
    assert settings.inline_answers == InlineAnswers(2000, 12_000)
    assert problem.where == "global settings: subagents.inline_answers"


@pytest.mark.parametrize("content", [{}, {"theme": "dark"}, {"subagents": None}, {"subagents": {}}])
def test_a_file_without_our_section_changes_nothing(content: object) -> None:
    assert parse_settings(content, content) == (Settings(), ())


def test_every_setting_can_be_set() -> None:
    assert read(
        maxLinesPerWindow=25,
        commandPreviewWidth=120,
        extend_timeout_debounce=12.5,
        extend_timeout_max=60,
        looping_tool_count=9,
        max_concurrency=2,
        max_machine_children=8,
        max_run_megabytes=64,
        max_resume_kilobytes=32,
        retention_days=0.5,
        retention_megabytes=100,
        foreground_timeout=600,
        background_timeout=7200,
        on_complete=["notify", "done"],
        runner="tmux",
        tools="presets",
        engine="acp:codex",
        engines={"mine": {"command": ["mine", "--acp"], "env": {"A": "b"}}},
        child_mode="json",
        resume="replay",
        reuse_children=False,
        warm_children=4,
        wrap_up_before=20.5,
        inline_answers=500,
        wake_parent=True,
        project_definitions="deny",
        workspace="auto",
        workspace_max_megabytes=7,
        workspace_links=["node_modules/", "a/.venv"],
        workspace_setup="npm ci",
        pi_command="node pi.js",
    ) == (
        Settings(
            *(25, 120, 12.5, 60, 9, 2, 8, 64, 32, 0.5, 100, 600, 7200),
            on_complete=("notify", "done"),
            runner="tmux",
            tools="presets",
            engine="acp:codex",
            engines={"mine": AgentCommand(("mine", "--acp"), environment={"A": "b"})},
            child_mode="json",
            resume="replay",
            reuse_children=False,
            warm_children=4,
            wrap_up_before=20.5,
            inline_answers=InlineAnswers(500, 3000),
            wake_parent=True,
            project_definitions="deny",
            workspace="auto",
            workspace_max_megabytes=7,
            workspace_links=("node_modules", "a/.venv"),
            workspace_setup="npm ci",
            pi_command="node pi.js",
        ),
        (),
    )
    assert {name for name, _ in _KEYS.values()} == {f.name for f in fields(Settings)} - {
        "extra",
        "project_engine",
        "project_workspace_setup",
    }


def test_the_documented_settings_are_read() -> None:
    assert read(
        maxLinesPerWindow=25,
        commandPreviewWidth=120,
        extend_timeout_debounce=30,
        looping_tool_count=5,
    ) == (Settings(max_lines_per_window=25, command_preview_width=120), ())


@pytest.mark.parametrize(
    ("key", "given_value", "kept"),
    [
        ("maxLinesPerWindow", 0, 1),
        ("maxLinesPerWindow", -3, 1),
        ("background_timeout", 0, 0),
        ("background_timeout", 0.0, 0),
        ("background_timeout", 0.5, 1),
        ("background_timeout", -1, 1),
        ("background_timeout", 10**6, 86_400),
        ("maxLinesPerWindow", 10**6, 1000),
        ("commandPreviewWidth", 19, 20),
        ("commandPreviewWidth", 10**9, 100_000),
        ("extend_timeout_debounce", -1, 0),
        ("extend_timeout_debounce", 0, 0),
        ("extend_timeout_debounce", 301, 300),
        ("extend_timeout_max", -1, 0),
        ("extend_timeout_max", 10**6, 86_400),
        ("looping_tool_count", -1, 0),
        ("looping_tool_count", 51, 50),
        ("looping_tool_count", 4.9, 4),
        ("retention_days", -1, 0),
        ("retention_days", 10**6, 36_500),
        ("retention_megabytes", -1, 0),
        ("retention_megabytes", 10**9, 1_000_000),
        ("max_concurrency", 0, 1),
        ("max_concurrency", 17, 16),
        ("max_concurrency", math.inf, 16),
        ("max_concurrency", -math.inf, 1),
        ("max_concurrency", 10**400, 16),
        ("extend_timeout_debounce", -(10**400), 0),
        ("warm_children", -1, 0),
        ("warm_children", 0, 0),
        ("warm_children", 17, 16),
        ("warm_children", 1.9, 1),
        ("wrap_up_before", -1, 0),
        ("wrap_up_before", 0.5, 0.5),
        ("wrap_up_before", 3601, 3600),
    ],
)
def test_numbers_out_of_range_are_clamped(key: str, given_value: float, kept: float) -> None:
    assert read(**{key: given_value}) == (Settings(**{_KEYS[key][0]: kept}), ())  # type: ignore[arg-type]  # fields by name, of many types


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("max_concurrency", "4", "should be a number, is str; ignored"),
        ("max_concurrency", None, "should be a number, is NoneType; ignored"),
        ("max_concurrency", True, "should be a number, is bool; ignored"),
        ("max_concurrency", math.nan, "should be a number, is float; ignored"),
        ("looping_tool_count", [5], "should be a number, is list; ignored"),
        ("extend_timeout_debounce", {}, "should be a number, is dict; ignored"),
        ("tools", "some", 'should be "all" or "profiles" or "presets", not "some"; ignored'),
        ("tools", ["all"], 'should be "all" or "profiles" or "presets", is list; ignored'),
        ("runner", 1, 'should be "process" or "tmux" or "cluster", is int; ignored'),
        ("runner", ["tmux"], 'should be "process" or "tmux" or "cluster", is list; ignored'),
        ("runner", "screen", 'should be "process" or "tmux" or "cluster", not "screen"; ignored'),
        ("runner", "Tmux", 'should be "process" or "tmux" or "cluster", not "Tmux"; ignored'),
        (
            "runner",
            "\x1b[31mx\ny",
            'should be "process" or "tmux" or "cluster", not "x y"; ignored',
        ),
        (
            "runner",
            "b" * 99,
            f'should be "process" or "tmux" or "cluster", not "{"b" * 39}…"; ignored',
        ),
        ("child_mode", "RPC", 'should be "json" or "rpc", not "RPC"; ignored'),
        ("child_mode", None, 'should be "json" or "rpc", is NoneType; ignored'),
        ("child_mode", {"rpc": 1}, 'should be "json" or "rpc", is dict; ignored'),
        ("reuse_children", 1, "should be true or false, is int; ignored"),
        ("reuse_children", "no", "should be true or false, is str; ignored"),
        ("reuse_children", None, "should be true or false, is NoneType; ignored"),
        ("warm_children", True, "should be a number, is bool; ignored"),
        ("wrap_up_before", "20", "should be a number, is str; ignored"),
        ("workspace_links", "a", "should be a list of relative paths without .., is str; ignored"),
        (
            "workspace_links",
            ["../a"],
            "should be a list of relative paths without .., not \"['../a']\"; ignored",
        ),
        ("workspace_setup", ["npm"], "should be a command line, is list; ignored"),
        ("engine", " ", "should be the name of an engine, is str; ignored"),
        ("engines", ["x"], "should be an object of names, is list; ignored"),
        ("engines", {"A": {"command": ["a"]}}, NAMED),
        ("engines", {"a:b": {"command": ["a"]}}, NAMED),
        ("engines", {"a": ["a"]}, COMMANDED),
        ("engines", {"a": {"command": "a"}}, COMMANDED),
        ("engines", {"a": {"command": []}}, COMMANDED),
        ("engines", {"a": {"command": ["a\0"]}}, COMMANDED),
        ("engines", {"a": {"command": ["a"], "env": {"KEY": 1}}}, COMMANDED),
        ("engines", {"a": {"command": ["a"], "like": 1}}, COMMANDED),
        ("engines", {"a": {"command": ["a"], "more": 1}}, COMMANDED),
        ("pi_command", 7, "should be a command line or a list of strings, is int; ignored"),
        ("pi_command", "  ", "should be a command line or a list of strings, is str; ignored"),
        ("pi_command", [], "should be a command line or a list of strings, is list; ignored"),
        ("pi_command", ["a", 1], "should be a command line or a list of strings, is list; ignored"),
    ],
)
def test_a_wrong_type_is_reported_and_the_default_used(
    key: str, value: object, problem: str
) -> None:
    where = f"global settings: subagents.{key}"
    assert read(**{key: value}) == (Settings(), (SettingsProblem(where, problem),))


@pytest.mark.parametrize(
    ("columns", "width"), [(120, 116), (25, 21), (24, 20), (10, 20), (None, 90)]
)
def test_a_terminals_own_width_counts_before_the_setting(columns: int | None, width: int) -> None:
    assert Settings(command_preview_width=90).preview_width(columns) == width


def test_a_command_may_be_a_line_or_a_list() -> None:
    assert read(pi_command="node 'my pi.js'")[0].pi_command == "node 'my pi.js'"
    assert read(pi_command=["node", "my pi.js"])[0].pi_command == ("node", "my pi.js")


def test_unknown_keys_are_kept() -> None:
    settings, problems = parse_settings(
        {"subagents": {"future": {"a": 1}, "shared": 1}}, {"subagents": {"shared": 2}}
    )
    assert (settings, problems) == (Settings(extra={"future": {"a": 1}, "shared": 2}), ())


@pytest.mark.parametrize("runner", ["cluster", "cluster:gpu"])
def test_only_the_user_has_tasks_go_to_a_cluster(runner: str) -> None:
    assert read(runner=runner) == (Settings(runner=runner), ())
    settings, problems = parse_settings(None, {"subagents": {"runner": runner}})
    assert settings == Settings()
    assert [each.where for each in problems] == ["project settings: subagents.runner"]


def test_the_project_overrides_the_global_file_key_by_key() -> None:
    assert parse_settings(
        {"subagents": {"max_concurrency": 2, "looping_tool_count": 7}},
        {"subagents": {"max_concurrency": 3, "maxLinesPerWindow": 9}},
    ) == (Settings(max_lines_per_window=9, looping_tool_count=7, max_concurrency=3), ())


def test_a_wrong_value_of_the_project_leaves_the_global_one() -> None:
    assert parse_settings(
        {"subagents": {"max_concurrency": 2}}, {"subagents": {"max_concurrency": "many"}}
    ) == (
        Settings(max_concurrency=2),
        (
            SettingsProblem(
                "project settings: subagents.max_concurrency", "should be a number, is str; ignored"
            ),
        ),
    )


@pytest.mark.parametrize(
    "key", ["pi_command", "on_complete", "engines", "project_definitions", "wake_parent"]
)
def test_a_command_of_the_project_is_ignored_with_a_note(key: str) -> None:
    """A cloned repository must not choose what runs."""
    settings, problems = parse_settings(
        {"subagents": {"pi_command": "pi"}}, {"subagents": {key: "evil"}}
    )
    assert (settings, problems) == (
        Settings(pi_command="pi"),
        (
            SettingsProblem(
                f"project settings: subagents.{key}",
                "ignored: it counts in the global settings file only",
            ),
        ),
    )


def test_files_and_sections_that_are_no_objects_are_reported() -> None:
    assert parse_settings([], {"subagents": 7}) == (
        Settings(),
        (
            SettingsProblem("global settings", "should be a JSON object; ignored"),
            SettingsProblem("project settings: subagents", "should be a JSON object; ignored"),
        ),
    )


sections = st.fixed_dictionaries(
    {}, optional=dict.fromkeys([*_KEYS, "on_complete", "other"], json_values | st.floats())
)
files = json_values | json_objects | st.fixed_dictionaries({"subagents": sections | json_values})


@thoroughly
@given(files, files)
def test_any_json_gives_settings_within_their_ranges(global_file: object, project: object) -> None:
    settings, _ = parse_settings(global_file, project)
    assert 1 <= settings.max_lines_per_window <= 1000
    assert 20 <= settings.command_preview_width <= 100_000
    assert 0 <= settings.extend_timeout_debounce <= 300
    assert 0 <= settings.extend_timeout_max <= 86_400
    assert 0 <= settings.looping_tool_count <= 50
    assert 1 <= settings.max_concurrency <= 16
    assert settings.pi_command is None or settings.pi_command
    assert settings.runner in ("process", "tmux")
    assert settings.child_mode in ("json", "rpc")
    assert isinstance(settings.reuse_children, bool)
    assert 0 <= settings.warm_children <= 16
    assert 0 <= settings.wrap_up_before <= 3600


def test_a_project_cannot_shorten_what_is_kept() -> None:
    project = {"subagents": {"retention_days": 0.001, "retention_megabytes": 1}}
    settings, problems = parse_settings({"subagents": {"retention_days": 7}}, project)
    assert (settings.retention_days, settings.retention_megabytes) == (7, 2048)
    assert [problem.where for problem in problems] == [
        "project settings: subagents.retention_days",
        "project settings: subagents.retention_megabytes",
    ]


def test_a_project_tightens_its_budget_of_a_day_and_never_widens_it() -> None:
    user = {"subagents": {"project_day_budget": {"tokens": "200k", "cost": 1}}}
    project = {"subagents": {"project_day_budget": {"tokens": "100k", "cost": 9}}}
    settings, problems = parse_settings(user, project)
    assert (settings.project_day_budget, problems) == (Budget(tokens=100_000, cost=1), ())


def test_how_many_children_a_provider_may_have_is_the_users_alone_to_say() -> None:
    limits = {"subagents": {"provider_limits": {"acme": 3, "other": 5000}, "limit_wait_max": 60}}
    settings, problems = parse_settings(limits, limits)
    assert (settings.provider_limits, settings.limit_wait_max) == ({"acme": 3, "other": 1000}, 60)
    assert [each.where for each in problems] == ["project settings: subagents.provider_limits"]
    settings, problems = parse_settings({"subagents": {"provider_limits": 3}}, None)
    assert (settings.provider_limits, len(problems)) == ({}, 1)


def test_the_engine_of_a_project_is_kept_apart_since_it_counts_only_where_that_is_trusted() -> None:
    files = {"subagents": {"engine": "acp:codex"}}, {"subagents": {"engine": "acp:qwen"}}
    assert parse_settings(*files) == (
        Settings(engine="acp:codex", project_engine="acp:qwen"),
        (),
    )
