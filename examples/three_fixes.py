"""
Three agents fix three modules at once, each in a worktree; what is checked is applied together.

    python examples/three_fixes.py

Makes a repository of its own in a temporary directory, with a script in the place of a model: the
first agent believes it is done when it is not, its check says so, and it mends its work.
"""

import asyncio
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from pi_subagents import Task, call_tool, delegate, parse_script

BROKEN = {
    "adding": "def add(a, b):\n    return a - b\n",
    "doubling": "def double(a):\n    return a + 2\n",
    "naming": "def name(first, last):\n    return first + last\n",
}
CHECKS = {
    "adding": "from adding import add; assert add(2, 3) == 5, add(2, 3)",
    "doubling": "from doubling import double; assert double(5) == 10, double(5)",
    "naming": "from naming import name; assert name('Ada', 'L') == 'Ada L', name('Ada', 'L')",
}


def does(command: str) -> list[dict[str, object]]:
    """Return two turns of the script: a command, and the word that it is done."""
    call = {"name": "bash", "arguments": {"command": command}}
    return [{"toolCalls": [call]}, {"text": "It is fixed."}]


SCRIPT = parse_script(
    {
        "conversations": [
            {
                "match": "adding",
                "turns": [
                    *does("sed -i 's/a - b/a * b/' adding.py"),
                    *does("sed -i 's/a \\* b/a + b/' adding.py"),
                ],
            },
            {"match": "doubling", "turns": does("sed -i 's/a + 2/a * 2/' doubling.py")},
            {"match": "naming", "turns": does("sed -i \"s/first + /first + ' ' + /\" naming.py")},
        ]
    }
)


def make_repository(top: Path) -> None:
    """Make a repository with three modules, all of them wrong."""
    for name, text in BROKEN.items():
        (top / f"{name}.py").write_text(text)
    author = ("-c", "user.name=You", "-c", "user.email=you@example.org")
    for arguments in (("init", "-q"), ("add", "-A"), (*author, "commit", "-qm", "Three modules")):
        subprocess.run(["git", *arguments], cwd=top, check=True)


def check_of(name: str) -> str:
    """Return the command that says whether a module is right."""
    return shlex.join([sys.executable, "-B", "-c", CHECKS[name]])


def is_right(name: str, top: Path) -> bool:
    """Return whether a module passes its check in that directory."""
    return subprocess.call(shlex.split(check_of(name)), cwd=top) == 0


async def main() -> int:
    """Return 0 if all three are right in the end."""
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        make_repository(top)
        tasks = [Task(name, f"Fix {name}.py.", check=check_of(name)) for name in BROKEN]
        done = await delegate(tasks, cwd=top, workspace="worktree", offline=SCRIPT)
        for result in done.results:
            print(f"{result.name}: {result.status}, {result.work}")
        ids = [result.run_id for result in done.results]
        request = {"runIds": ids, "passed": True}
        taken = await call_tool("apply_subagent_changes", request, cwd=top)
        for part in taken["content"]:  # type: ignore[attr-defined]  # a list of texts
            print(part["text"])
        return 0 if all(is_right(name, top) for name in BROKEN) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
