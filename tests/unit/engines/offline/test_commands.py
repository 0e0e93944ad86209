"""The commands are run by a real shell here: what they print is what the answers stand on."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.core.offline.script import ScriptedCall
from pi_subagents.engines.offline.answers import answer_for
from pi_subagents.engines.offline.asks import Ask, ReadFile
from pi_subagents.engines.offline.commands import ToolMissing, operand, plan_call
from pi_subagents.engines.offline.understand import understand

BASH = shutil.which("bash") or "bash"
LEFT_OUT = "`.git`, `.pi`, `.venv`, `node_modules`, `__pycache__` left out"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in {
        "src/a.py": "import os\n# TODO: one\n",
        "src/deep/b.py": "x = 1\n",
        "src/deep/notes.md": "# Notes\n\n```\n# not a heading\n```\n## More\n",
        "src/.venv/lib.py": "# TODO: not ours\n",
        "src/__pycache__/a.pyc": "",
        "README.md": "# Title\ntext\n## Part\n### Detail\n",
        "LICENSE": "MIT License\n",
        "odd/-n": "TODO\n",
        "odd/a b;c.txt": "TODO $(touch hacked)\n",
        "odd/x=y.md": "# Equal\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def asked(text: str) -> Ask:
    (ask,) = understand(text).asks
    return ask


def ran(text: str, cwd: Path) -> str:
    """Do what pi's bash tool does, result text included."""
    plan = plan_call(asked(text), frozenset({"bash"}))
    assert isinstance(plan, ScriptedCall)
    command = json.loads(plan.arguments)["command"]
    done = subprocess.run(
        [BASH, "-c", command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=30,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
        check=False,
    )
    failed = f"\n\nCommand exited with code {done.returncode}" if done.returncode else ""
    return (done.stdout or "(no output)") + failed


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("list src", "src holds 4 entries:\n- .venv/\n- __pycache__/\n- a.py\n- deep/"),
        ("list src/*.py", "src/*.py holds 1 entry:\n- src/a.py"),
        ("count the Python files in src", f"There are 2 Python files in src ({LEFT_OUT})."),
        ("count the files in src/.venv", "There is 1 file in src/.venv (`.git`, `.pi`, `node_modules`, `__pycache__` left out)."),
        ("count the folders in src", f"There is 1 folder in src ({LEFT_OUT})."),
        ("count the Rust files", f"There are 0 Rust files in . ({LEFT_OUT})."),
        ("count the lines in README.md", "README.md has 4 lines."),
        ("count the words in LICENSE", "LICENSE has 2 words."),
        ("count the lines of Python code in src", "The Python files in src have 3 lines."),
        ("find b.py", f"1 file named b.py in . ({LEFT_OUT}):\n- ./src/deep/b.py"),
        ("find the Rust files in src", f"0 Rust files in src ({LEFT_OUT})."),
        ("search for TODO in src", '"TODO" is on 1 line in src:\nsrc/a.py:2:# TODO: one'),
        ("search for nowhere in src", '"nowhere" is on 0 lines in src.'),
        ("search for TODO in the Markdown files in src", '"TODO" is on 0 lines in src.'),
        ("count occurrences of TODO in odd", '"TODO" is on 2 lines in odd.'),
        ("search for '$(touch hacked)' in 'odd/a b;c.txt'",
         '"$(touch hacked)" is on 1 line in odd/a b;c.txt:\nodd/a b;c.txt:1:TODO $(touch hacked)'),
        ("count the lines in 'odd/-n'", "odd/-n has 1 line."),
        ("summarise the headings of README.md",
         "README.md has 3 headings:\n- Title\n  - Part\n    - Detail"),
        ("summarise the headings of src", "src has 2 headings:\n- Notes\n  - More"),
        ("summarise the headings of 'odd/x=y.md'", "odd/x=y.md has 1 heading:\n- Equal"),
        ("summarise the headings of LICENSE", "LICENSE has 0 headings."),
        ("summarise the headings in README.md", None),
    ],
)  # fmt: skip
def test_the_answer_says_what_the_real_command_found(tree: Path, text: str, answer: str | None):
    if answer is None:
        (tree / "README.md").unlink()

    assert answer_for(asked(text), ran(text, tree)) == answer
    assert not (tree / "hacked").exists()


