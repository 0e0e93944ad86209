"""The command as people and scripts use it, with the real pi and the offline model."""

import dataclasses
import json
import re
import shlex
import signal
import subprocess
from pathlib import Path

import pytest
from tests.e2e.command import ENTRY, ended, heard, start, subagents
from tests.e2e.conftest import Project

from pi_subagents.core.messages import NOTE_EMPTY_ANSWER

pytestmark = pytest.mark.pi

WAITING = [
    {"text": "on it", "toolCalls": [{"name": "bash", "arguments": {"command": "sleep 1000"}}]}
]
ESCAPE = "\x1b"


def script(project: Project, turns: object) -> str:
    path = project.path / "script.json"
    path.write_text(json.dumps(turns))
    return str(path)


def test_run_prints_progress_beside_and_in_a_pipe_the_answer_alone(project: Project) -> None:
    (project.path / "a.py").write_text("x = 1\n")
    ran = subagents(project, "run", "--offline", "Count the Python files in .", "--name", "count")
    assert ran.code == 0
    assert re.search(r"^\[count\] started$", ran.err, re.MULTILINE)
    assert re.search(r"^\[count\] There is 1 Python file in \.", ran.err, re.MULTILINE)
    assert re.search(r"^\[count\] completed after \d+s$", ran.err, re.MULTILINE)
    assert re.fullmatch(r"There is 1 Python file in \..*\n", ran.out)
    assert "not a language model" in ran.err
    assert ESCAPE not in ran.out + ran.err


def test_run_json_and_call_print_the_same_object(project: Project) -> None:
    turns = script(project, [{"text": "fine", "usage": {"input": 10, "output": 2}}])
    tasks = {"tasks": [{"name": "one", "prompt": "x"}, {"name": "two", "prompt": "y"}]}
    called = subagents(
        project, "call", "delegate_to_subagents", "-", "--offline-script", turns,
        stdin=json.dumps(tasks),
    )  # fmt: skip
    ran = subagents(
        project, "run", "--json", "--offline-script", turns, "x", "y", "--name", "one",
        "--name", "two",
    )  # fmt: skip
    for done in (called, ran):
        assert done.code == 0
        value = done.json
        results = value["details"]["results"]
        ids = [each["sessionId"] for each in results]
        lines, answers = (block["text"] for block in value["content"])
        assert lines == (
            f"✓ one: completed (session: {ids[0]})\n✓ two: completed (session: {ids[1]})"
        )
        assert answers.split("\n").count("fine") == 2
        assert (value["schemaVersion"], value["isError"]) == (1, False)
        assert value["details"]["sessionIds"] == ids
        assert [{k: each[k] for k in sorted(each)} for each in results] == [
            {
                "durationMs": each["durationMs"],
                "errorMessage": None,
                "exitCode": 0,
                "model": each["model"],
                "name": name,
                "nextCall": None,
                "notes": [],
                "output": "fine",
                "runId": each["runId"],
                "sessionId": each["sessionId"],
                "status": "completed",
                "usage": {
                    "input": 10,
                    "output": 2,
                    "cacheRead": 0,
                    "cacheWrite": 0,
                    "totalTokens": 12,
                    "cost": {"total": 0.0},
                },
            }
            for name, each in zip(("one", "two"), results, strict=True)
        ]
        assert all(re.fullmatch("[0-9a-f]{32}", each["runId"]) for each in results)


def test_a_failed_task_makes_exit_code_one_and_names_its_error(project: Project) -> None:
    turns = script(project, [{"error": {"status": 401, "message": "who are you"}}])
    ran = subagents(project, "run", "--offline-script", turns, "x")
    assert (ran.code, ran.out) == (1, "")
    assert re.search(
        r"^\[x\] failed after \d+s\n"
        r"\[x\] The provider refused the key \(401\)\.\n"
        r"\[x\] Check the key: subagents pi, then /login\.\n\Z",
        ran.err,
        re.MULTILINE,
    )
    (run,) = subagents(project, "runs", "--json").json["runs"]
    assert "who are you" in subagents(project, "show", run["runId"]).out


