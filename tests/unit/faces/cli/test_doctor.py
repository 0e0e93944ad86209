"""How the doctor says what it found, and what it never says."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result
from tests.fakes.healthy_place import (
    agent_dir,
    healthy_place,
    make_run,
    runs_of,
    with_env,
    write_pi,
    write_settings,
)

from pi_subagents.faces.cli.main import group
from pi_subagents.service.doctor import store

if TYPE_CHECKING:
    from pi_subagents.system.home import CheckedPlace

A, B = "a" * 32, "b" * 32
CANARY = "canary-5b1d"


@pytest.fixture
def place(tmp_path: Path) -> CheckedPlace:
    return healthy_place(tmp_path)


@pytest.fixture
def run(place: CheckedPlace, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command, with a variable per keyword added to the healthy place."""
    monkeypatch.chdir(place.cwd)
    monkeypatch.setattr(store, "find_orphans", list)  # other tests run at the same time

    def invoke(*arguments: str, charset: str = "utf-8", **env: str) -> Result:
        given = with_env(place, **env).env
        unset: dict[str, str | None] = dict.fromkeys(set(os.environ) - set(given))
        return CliRunner(charset).invoke(
            group, ["doctor", *arguments], env={**unset, **given}, standalone_mode=False
        )

    return invoke


def test_a_healthy_machine_has_a_line_and_a_tick_for_everything(
    run: Any, place: CheckedPlace
) -> None:
    result = run()
    lines = result.output.splitlines()
    assert result.return_value == 0
    assert [line[:20].rstrip() for line in lines[:-2]] == [
        "✓ Python",
        "✓ Platform",
        "✓ Delegation",
        "✓ Agent directory",
        "✓ Global settings",
        "✓ Project settings",
        "✓ Project trust",
        "✓ Profiles",
        "✓ Presets",
        "✓ Extension in pi",
        "· Node",
        "✓ pi",
        "✓ Models",
        "✓ Run directory",
        "✓ Disk space",
        "✓ Lost runs",
        "✓ Index of runs",
        "✓ Unknown runs",
        "✓ Orphaned processes",
        "✓ Worktrees",
        "✓ MCP hosts",
        "✓ tmux",
    ]
    assert lines[-1] == "Sub-agents can run here."
    assert "\x1b" not in result.output


def test_what_keeps_delegation_from_working_is_told_with_a_way_out_and_exit_code_one(
    run: Any, place: CheckedPlace
) -> None:
    result = run(PI_SUBAGENTS_CHILD="1", PI_SUBAGENTS_PI="nowhere")
    assert result.return_value == 1
    assert (
        "✗ pi                 from PI_SUBAGENTS_PI: nowhere is not on PATH\n"
        "                     → Correct PI_SUBAGENTS_PI (a program on PATH or an absolute path, "
        "then its arguments), or unset it and run `subagents setup`.\n"
    ) in result.output
    assert result.output.endswith(
        "Sub-agents cannot run here yet. Fix this first: Delegation, pi.\n"
    )


def test_every_failing_line_says_how_to_fix_it(run: Any, place: CheckedPlace) -> None:
    write_settings(place, "{")
    checks = run("--json", PI_SUBAGENTS_CHILD="1", PI_SUBAGENTS_PI="nowhere").output
    failing = [
        each for each in json.loads(checks)["checks"] if each["state"] in ("problem", "fatal")
    ]
    assert [each["id"] for each in failing] == ["nesting", "settings-global", "pi"]
    assert [each["id"] for each in failing if not each["fix"]] == []


def test_json_is_one_object_with_every_check(run: Any, place: CheckedPlace) -> None:
    write_pi(place, version="echo 0.90.0")
    result = run("--json")
    value = json.loads(result.output)
    assert (result.return_value, value["schemaVersion"], value["ok"]) == (0, 1, True)
    (found,) = [check for check in value["checks"] if check["id"] == "pi"]
    assert found == {
        "id": "pi",
        "title": "pi",
        "state": "note",
        "found": f"0.90.0, from PATH: {place.cwd.parent}/usr/bin/pi; tested: 0.87.1 and 1.5.0",
        "fix": "To use pi 1.5.0: npm install --global @earendil-works/pi-coding-agent@1.5.0",
    }
    assert json.loads(run("--json", PI_SUBAGENTS_PI="nowhere").output)["ok"] is False


def test_problems_are_named_at_the_end(run: Any, place: CheckedPlace) -> None:
    write_pi(place, models="echo No models available. Use /login")
    assert run().output.endswith("Sub-agents can run here. Worth a look: Models.\n")


