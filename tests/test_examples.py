"""Every example runs as it stands, on the real pi and without an account."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pi_subagents.engines.pi_command import resolve_pi_command
from pi_subagents.errors import SetupError

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Which folders a count leaves out is told in brackets, and no business of these tests.
LEFT_OUT = re.compile(r" \([^()]* left out\)")
COUNTED = "There are 2 Python files in .."
OUTLINE = "README.md has 2 headings:\n- App\n  - Use"
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
    "from_a_shell.sh": (
        f"count | completed | {COUNTED}\nheadings | completed | README.md has 2 headings:\n"
    ),
}

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
    return subprocess.run(
        [program, str(script)],
        cwd=project,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_every_example_has_an_expectation():
    scripts = {path.name for path in EXAMPLES.iterdir() if path.suffix in {".py", ".sh"}}

    assert scripts == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_example(name: str, project: Path, env: dict[str, str]):
    done = run(EXAMPLES / name, project, env)

    assert (done.returncode, LEFT_OUT.sub("", done.stdout)) == (0, SAID[name]), done.stderr


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("README.md", {f"count completed {COUNTED}", f"headings completed {OUTLINE}"}),
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