def test_a_missing_directory_fails_its_task_only(project: Project) -> None:
    turns = script(project, [{"text": "fine"}])
    tasks = [
        {"name": "here", "prompt": "x"},
        {"name": "nowhere", "prompt": "x", "cwd": str(project.path / "missing")},
    ]
    ran = subagents(
        project, "call", "delegate_to_subagents", json.dumps({"tasks": tasks}),
        "--offline-script", turns,
    )  # fmt: skip
    assert ran.code == 1
    results = ran.json["details"]["results"]
    assert [(r["status"], r["errorMessage"]) for r in results] == [
        ("completed", None),
        ("error", f"cwd does not exist or is not a directory: {project.path / 'missing'}"),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("call", "delegate_to_subagents", "{"), "parameters: must be JSON: "),
        (("call", "delegate_to_subagents", "[]"), "parameters: must be an object with a list"),
        (("call", "delegate_to_subagents"), "tasks: is required and must be a list"),
        (
            ("call", "nonsense"),
            'Unknown tool: "nonsense". Available tools: delegate_to_subagents, ',
        ),
        (
            ("call", "delegate_to_subagents", '{"tasks":[{"name":"a","prompt":"b","cwd":"x"}]}'),
            "cwd must be an absolute path",
        ),
        (
            (
                "call",
                "delegate_to_subagents",
                '{"tasks":[{"name":"a","prompt":"b","cwd":"/x/.."}]}',
            ),
            "cwd must not contain '..' path segments",
        ),
    ],
)
def test_a_refused_call_says_why_and_starts_nothing(
    project: Project, arguments: tuple[str, ...], message: str
) -> None:
    ran = subagents(project, *arguments)
    assert ran.code == 2
    assert ran.json["isError"] is True
    assert ran.json["content"][0]["text"].startswith(message)
    assert not (project.path / ".pi/subagents").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run",), "Give at least one PROMPT, or a --task-file."),
        (("run", " "), "Prompt 1 is empty."),
        (
            ("run", "x", "--timeout", "0.5"),
            "Invalid value for '--timeout': 0.5 is not in the range 1<=x<=86400.",
        ),
        (("run", *(["x"] * 17)), "tasks: must hold 1 to 16 tasks, not 17"),
        (("run", "x", "--name", "a", "--name", "b"), "2 names for 1 prompt."),
        (("show", "ffff"), 'Run "ffff" not found in '),
        (("stop", "../../etc"), 'Run "../../etc" not found in '),
        (("nonsense",), 'No such command "nonsense".'),
        (("--quiet", "--verbose", "runs"), "--quiet and --verbose cannot be used together."),
    ],
)
def test_bad_input_is_one_clear_error_and_exit_code_two(
    project: Project, arguments: tuple[str, ...], message: str
) -> None:
    ran = subagents(project, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"Error: {message}" in ran.err
    assert "Traceback" not in ran.err
    assert not (project.path / ".pi/subagents").exists()


def test_a_sub_agent_may_not_delegate(project: Project) -> None:
    ran = subagents(project, "run", "x", PI_SUBAGENTS_CHILD="1")
    assert (ran.code, ran.out) == (2, "")
    assert "This process is itself a sub-agent" in ran.err


def test_a_broken_script_refuses_the_call_and_names_the_place(project: Project) -> None:
    ran = subagents(project, "run", "--offline-script", script(project, [{"txt": "x"}]), "x")
    assert ran.code == 2
    assert "txt" in ran.err
    assert "Traceback" not in ran.err


def test_no_pi_anywhere_says_how_to_get_one(project: Project) -> None:
    ran = subagents(project, "run", "x", PI_SUBAGENTS_PI="", PATH="/usr/bin:/bin")
    assert (ran.code, ran.out) == (2, "")
    assert "subagents setup" in ran.err


def test_runs_show_and_stop_tell_the_truth_about_a_finished_run(project: Project) -> None:
    turns = script(project, [{"text": "the answer"}])
    done = subagents(project, "run", "--json", "--offline-script", turns, "question", "--name", "q")
    run_id = done.json["details"]["results"][0]["runId"]

    listed = subagents(project, "runs")
    row = listed.out.splitlines()[1].split()
    assert (row[:3], row[-1]) == ([run_id[:8], "✓", "completed"], "q")
    assert subagents(project, "runs", "--json").json["runs"][0]["runId"] == run_id
    assert subagents(project, "runs", "--active").out.startswith("Nothing is running.")

    shown = subagents(project, "show", run_id[:8])
    assert "\nTask\nquestion\n" in shown.out
    assert "\nAnswer\nthe answer\n" in shown.out
    assert subagents(project, "show", run_id, "--output").out == "the answer\n"
    described = subagents(project, "show", run_id, "--json").json
    assert described["result"]["output"] == "the answer"
    assert [Path(p).name for p in described["files"]] == [
        "child-session.jsonl",
        "events.jsonl",
        "meta.json",
        "prompt.md",
        "result.json",
        "stderr.log",
        "stdout.log",
        "transcript.log",
    ]

    stopped = subagents(project, "stop", run_id)
    assert stopped.code == 2
    assert "is not running (status: completed)" in stopped.err


def test_a_session_is_told_by_its_id_from_anywhere(project: Project) -> None:
    turns = script(
        project,
        [
            {"toolCalls": [{"name": "bash", "arguments": {"command": "echo hi"}}]},
            {"text": "It said hi."},
        ],
    )
    done = subagents(project, "run", "--json", "--offline-script", turns, "Say hi", "--name", "hi")
    session_id = done.json["details"]["results"][0]["sessionId"]
    elsewhere = dataclasses.replace(project, path=project.path.parent)

    assert subagents(elsewhere, "output", session_id).out == "It said hi.\n"
    transcript = (
        'Say hi\n---\n→ bash: {"command":"echo hi"}\n---\n[tool result]: hi\n\n---\nIt said hi.\n'
    )
    assert subagents(elsewhere, "session", session_id).out == transcript

    called = subagents(
        elsewhere, "call", "get_subagent_session", json.dumps({"sessionId": session_id})
    )
    assert (called.code, called.json["details"]) == (
        0,
        {
            "sessionId": session_id,
            "status": "completed",
            "taskName": "hi",
            "runCount": 1,
            "usage": called.json["details"]["usage"],
            "totalCharacters": len(transcript) - 1,
            "maxLines": 15,
            "messageCount": 4,
            "exitCode": 0,
            "model": "offline",
        },
    )


def test_an_unknown_session_is_refused_with_the_promised_words(project: Project) -> None:
    message = (
        'Session "c4d5e6f7a8b9c0d1" not found. The session may have expired or the ID is incorrect.'
    )
    ran = subagents(project, "output", "c4d5e6f7a8b9c0d1")
    assert (ran.code, ran.out, ran.err) == (2, "", f"Error: {message}\n")
    called = subagents(project, "call", "get_subagent_output", '{"sessionId": "c4d5e6f7a8b9c0d1"}')
    assert (called.code, called.json["content"][0]["text"]) == (2, message)


def test_a_running_session_is_told_as_running_and_can_be_waited_for(project: Project) -> None:
    turns = script(project, [*WAITING, {"text": "never"}])
    process = start(project, "--verbose", "run", "--offline-script", turns, "x")
    heard(process, "sleep 1000")
    run = subagents(project, "runs", "--active", "--json").json["runs"][0]
    noted = subagents(project, "output", run["sessionId"])
    assert (noted.code, noted.out) == (1, "on it\n")
    assert "running" in noted.err
    waiter = start(project, "output", run["sessionId"], "--wait", "60", "--json")
    subagents(project, "stop", run["runId"])
    out, _ = waiter.communicate()
    assert json.loads(out)["details"]["status"] == "error"
    process.communicate()


def test_runs_are_kept_out_of_git(project: Project) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project.path, check=True)
    subagents(project, "run", "--offline-script", script(project, [{"text": "x"}]), "x")
    (project.path / "script.json").unlink()
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=project.path, check=True, capture_output=True
    )
    assert status.stdout == b""