def test_the_two_forms_for_others_exclude_each_other(run: Any) -> None:
    assert "cannot be used together" in str(run("--json", "--report").exception)


def test_a_stream_without_ticks_still_tells_good_from_bad(run: Any) -> None:
    lines = run(charset="ascii", PI_SUBAGENTS_PI="nowhere").output.splitlines()
    assert {line[0] for line in lines if line and line[0] != " "} == {"+", "x", "-", "S"}


def test_a_working_directory_that_is_gone_is_told(
    place: CheckedPlace, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> Path:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "cwd", gone)
    result = run("--json", PWD="/nowhere")
    assert result.return_value == 1
    assert json.loads(result.output)["checks"][-1] == {
        "id": "cwd",
        "title": "Working directory",
        "state": "fatal",
        "found": "/nowhere no longer exists",
        "fix": "Change to another directory.",
    }


CANARY_SETTINGS: dict[str, Any] = {
    "apiKey": CANARY,
    "subagents": {
        "pi_command": f"pi --api-key {CANARY}",
        "secret": CANARY,
        CANARY: CANARY,
        "max_concurrency": CANARY,
        "retention_days": [CANARY],
        "on_complete": CANARY,
    },
}
WITH_CANARIES = {
    "healthy": {},
    "key as argument": {"PI_SUBAGENTS_PI": f"pi --api-key {CANARY}"},
    "echoing pi": {"PI_SUBAGENTS_PI": f"/bin/echo {CANARY}"},
    "failing pi": {"PI_SUBAGENTS_PI": f"/bin/ls --{CANARY}"},
    "quotes that do not match": {"PI_SUBAGENTS_PI": f"pi '{CANARY}"},
    "key before the program": {"PI_SUBAGENTS_PI": f"ANTHROPIC_API_KEY={CANARY} pi"},
    "key before a path": {"PI_SUBAGENTS_PI": f"/bin/KEY={CANARY} pi"},
    "a null byte": {"PI_SUBAGENTS_PI": ""},
}


@pytest.mark.parametrize("form", [(), ("--json",), ("--report",)], ids=["people", "json", "report"])
@pytest.mark.parametrize("case", WITH_CANARIES)
def test_no_form_of_the_output_holds_a_secret(
    run: Any, place: CheckedPlace, case: str, form: tuple[str, ...]
) -> None:
    settings = json.loads(json.dumps(CANARY_SETTINGS))
    if case == "a null byte":
        settings["subagents"]["pi_command"] = ["pi", f"{CANARY}\0"]
    write_settings(place, settings)
    write_settings(place, settings, project=True)
    (agent_dir(place) / "trust.json").write_text(json.dumps({str(place.cwd): CANARY}))
    (agent_dir(place) / "auth.json").write_text(json.dumps({"anthropic": {"key": CANARY}}))
    keys = {"ANTHROPIC_API_KEY": CANARY, "MY_SECRET": CANARY, "PI_API_KEY": CANARY}
    result = run(*form, **keys, **WITH_CANARIES[case])
    assert result.exception is None
    assert CANARY not in result.output


def test_a_broken_settings_file_is_not_quoted(run: Any, place: CheckedPlace) -> None:
    write_settings(place, f'{{"subagents": {CANARY}')
    for form in ((), ("--json",), ("--report",)):
        assert CANARY not in run(*form).output


def test_a_report_of_a_real_examination_holds_no_place_of_this_machine(
    run: Any, place: CheckedPlace
) -> None:
    result = run("--report")
    assert result.return_value == 0
    assert str(place.cwd.parent) not in result.output
    assert sys.prefix not in result.output
    assert "  ok      pi: 1.5.0, from PATH: pi\n" in result.output


def test_run_directories_from_elsewhere_are_told_and_adopted_on_request(
    place: CheckedPlace, run: Any
) -> None:
    make_run(place, A)
    broken = runs_of(place).store.run_dir(B)
    broken.path.mkdir()
    assert store.check_unknown(runs_of(place)) == store.UNKNOWN.note(
        "2 run directories here came from elsewhere (a clone, a copy, a moved project) and are "
        "never recovered or removed",
        "To treat them as your own: subagents doctor --reindex",
    )
    checks = {each["id"]: each for each in json.loads(run("--json", "--reindex").output)["checks"]}
    assert checks["reindex"]["found"] == "1 run directory adopted, 1 left out"
    assert checks["unknown-runs"]["found"].startswith("1 run directory here came from elsewhere")
    assert [row.run_id for row in runs_of(place).index.all()] == [A]
