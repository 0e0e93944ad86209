"""Every example runs as it stands, on the real pi and without an account."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pi_subagents.engines.pi.command import resolve_pi_command
from pi_subagents.errors import SetupError

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Which folders a count leaves out is told in brackets, and no business of these tests.
LEFT_OUT = re.compile(r" \([^()]* left out\)")
COUNTED = "There are 2 Python files in .."
OUTLINE = "README.md has 2 headings:\n- App\n  - Use"
USED_UP = "The budget of the task is used up: 1 of 1 turns. To go on, resume with a new budget."
SAID = {
    "one_task.py": f"{COUNTED}\n",
    "parallel_progress.py": (
        "files: 2 Python files in .:\n"
        "- ./src/app.py\n- ./src/tools.py\n"
        "lines: README.md has 3 lines.\n"
        f"headings: {OUTLINE}\n"
    ),
    "first_answer.py": (
        "first: aborted: Stopped on request\n"
        "second: completed: Here I am.\n"
        "third: aborted: Stopped on request\n"
    ),
    "budget.py": f"{USED_UP}\n{COUNTED}\n",
    "table_of_values.py": (
        "code  meaning                retry\n"
        "400   Bad Request            no\n"
        "401   Unauthorized           no\n"
        "404   Not Found              no\n"
        "408   Request Timeout        yes\n"
        "409   Conflict               no\n"
        "429   Too Many Requests      yes\n"
        "500   Internal Server Error  yes\n"
        "503   Service Unavailable    yes\n"
    ),
    "three_fixes.py": (
        "adding: completed, 1 file changed, +1 \N{MINUS SIGN}1, checked\n"
        "doubling: completed, 1 file changed, +1 \N{MINUS SIGN}1, checked\n"
        "naming: completed, 1 file changed, +1 \N{MINUS SIGN}1, checked\n"
        "Applied: 3 files changed, +3 \N{MINUS SIGN}3\n"
        "  M adding.py\n  M doubling.py\n  M naming.py\n"
    ),
    "resume.py": f"look: {COUNTED}\nlook closer: README.md has 3 lines.\none session: True\n",
    "from_a_shell.sh": (
        f"count | completed | {COUNTED}\nheadings | completed | README.md has 2 headings:\n"
    ),
    "answering.sh": (
        "deploy asks:\nWhich database to use?\n"
        "Answered: deploy goes on.\n"
        "Which database to use? the one for staging\n"
    ),
    "background.sh": (
        f"completed | Count the Python files in . | {COUNTED}\n"
        "completed | Summarise the headings of README.md | README.md has 2 headings:\n"
    ),
}
# Task files, and what the tasks answer.
ANSWERED = {
    "tasks.yaml": {
        "headings": OUTLINE,
        "files": "2 Python files in .:\n- ./src/app.py\n- ./src/tools.py",
        "lines": "README.md has 3 lines.",
    },
}
# Profiles, and what a sub-agent with each says when it has to read, then to run.
READ_AND_COUNT = "Read README.md and then count the Python files in ."
READ = "I read 3 lines of README.md:\n\n# App\n\n## Use"
REFUSED = "This needs the {} tool, which I was not given: nothing was done."
READ_AND_RAN = {
    "reviewer.md": f"{READ}\n\n{COUNTED}",
    "read-only.md": f"{READ}\n\n{REFUSED.format('bash')}",
    "no-tools.md": f"{REFUSED.format('read')}\n\n{REFUSED.format('bash')}",
}
# The same for presets, which also say what they are for.
EXPLORED = {
    "repo-scout.md": f"{READ}\n\n{COUNTED}",
}
WHO_SAYS_SO = "\n\nI am the offline stand-in"

pytestmark = pytest.mark.pi


@pytest.fixture(scope="session")
def pi_command() -> str:
    try:
        return shlex.join(resolve_pi_command(os.environ, Path.cwd(), None).argv)
    except SetupError as error:
        pytest.skip(f"no pi to run the examples with: {error}")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    (project / "README.md").write_text("# App\n\n## Use\n")
    (project / "src" / "app.py").write_text("")
    (project / "src" / "tools.py").write_text("")
    shutil.copytree(EXAMPLES / "presets", project / ".pi" / "subagents")
    return project


@pytest.fixture
def env(tmp_path: Path, pi_command: str) -> dict[str, str]:
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "home").mkdir()
    command = programs / "subagents"
    command.write_text(
        f"#!{sys.executable}\nfrom pi_subagents.faces.cli.main import main\n\nmain()\n"
    )
    command.chmod(0o755)
    ours = ("PI_AGENT_DIR", "PI_CODING_AGENT_DIR", "PI_SUBAGENTS_CHILD", "PI_SUBAGENTS_DATA")
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    return {
        **inherited,
        "HOME": str(tmp_path / "home"),
        "XDG_DATA_HOME": str(tmp_path / "home" / "data"),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "PI_SUBAGENTS_PI": pi_command,
    }


def run(script: Path, project: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    program = "sh" if script.suffix == ".sh" else sys.executable
    return run_command([program, str(script)], project, env)


def run_command(
    command: list[str], project: Path, env: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def subagents(
    project: Path, env: dict[str, str], *arguments: str
) -> subprocess.CompletedProcess[str]:
    program = Path(env["PATH"].split(os.pathsep)[0]) / "subagents"
    return run_command([str(program), "--quiet", *arguments], project, env)


def answers(project: Path, env: dict[str, str], *arguments: str) -> dict[str, str]:
    """Return what each task answered on the offline model, by its name."""
    done = subagents(project, env, "run", "--offline", "--json", *arguments)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)["details"]["results"]
    return {result["name"]: LEFT_OUT.sub("", result["output"]) for result in results}


def test_every_example_has_an_expectation():
    files = [path for path in EXAMPLES.rglob("*") if path.is_file() and path.name != "README.md"]
    examples = {path.name for path in files if "__pycache__" not in path.parts}

    assert examples == {*SAID, *ANSWERED, *READ_AND_RAN, *EXPLORED}


@pytest.mark.parametrize("name", SAID)
def test_example(name: str, project: Path, env: dict[str, str]):
    done = run(EXAMPLES / name, project, env)

    assert (done.returncode, LEFT_OUT.sub("", done.stdout)) == (0, SAID[name]), done.stderr


@pytest.mark.parametrize("name", ANSWERED)
def test_task_file(name: str, project: Path, env: dict[str, str]):
    given = answers(project, env, "--task-file", str(EXAMPLES / name))

    assert given == ANSWERED[name]


def test_profiles(project: Path, env: dict[str, str]):
    shutil.copytree(EXAMPLES / "profiles", project / ".pi" / "agent-profiles")
    tasks = [{"name": name, "prompt": READ_AND_COUNT, "profile": name.removesuffix(".md")}
             for name in READ_AND_RAN]  # fmt: skip
    (project / "tasks.json").write_text(json.dumps(tasks))

    checked = subagents(project, env, "profile", "lint", "--strict")
    given = answers(project, env, "--task-file", "tasks.json")

    assert checked.returncode == 0
    assert checked.stdout.splitlines()[-1] == f"{len(READ_AND_RAN)} profiles, 0 problems"
    said = {name: text.partition(WHO_SAYS_SO)[0] for name, text in given.items()}
    assert said == READ_AND_RAN


@pytest.mark.parametrize("name", EXPLORED)
def test_preset(name: str, project: Path, env: dict[str, str]):
    asked = json.dumps({"preset": name.removesuffix(".md"), "task": READ_AND_COUNT})

    checked = subagents(project, env, "preset", "lint", "--strict")
    done = subagents(project, env, "call", "subagent", asked, "--offline")

    assert (checked.returncode, checked.stdout) == (0, f"{len(EXPLORED)} preset, 0 problems\n")
    assert done.returncode == 0, done.stdout
    (result,) = json.loads(done.stdout)["details"]["results"]
    assert LEFT_OUT.sub("", result["output"]) == EXPLORED[name]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("README.md", {f"count completed {COUNTED}", "list completed ."}),
        ("docs/python.md", {"count: completed", "find: completed", f"count -> {COUNTED}"}),
    ],
)
def test_python_in_documents_runs(
    document: str, said: set[str], project: Path, env: dict[str, str], tmp_path: Path
):
    (block,) = PYTHON_BLOCK.findall((ROOT / document).read_text("utf-8"))
    script = tmp_path / "block.py"
    script.write_text(block)

    done = run(script, project, env)

    assert done.returncode == 0, done.stderr
    printed = LEFT_OUT.sub("", done.stdout)
    assert [text for text in said if text not in printed] == []
