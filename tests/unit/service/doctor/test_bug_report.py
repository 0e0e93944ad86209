from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakes.healthy_place import with_env, write_settings

from pi_subagents.core.check import Check
from pi_subagents.core.value import replace
from pi_subagents.service.doctor.bug_report import format_report

if TYPE_CHECKING:
    from pi_subagents.system.home import CheckedPlace


def test_a_report_names_things_and_hides_places_and_people(place: CheckedPlace) -> None:
    home = place.cwd.parent / "alice"
    (home / ".pi/agent").mkdir(parents=True)
    own = replace(
        place,
        env={"HOME": str(home), "USER": "alice", "PI_CODING_AGENT_DIR": "/somewhere/alice/agent"},
    )
    write_settings(own, {"subagents": {"max_concurrency": 9, "pi_command": "x", "more": 1}})
    own = with_env(own, PI_CODING_AGENT_DIR=str(home / ".pi/agent"))
    text = format_report(
        [
            Check("a", "A", "ok", f"in {home}/x, {home}", public=""),
            Check("b", "B", "problem", "secret", "do this", public="public"),
            Check("c", "C", "note", f"{place.cwd}/.pi\n{home}/.pi/agent/y /scratch/alice/z"),
            Check("d", "D", "fatal", f"{home}-of-another {home}/.local/share/pi-subagents"),
        ],
        own.cwd,
        own.env,
    )
    head, _, rest = text.partition("\n\nChecks\n")
    assert head.startswith("subagents doctor --report\n\npi-subagents ")
    assert rest == (
        "  ok      a: in ~/x, ~\n"
        "  problem b: public\n"
        "  note    c: <project>/.pi | <agent directory>/y /scratch/<user>/z\n"
        f"  fatal   d: {home}-of-another <data directory>\n"
        "\n"
        "Settings in effect\n"
        "  maxLinesPerWindow: 15 (default)\n"
        "  commandPreviewWidth: 160 (default)\n"
        "  extend_timeout_debounce: 30 (default)\n"
        "  extend_timeout_max: 3600 (default)\n"
        "  looping_tool_count: 5 (default)\n"
        "  max_concurrency: 9\n"
        "  max_machine_children: 16 (default)\n"
        "  max_run_megabytes: 256 (default)\n"
        "  max_resume_kilobytes: 128 (default)\n"
        "  retention_days: 30 (default)\n"
        "  retention_megabytes: 2048 (default)\n"
        "  foreground_timeout: not set (default)\n"
        "  background_timeout: 86400 (default)\n"
        "  warm_children: 1 (default)\n"
        "  wrap_up_before: 0 (default)\n"
        "  workspace_max_megabytes: 100 (default)\n"
        "  answer_within: 600 (default)\n"
        "  limit_wait_max: 21600 (default)\n"
        "  pi_command: set (not shown)\n"
        "  other keys: 1 (not shown)\n"
        "\n"
        "This report holds no keys, no prompts and no values of environment variables; "
        "read it once before you send it."
    )
