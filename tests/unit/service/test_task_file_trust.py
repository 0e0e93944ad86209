"""A check is a command: one that a file of the project brings along counts only where that is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.task.request import DelegateRequest, Task
from pi_subagents.core.value import replace
from pi_subagents.service.task_files import with_trusted_checks

if TYPE_CHECKING:
    from pathlib import Path

CHECKED = DelegateRequest((Task("a", "p", check="make test"), Task("b", "p")))
PLAIN = replace(CHECKED, tasks=(Task("a", "p"), Task("b", "p")))
NOTE = (
    'The check of task "a" is left out (make test): the project is not trusted, and the '
    "task file is part of it. Trust it in pi (/trust), or with --trust-project."
)


@pytest.mark.parametrize(
    ("place", "trusted", "expected"),
    [
        ("project/tasks.yaml", False, (PLAIN, (NOTE,))),
        ("project/sub/tasks.yaml", False, (PLAIN, (NOTE,))),
        ("project/tasks.yaml", True, (CHECKED, ())),
        ("tasks.yaml", False, (CHECKED, ())),
    ],
)
def test_a_check_of_a_projects_task_file_counts_where_the_project_is_trusted(
    tmp_path: Path, place: str, trusted: bool, expected: object
) -> None:
    (tmp_path / "project" / "sub" / ".git").mkdir(parents=True)
    (tmp_path / "project" / ".pi").mkdir()
    env = {"HOME": str(tmp_path / "home")}
    found = with_trusted_checks(
        CHECKED,
        tmp_path / place,
        {"cwd": tmp_path / "project", "env": env, "trust_project": trusted},
    )
    assert found == expected
