"""Eight sub-agents of the real pi edit one file at once, each in a worktree of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.child_modes import takes_long_with_pi
from tests.fakes.git_place import LINES, repository_of

from pi_subagents import Task
from pi_subagents.errors import ChangesConflict
from pi_subagents.service.reporting import make_report
from pi_subagents.service.runs import Runs
from pi_subagents.service.workspaces.taking import see_changes, take_changes

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

pytestmark = pytest.mark.pi
# Three of them fit together; the fourth changes a line of the first.
LINES_OF = (5, 15, 25, 5, 10, 20, 30, 35)


def turns(number: int, line: int) -> dict[str, object]:
    edit = {"command": f"sed -i 's/^line {line}$/by task {number}/' a.txt"}
    call = {"name": "bash", "arguments": edit}
    return {"match": f"task {number}", "turns": [{"toolCalls": [call]}, {"text": "done"}]}


@takes_long_with_pi
@pytest.mark.usefixtures("child_mode")
async def test_eight_tasks_edit_one_file_and_three_that_fit_are_taken(project: Project) -> None:
    git = repository_of(project.path)
    before = git.state()
    project.configure(workspace="worktree")
    script = {"conversations": [turns(number, line) for number, line in enumerate(LINES_OF)]}
    tasks = [Task(f"task {number}", f"task {number}") for number in range(8)]
    done = await project.delegate(*tasks, script=script, concurrency=8)
    assert [(each.status, each.changes) for each in done.results] == [
        ("completed", "1 file changed, +1 \N{MINUS SIGN}1")
    ] * 8
    assert git.state() == before
    runs = Runs(project.path, project.env)
    for number, (result, line) in enumerate(zip(done.results, LINES_OF, strict=True)):
        patch = see_changes(runs, result.run_id, project.env).patch
        assert f"-line {line}\n+by task {number}\n".encode() in patch
    ids = [result.run_id for result in done.results[:4]]
    with pytest.raises(ChangesConflict) as refused:
        take_changes(runs, ids, project.env)
    assert refused.value.conflicts == ("a.txt, line 5: changed in the checkout too",)
    assert git.state() == before
    report = make_report(ids[0], project.path, project.env)
    assert {run.record.run_id for run in report.runs} == {each.run_id for each in done.results}
    (first,) = (run for run in report.runs if run.record.run_id == ids[0])
    assert "-line 5\n+by task 0\n" in first.patch
    assert [each.name for each in first.bar.segments if each.kind == "tool"] == ["bash"]
    take_changes(runs, ids[:3], project.env)
    expected = LINES
    for number in range(3):
        expected = expected.replace(f"line {LINES_OF[number]}\n", f"by task {number}\n")
    assert (git.top / "a.txt").read_text() == expected
