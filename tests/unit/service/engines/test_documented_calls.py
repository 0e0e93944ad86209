"""The calls with several engines that the documents show can be made as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pi_subagents.engines.table import engine_names
from pi_subagents.service.task_files import read_tasks

ROOT = Path(__file__).parents[4]


@pytest.mark.parametrize("page", ["README.md", "docs/engines.md"])
def test_a_mixed_call_is_a_task_file(tmp_path: Path, page: str) -> None:
    (text,) = re.findall(r"```yaml\n(tasks:.*?)```", (ROOT / page).read_text("utf-8"), re.DOTALL)
    file = tmp_path / "tasks.yaml"
    file.write_text(text)
    tasks = read_tasks(file, lambda: file.open("rb")).tasks
    named = [task.engine for task in tasks]
    assert named == [None, "acp:opencode", "acp:codex"]
    assert {*filter(None, named)} <= {*engine_names()}
    assert [task.output_schema is not None for task in tasks] == [False, False, True]
