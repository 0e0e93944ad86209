from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from pi_subagents.faces.cli import messages as cli_messages
from pi_subagents.faces.cli.main import main
from pi_subagents.faces.watch import messages as watch_messages

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("term", ["dumb", "", None])
def test_a_terminal_that_cannot_be_painted_on_gets_the_list_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    term: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_SUBAGENTS_DATA", str(tmp_path / "data"))
    if term is None:
        monkeypatch.delenv("TERM", raising=False)
    else:
        monkeypatch.setenv("TERM", term)
    monkeypatch.setitem(sys.modules, "pi_subagents.faces.watch.app", None)  # not to be painted
    for stream in (sys.stdin, sys.stdout):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    with pytest.raises(SystemExit) as end:
        main(["watch"])
    assert end.value.code == 0
    assert capsys.readouterr() == (
        f"{watch_messages.NO_RUNS}\n",
        f"{cli_messages.NOTHING_TO_PAINT_ON}\n",
    )