def test_stop_from_another_process_aborts_the_run_and_its_tree(project: Project) -> None:
    process = start(project, "run", "--offline-script", script(project, WAITING), "x")
    heard(process, "sleep 1000")
    active = subagents(project, "runs", "--active", "--json").json["runs"]
    assert [each["status"] for each in active] == ["running"]
    stopped = subagents(project, "stop", active[0]["runId"][:6])
    assert (stopped.code, stopped.out) == (0, f"x ({active[0]['runId'][:8]}): stopped\n")
    out, err = process.communicate()
    assert (process.returncode, out) == (1, "")
    said = r"x: no whole answer; what it said last: subagents output [0-9a-f]{8}"
    assert re.search(rf"^\[x\] stopped after \d+s\n{said}\n\Z", err, re.MULTILINE)


def test_ctrl_c_stops_every_child_says_so_and_exits_with_130(project: Project) -> None:
    turns = script(project, WAITING)
    process = start(
        project, "run", "--offline-script", turns, "a", "b", "c", "--concurrency", "2",
        "--name", "one", "--name", "two", "--name", "three",
    )  # fmt: skip
    begun = heard(process, "sleep 1000", 2)
    process.send_signal(signal.SIGINT)
    ran = ended(process, begun)
    assert ran.code == 130
    assert "Stopping every sub-agent. Press Ctrl+C again to force it." in ran.err
    assert "Interrupted. Stopped: one, two, three." in ran.err
    assert "[three] started" not in ran.err
    runs = subagents(project, "runs", "--json").json["runs"]
    assert sorted((r["name"], r["status"]) for r in runs) == [
        ("one", "aborted"),
        ("three", "aborted"),
        ("two", "aborted"),
    ]


