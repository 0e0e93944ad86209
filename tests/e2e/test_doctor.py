"""The doctor on a real machine, with the real pi."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.command import heard, start, subagents
from tests.e2e.conftest import Project
from tests.e2e.pi_under_test import TRAITS, needs_tested_version

from pi_subagents.core.messages import INTERRUPTED

pytestmark = pytest.mark.pi

CANARY = "canary-7c2e"
WAITING = [
    {"text": "on it", "toolCalls": [{"name": "bash", "arguments": {"command": "sleep 1000"}}]}
]
FORMS = ((), ("--json",), ("--report",))


def checks(project: Project, *arguments: str, **env: str) -> dict[str, dict[str, Any]]:
    ran = subagents(project, "doctor", "--json", *arguments, **env)
    assert ran.err == ""
    return {check["id"]: check for check in ran.json["checks"]}


def runs_dir(project: Project) -> Path:
    return project.path / ".pi/subagents/runs"


@needs_tested_version
def test_a_new_user_is_told_that_all_is_well_but_for_a_model(project: Project) -> None:
    ran = subagents(project, "doctor")
    assert (ran.code, ran.err) == (0, "")
    assert re.search(
        rf"^✓ pi                 {re.escape(TRAITS.version)}, from ", ran.out, re.MULTILINE
    )
    assert re.search(r"^✓ Node               2\d\.\d+\.\d+ \(/", ran.out, re.MULTILINE)
    assert (
        "! Models             none configured; only --offline works\n"
        "                     → Set the API key variable of your provider"
    ) in ran.out
    assert "\nSub-agents can run here. Worth a look: Models" in ran.out
    assert "\x1b" not in ran.out


def test_a_key_makes_models_and_is_not_shown(project: Project) -> None:
    ran = subagents(project, "doctor", "--json", ANTHROPIC_API_KEY=CANARY)
    assert (ran.code, ran.err, CANARY in ran.out) == (0, "", False)
    (models,) = [check for check in ran.json["checks"] if check["id"] == "models"]
    assert models["state"] == "ok"
    assert re.fullmatch(r"\d+ of 1 provider \(anthropic\); not tried", models["found"])


def test_no_form_holds_what_is_configured_anywhere(project: Project) -> None:
    settings = {
        "defaultModel": CANARY,
        "subagents": {
            "pi_command": f"pi --api-key {CANARY}",
            "more": CANARY,
            "retention_days": CANARY,
        },
    }
    (project.agent_dir / "settings.json").write_text(json.dumps(settings))
    (project.path / ".pi/settings.json").write_text(json.dumps(settings))
    (project.agent_dir / "trust.json").write_text(json.dumps({str(project.path): CANARY}))
    auth = {"anthropic": {"type": "api_key", "key": CANARY}}
    (project.agent_dir / "auth.json").write_text(json.dumps(auth))
    real = project.env["PI_SUBAGENTS_PI"]
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MY_KEY"), CANARY)
    for command in (f"{real} --api-key {CANARY}", ""):
        for form in FORMS:
            ran = subagents(project, "doctor", *form, PI_SUBAGENTS_PI=command, **keys)
            assert ran.code in (0, 1)
            assert (form, CANARY in ran.out + ran.err) == (form, False)


@needs_tested_version
def test_a_report_says_what_it_holds_not_and_names_no_place(project: Project) -> None:
    ran = subagents(project, "doctor", "--report", USER="somebody")
    assert ran.code == 0
    assert f"  ok      pi: {TRAITS.version}, from PI_SUBAGENTS_PI: " in ran.out
    assert ran.out.splitlines()[-1].startswith("This report holds no keys, no prompts")
    for hidden in (str(project.path.parent), "somebody", os.environ["PATH"]):
        assert hidden not in ran.out


def test_without_a_pi_the_exit_code_is_one(project: Project, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = subagents(project, "doctor", PI_SUBAGENTS_PI="", PATH=str(tmp_path / "empty"))
    assert ran.code == 1
    assert (
        "✗ pi                 none found\n                     → Run `subagents setup`" in ran.out
    )
    assert ran.out.endswith("Sub-agents cannot run here yet. Fix this first: pi.\n")


def test_a_sub_agent_is_told_that_it_may_not_delegate(project: Project) -> None:
    ran = subagents(project, "doctor", PI_SUBAGENTS_CHILD="1")
    assert ran.code == 1
    assert "✗ Delegation         refused: this process is itself a sub-agent" in ran.out


def test_a_project_that_never_delegated_is_left_as_it_was(project: Project) -> None:
    before = sorted(project.path.rglob("*"))
    subagents(project, "doctor", "--reindex")
    assert sorted(project.path.rglob("*")) == before


def test_a_run_whose_supervisor_was_killed_is_concluded_and_nothing_of_it_is_left(
    project: Project,
) -> None:
    script = project.path / "script.json"
    script.write_text(json.dumps(WAITING))
    process = start(project, "run", "--offline-script", str(script), "x")
    heard(process, "sleep 1000")
    (run_id,) = [each.name for each in runs_dir(project).iterdir() if len(each.name) == 32]
    living = checks(project)
    assert living["recovery"]["found"] == "none"
    assert run_id not in living["orphans"]["found"]

    # Stopped first, so that it cannot tidy up after its supervisor itself.
    process.send_signal(signal.SIGSTOP)
    meta = json.loads((runs_dir(project) / run_id / "meta.json").read_bytes())
    os.kill(meta["supervisor"]["pid"], signal.SIGKILL)
    process.kill()
    process.communicate()
    lost = checks(project)
    assert lost["recovery"]["found"] == (
        "1 had lost its supervisor and is now marked as interrupted"
    )
    assert run_id not in lost["orphans"]["found"]
    result = json.loads((runs_dir(project) / run_id / "result.json").read_bytes())
    assert (result["status"], result["errorMessage"]) == ("interrupted", INTERRUPTED)


def test_a_process_that_outlived_its_run_is_named_with_its_run(project: Project) -> None:
    run_id = os.urandom(16).hex()
    orphan = subprocess.Popen(
        ["/bin/sh", "-c", "echo ready; read line"],
        env={"PI_SUBAGENTS_RUN": run_id},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert orphan.stdout is not None
    orphan.stdout.readline()
    try:
        check = checks(project)["orphans"]
        assert check["state"] == "problem"
        assert f"process {orphan.pid} of run {run_id}" in check["found"].splitlines()
        assert orphan.poll() is None
    finally:
        orphan.communicate()


def test_runs_of_a_clone_are_left_alone_until_they_are_adopted(project: Project) -> None:
    script = project.path / "script.json"
    script.write_text(json.dumps([{"text": "fine"}]))
    ran = subagents(project, "run", "--json", "--offline-script", str(script), "x")
    run_id = ran.json["details"]["results"][0]["runId"]
    clone = Project(project.path.parent / "clone", {**project.env, "PI_SUBAGENTS_DATA": ""})
    clone.env["XDG_DATA_HOME"] = str(project.path.parent / "another-user")
    shutil.copytree(project.path, clone.path)

    assert checks(project)["unknown-runs"]["found"] == "none"
    found = checks(clone)
    assert (found["unknown-runs"]["state"], found["unknown-runs"]["fix"]) == (
        "note",
        "To treat them as your own: subagents doctor --reindex",
    )
    adopted = checks(clone, "--reindex")
    assert adopted["reindex"]["found"] == "1 run directory adopted"
    assert adopted["unknown-runs"]["found"] == "none"
    elsewhere = Project(project.path.parent / "elsewhere", clone.env)
    elsewhere.path.mkdir()
    assert subagents(elsewhere, "show", run_id, "--output").out == "fine\n"