@pytest.mark.parametrize(
    "text",
    [
        "list nope",
        "list README.md",
        "count the files in nope",
        "count the lines in nope.md",
        "search for x in nope",
        "find *.py in nope",
        "summarise the headings of nope.md",
        "summarise the headings of no*.md",
    ],
)
def test_a_failed_command_is_never_taken_for_an_answer(tree: Path, text: str):
    assert answer_for(asked(text), ran(text, tree)) is None


def test_an_unreadable_folder_makes_the_count_fail_instead_of_being_short(tree: Path):
    locked = tree / "src" / "deep"
    locked.chmod(0)
    try:
        if os.access(locked, os.R_OK):
            pytest.skip("this user may read everything")
        assert (
            answer_for(
                asked("count the Python files in src"), ran("count the Python files in src", tree)
            )
            is None
        )
    finally:
        locked.chmod(0o700)


def test_a_long_list_is_cut_and_says_so(tmp_path: Path):
    for number in range(120):
        (tmp_path / f"f{number:03}").write_text("")
    answer = answer_for(asked("list ."), ran("list .", tmp_path))

    names = "\n".join(f"- f{number:03}" for number in range(100))
    assert answer == f". holds 120 entries:\n{names}\n(the first 100 of 120)"


def test_a_missing_tool_is_named():
    assert plan_call(asked("list docs"), frozenset({"read"})) == ToolMissing("bash")
    assert plan_call(asked("read a.md"), frozenset({"bash"})) == ToolMissing("read")


def test_reading_uses_the_read_tool():
    assert plan_call(ReadFile("a b.md", 5), frozenset({"read"})) == ScriptedCall(
        "read", '{"path": "a b.md", "limit": 5}'
    )


@pytest.mark.parametrize(
    ("path", "quoted"),
    [
        ("src", "src"),
        ("a b", "'a b'"),
        ("-rf", "./-rf"),
        ("a=b", "./a=b"),
        ("/a=b", "/a=b"),
        ("docs/*.md", "docs/*.md"),
        ("$(x)/*.md", "'$(x)/'*.md"),
        ("", "."),
    ],
)
def test_only_star_and_question_mark_stay_alive_in_an_operand(path: str, quoted: str):
    assert operand(path) == quoted


@given(st.text(st.characters(codec="utf-8", exclude_characters="*?\x00"), min_size=1, max_size=30))
def test_a_quoted_operand_is_one_word_for_the_shell(path: str):
    assert shlex.split(operand(path)) in ([path], [f"./{path}"])


@pytest.mark.parametrize(
    ("result", "answer"),
    [
        ("MIT\n", "I read 1 line of L:\n\nMIT"),
        ("a\nb\n\n[7 more lines in file. Use offset=3 to continue.]",
         "I read the first 2 lines of L (more follow):\n\na\nb"),
        ("a\n\n[Showing lines 1-1 of 9 (50.0KB limit). Use offset=2 to continue.]",
         "I read the first 1 line of L (more follow):\n\na"),
        ("", "I read 0 lines of L:\n\n"),
        ("x\n" * 70, "I read 70 lines of L:\n\n" + "x\n" * 59
         + "x\n(the rest of what I read is not repeated here)"),
        ("ENOENT: no such file or directory, access '/L'", None),
        ("EISDIR: illegal operation on a directory, read", None),
        ("Tool read not found", None),
    ],
)  # fmt: skip
def test_what_was_read_is_repeated_within_bounds(result: str, answer: str | None):
    assert answer_for(ReadFile("L"), result) == answer