def test_a_second_ctrl_c_forces_what_the_first_could_not_end(project: Project) -> None:
    stubborn = project.path / "stubborn.py"
    stubborn.write_text(
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('deaf', file=sys.stderr, flush=True)\n"
        "time.sleep(1000)\n"
    )
    process = start(project, "run", "x", PI_SUBAGENTS_PI=f"/usr/bin/env python3 {stubborn}")
    heard(process, "deaf")
    process.send_signal(signal.SIGINT)
    heard(process, "Press Ctrl+C again to force it.")
    process.send_signal(signal.SIGINT)
    ran = ended(process)
    result = subagents(project, "runs", "--json").json["runs"][0]
    assert ran.code == 130
    assert result["status"] == "aborted"


def test_verbose_adds_to_the_progress(project: Project) -> None:
    (project.path / "a.txt").write_text("x\n")
    verbose = subagents(project, "--verbose", "run", "--offline", "Count the files in .")
    assert "Command finished: " in verbose.err
    assert re.search(r"\[Count the files in \.\] run [0-9a-f]{8} in ", verbose.err)


def test_the_prompt_can_come_from_standard_input_and_quiet_leaves_progress_out(
    project: Project,
) -> None:
    turns = script(project, [{"echo": True}])
    arguments = ("--quiet", "run", "-", "--offline-script", turns)
    ran = subagents(project, *arguments, stdin="from a pipe")
    assert (ran.code, ran.out, ran.err) == (0, "from a pipe\n", "")


def test_several_answers_stand_under_a_heading_each_and_what_failed_beside_them(
    project: Project,
) -> None:
    tasks = [
        {"name": "one", "prompt": "x"},
        {"name": "lost", "prompt": "x", "cwd": "missing"},
        {"name": "two", "prompt": "y"},
    ]
    (project.path / "tasks.json").write_text(json.dumps(tasks))
    turns = script(project, [{"echo": True}])
    ran = subagents(project, "run", "-q", "--task-file", "tasks.json", "--offline-script", turns)
    assert (ran.code, ran.out) == (1, "## one\n\nx\n\n## two\n\ny\n")
    missing = project.path / "missing"
    assert ran.err == f"lost: cwd does not exist or is not a directory: {missing}\n"


def test_a_shell_can_use_the_answer(project: Project) -> None:
    turns = script(project, [{"text": "42\n"}])
    command = f'answer=$({shlex.join(ENTRY)} run -q "How many?" --offline-script {turns})\necho "<$answer>"'
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=project.path, env=project.env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("<42>\n", "")


