import sys

import pytest

from pi_subagents.errors import RunNotFound
from pi_subagents.faces.cli import main as cli


def ended(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    out, err = capsys.readouterr()
    return stop.value.code, out, err


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def fail(**_: object) -> None:
        raise error

    monkeypatch.setattr(cli.group, "main", fail)


def test_windows_is_refused_with_a_line_that_names_wsl(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    code, out, err = ended(capsys, "--version")
    assert (code, out) == (2, "")
    assert err.startswith("Error: pi-subagents supervises processes with POSIX means")
    assert "WSL" in err


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (RunNotFound("ab", "here"), 2, 'Error: Run "ab" not found in here.'),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (
            ZeroDivisionError("x"),
            3,
            "Error: internal error, please report it: ZeroDivisionError: x",
        ),
    ],
)
def test_every_error_is_one_line_and_an_exit_code(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    message: str,
) -> None:
    fail_with(monkeypatch, error)
    got = ended(capsys)
    assert got[:2] == (code, "")
    assert got[2].startswith(message)
    assert len(got[2].splitlines()) == 1


def test_an_error_that_quotes_somebody_elses_name_cannot_drive_the_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for arguments in (
        ["show", "\x1b[2Jx"],
        ["run", "--\x1b[2Jx", "a"],
        ["preset", "show", "\x1b[2J"],
    ):
        code, _, err = ended(capsys, *arguments)
        assert (code, "\x1b" in err) == (2, False)
