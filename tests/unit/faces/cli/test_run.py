"""What `subagents run` does before the delegation itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pi_subagents.faces.cli import live
from pi_subagents.faces.cli.main import main

if TYPE_CHECKING:
    import subprocess


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["one"], 1),
        (["one", "two", "three"], 3),
        (["one", "two", "three", "--concurrency", "2"], 2),
        (["1", "2", "3", "4", "5", "6"], 4),
        (["one", "--runner", "tmux"], 0),
    ],
)
def test_a_supervisor_is_up_for_each_of_the_first_tasks_and_none_afterwards(
    words: list[str], wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[subprocess.Popen[bytes]] = []

    def delegate_live(_: object, __: object, options: Any, **___: object) -> int:
        seen.extend(process for process, _ in options["spares"]._waiting)
        assert [process.poll() for process in seen] == [None] * wanted
        return 0

    monkeypatch.setattr(live, "delegate_live", delegate_live)
    with pytest.raises(SystemExit) as left:
        main(["run", *words])
    assert left.value.code == 0
    assert [process.poll() for process in seen] == [-9] * wanted