def test_files_stand_before_the_prompt_that_the_model_receives(project: Project) -> None:
    (project.path / "notes.txt").write_text("one\ntwo\nthree\n")
    turns = script(project, [{"echo": True}])
    ran = subagents(
        project, "run", "Explain.", "--file", "notes.txt:2-3", "--json", "--offline-script", turns,
    )  # fmt: skip
    assert ran.json["details"]["results"][0]["output"] == (
        "=== notes.txt ===\ntwo\nthree\n\nExplain."
    )
    task = {"name": "a", "prompt": "Explain.", "files": ["notes.txt", {"path": "gone", "head": 1}]}
    called = subagents(
        project, "call", "delegate_to_subagents", json.dumps({"tasks": [task]}),
        "--offline-script", turns,
    )  # fmt: skip
    assert called.json["details"]["results"][0]["output"] == (
        "=== notes.txt ===\none\ntwo\nthree\n\n=== gone ===\n[file not found: gone]\n\nExplain."
    )


def test_a_script_never_takes_the_lack_of_an_answer_for_one(project: Project) -> None:
    turns = script(project, [{"text": " "}])
    ran = subagents(project, "run", "-q", "Say nothing", "--offline-script", turns)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.endswith(f"Say nothing: {NOTE_EMPTY_ANSWER}\n")


def test_output_of_children_cannot_drive_the_terminal(project: Project) -> None:
    turns = script(project, [{"text": "a\x1b]0;title\x07b\x1b[31mred\x1b[0m\u202e"}])
    ran = subagents(project, "run", "--offline-script", turns, "x", "y", "--name", "n\x1b[2Jm")
    assert ran.code == 0
    assert ESCAPE not in ran.out + ran.err
    assert ran.out == "## nm\n\nabred\n\n## y\n\nabred\n"


def test_wrong_settings_are_reported_and_the_default_is_used(project: Project) -> None:
    settings = {"subagents": {"max_concurrency": "many", "pi_command": "evil"}}
    (project.path / ".pi/settings.json").write_text(json.dumps(settings))
    turns = script(project, [{"text": "x"}])
    ran = subagents(project, "run", "--offline-script", turns, "x")
    assert ran.code == 0
    assert "project settings: subagents.max_concurrency: should be a number, is str" in ran.err
    assert "subagents.pi_command: ignored: it counts in the global settings file only" in ran.err


def test_demo_prints_three_answers_and_what_to_type_next(project: Project) -> None:
    (project.path / "readme.txt").write_text("x\n")
    ran = subagents(project, "demo")
    assert ran.code == 0
    assert [line for line in ran.out.splitlines() if line.startswith("## ")] == [
        "## list", "## count", "## find"
    ]  # fmt: skip
    assert "What to type next:" in ran.err
    assert not (project.agent_dir / "auth.json").exists()


def test_the_offline_model_serves_alone_and_ends_with_ctrl_c(project: Project) -> None:
    process = start(project, "offline-model", "--json")
    assert process.stdout is not None
    text = ""
    for line in process.stdout:
        text += line
        if line == "}\n":
            break
    assert json.loads(text)["baseUrl"].startswith("http://127.0.0.1:")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_each_shell(project: Project, shell: str) -> None:
    ran = subagents(project, "completion", shell)
    assert ran.code == 0
    assert "_SUBAGENTS_COMPLETE" in ran.out


def test_help_teaches_and_version_tells(project: Project) -> None:
    helped = subagents(project, "--help")
    assert "First steps:" in helped.out
    for verb in ("demo", "run", "runs", "show", "stop", "call", "setup", "offline-model"):
        assert re.search(rf"^  {verb} ", helped.out, re.MULTILINE)
    assert subagents(project, "--version").out == "subagents, version 0.1.0\n"


def profile(project: Project, name: str, fields: str) -> None:
    directory = project.path / ".pi/agent-profiles"
    directory.mkdir(exist_ok=True)
    (directory / f"{name}.md").write_text(f"---\nname: {name}\n{fields}\n---\n")


