"""A confined sub-agent of the real pi works as ever, and writes nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.git_place import repository_of

from pi_subagents import Task, delegate
from pi_subagents.core.offline.script import parse_script
from pi_subagents.errors import ConfiningImpossible
from pi_subagents.system import landlock

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Project

pytestmark = pytest.mark.pi


def script(command: str) -> object:
    call = {"name": "bash", "arguments": {"command": command}}
    turns = [{"toolCalls": [call]}, {"text": "done"}]
    return {"conversations": [{"match": "write", "turns": turns}]}


@pytest.mark.skipif(landlock.version() == 0, reason="this kernel has no Landlock")
@pytest.mark.usefixtures("child_mode")
@pytest.mark.parametrize("workspace", ["shared", "worktree"])
async def test_it_writes_in_its_workspace_and_nowhere_else(
    project: Project, workspace: str
) -> None:
    git = repository_of(project.path)
    outside: Path = project.path.parent / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    hostile = (
        f"echo in > inside; echo x > {outside}/new; echo x > {outside}/kept; rm {outside}/kept; "
        f"mv inside {outside}/moved; ln {outside}/kept mine && echo x > mine; "
        f"echo x > /proc/self/root{outside}/kept; (setsid sh -c 'echo x > {outside}/late')"
    )
    done = await delegate(
        [Task("write", "write")],
        cwd=project.path,
        env={**project.env, "TMPDIR": str(project.path.parent / "home")},
        offline=parse_script(script(hostile)),
        workspace=workspace,
        confine=True,
    )
    (result,) = done.results
    assert (result.status, result.output) == ("completed", "done")
    assert {path.name: path.read_text() for path in outside.iterdir()} == {"kept": "kept"}
    if workspace == "shared":
        assert (git.top / "inside").read_text() == "in\n"
    else:
        assert result.changes == "1 file changed, +1 \N{MINUS SIGN}0"


async def test_where_the_kernel_cannot_do_it_the_call_is_refused(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    with pytest.raises(ConfiningImpossible):
        await delegate("write", cwd=project.path, env=project.env, offline=True, confine=True)