def test_a_run_takes_a_profile_and_says_so(project: Project) -> None:
    profile(project, "quiet", "noTools: true")
    ran = subagents(project, "run", "--json", "--offline", "--profile", "quiet", "List the files")
    (window,) = ran.json["details"]["windows"]
    assert re.fullmatch(
        r"✓ task-1: completed \(session: [0-9a-f]{16}\) \[profile: quiet\]",
        ran.json["content"][0]["text"],
    )
    assert (window["profile"], window["status"], window["callCount"]) == ("quiet", "completed", 0)


def test_a_run_that_names_an_unknown_profile_is_refused(project: Project) -> None:
    tasks = [{"name": "bad", "prompt": "x", "profile": "nope"}, {"name": "good", "prompt": "y"}]
    (project.path / "tasks.json").write_text(json.dumps(tasks))
    ran = subagents(project, "run", "--offline", "--json", "--task-file", "tasks.json")
    assert (ran.code, ran.json["isError"], ran.err) == (2, True, "")
    assert ran.json["content"][0]["text"] == 'Profile "nope" not found. Available: keyed'
    ran = subagents(project, "run", "--offline", "x", "--profile", "nope")
    assert (ran.code, ran.err) == (2, 'Error: Profile "nope" not found. Available: keyed\n')


def test_a_yaml_task_file_may_come_with_a_profile_for_all(project: Project) -> None:
    profile(project, "quiet", "noTools: true")
    (project.path / "tasks.yaml").write_text("profile: quiet\ntasks:\n- name: a\n  prompt: Hello\n")
    ran = subagents(project, "run", "--offline", "--task-file", "tasks.yaml")
    assert ran.code == 0
    assert "[a] started" in ran.err
    (meta,) = (project.path / ".pi/subagents/runs").glob("*/meta.json")
    assert json.loads(meta.read_text())["profile"] == "quiet"
    refused = subagents(project, "run", "--task-file", "tasks.yaml", "--name", "b", "prompt")
    assert refused.code == 2
    assert "--task-file says what to run; leave out PROMPT, --name." in refused.err


def test_a_session_goes_on_from_the_command_line(project: Project) -> None:
    turns = script(project, [{"echo": True}])
    first = subagents(project, "run", "--json", "--offline-script", turns, "Seven.")
    session = first.json["details"]["results"][0]["sessionId"]
    again = subagents(
        project, "run", "--json", "--offline-script", turns, "--resume", session, "Twice that."
    )
    result = again.json["details"]["results"][0]
    assert (result["sessionId"], result["status"]) == (session, "completed")
    assert (result["output"], result["resumed"]) == ("Twice that.", "native")
    further = subagents(
        project, "resume", result["runId"][:8], "Again.", "--offline-script", turns, "--fork"
    )
    assert (further.code, further.out) == (0, "Again.\n")
    shown = subagents(project, "show", "last").out.splitlines()[1]
    assert shown.endswith(f", resumed (native), forked from {result['runId'][:8]}")
    # Where nobody can be asked what next, there is something to say all the same.
    assert subagents(project, "resume", session, "--offline-script", turns).out == "Go on.\n"
    settings = project.agent_dir / "settings.json"
    settings.write_text('{"subagents": {"resume": "replay"}}')
    told = subagents(project, "resume", session, "And?", "--json", "--offline-script", turns)
    result = told.json["details"]["results"][0]
    assert result["resumed"] == "replay"
    assert result["output"].startswith("Previously:\n\n--- Run 1 (completed, 2 messages) ---\n")
    unknown = subagents(project, "run", "--offline", "--resume", "0" * 16, "x")
    assert unknown.code == 2
    assert f'Cannot resume: session "{"0" * 16}" not found.' in unknown.err


def test_the_tools_are_listed_for_people_and_for_scripts(project: Project) -> None:
    names = [tool["name"] for tool in subagents(project, "tools", "--json").json["tools"]]
    listed = subagents(project, "tools").out
    assert [line for line in listed.splitlines() if line and line[0] != " "] == names
    assert "  - tasks: array\n      - name: string\n" in listed
