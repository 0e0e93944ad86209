import errno
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import click
import pytest

from pi_subagents.errors import AnswerNotWritten, RunNotFound
from pi_subagents.faces.cli import main as cli
from pi_subagents.faces.cli import messages
from pi_subagents.faces.cli.console import Console, Verbosity


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
    assert err.startswith("Error: pi-subagents needs the processes of a POSIX system")
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


@pytest.mark.parametrize(
    ("encoding", "errors", "shown"),
    [
        ("latin-1", "strict", b"? \xfc\n"),
        ("ascii", "surrogateescape", b"? ?\n"),  # the C locale
        ("latin-1", "xmlcharrefreplace", b"&#10003; \xfc\n"),  # somebody's own wish
        ("utf-8", "strict", "✓ ü\n".encode()),
    ],
)
def test_an_answer_is_printed_as_far_as_standard_output_can_say_it(
    monkeypatch: pytest.MonkeyPatch, encoding: str, errors: str, shown: bytes
) -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding, errors)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(cli.group, "main", lambda **_: click.echo("✓ ü", file=sys.stdout))
    with pytest.raises(SystemExit) as stop:
        cli.main([])
    stream.flush()
    assert (stop.value.code, written.getvalue()) == (0, shown)


@pytest.mark.parametrize("stream", [None, io.StringIO()])
def test_standard_output_may_be_anything_or_nothing(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO | None
) -> None:
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(cli.group, "main", lambda **_: 0)
    with pytest.raises(SystemExit) as stop:
        cli.main([])
    assert stop.value.code == 0
    if stream is None:
        sys.stdout.close()


def test_a_directory_that_is_gone_is_said_and_not_reported_as_our_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    error = FileNotFoundError(2, "No such file or directory")
    fail_with(monkeypatch, error)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert ended(capsys)[0] == 3
    gone.rmdir()
    assert ended(capsys) == (2, "", f"Error: {messages.CWD_GONE}\n")


@pytest.mark.parametrize("stream", [1, 2])
def test_what_a_shell_closed_leads_nowhere(stream: int) -> None:
    code = (
        "import os\n"
        "from pi_subagents.faces.cli.main import main\n"
        "try: main(['--version'])\n"
        f"except SystemExit: os.write({stream}, b'x')\n"
    )
    shell = ["sh", "-c", f'exec "$0" -c "$1" {stream}>&-', sys.executable, code]
    done = subprocess.run(shell, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_ctrl_c_while_the_command_still_loads_is_no_traceback() -> None:
    code = (
        "import os, signal, sys, pi_subagents.__main__ as entry\n"
        "class Loading:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'pi_subagents.faces.cli.main': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Loading())\n"
        "entry.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, b"", b"")


# What cannot be written


class FullStream(io.StringIO):
    """What leads to a full disk."""

    def write(self, _: str) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_an_answer_that_finds_no_room_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdout", FullStream())
    monkeypatch.setattr(cli.group, "main", lambda **_: Console().answer("x"))
    reason = os.strerror(errno.ENOSPC)
    assert ended(capsys) == (2, "", f"Error: {AnswerNotWritten(reason)}\n")


def test_a_full_disk_elsewhere_is_not_told_as_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(monkeypatch, OSError(errno.ENOSPC, "No space left"))
    assert ended(capsys)[0] == 3


def test_progress_that_nobody_can_read_harms_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    console = Console(Verbosity.VERBOSE)
    with monkeypatch.context() as full:
        full.setattr(sys, "stderr", FullStream())
        for write in (console.notice, console.progress, console.beside):
            write("lost")
    console.progress("read")
    assert capsys.readouterr().err == "read\n"


@pytest.mark.parametrize(
    ("is_terminal", "shown"),
    [
        (True, "Offline: a script\nstands in.\n\nIt is in\n/a/rather/long/path.\n"),
        (False, "Offline: a script stands in.\n\nIt is in /a/rather/long/path.\n"),
    ],
)
def test_a_notice_is_cut_between_words_on_a_terminal_alone(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, shown: str
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "18")
    monkeypatch.setenv("NO_COLOR", "1")
    Console().notice("Offline: a script stands in.\n\nIt is in /a/rather/long/path.")
    assert click.unstyle(stream.getvalue()) == shown


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


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("rnu", 'No such command "rnu". Did you mean run or runs?'),
        ("wach", 'No such command "wach". Did you mean watch or path?'),
        ("xyzzy", 'No such command "xyzzy".'),
        ("background strat", 'No such command "strat". Did you mean start or status?'),
        ("profile lsit", 'No such command or profile "lsit". Did you mean list or lint?'),
        ("preset ad scout", 'No such command or preset "ad". Did you mean add?'),
        ("preset sceut", 'Unknown preset: "sceut". Available presets: (none)'),
    ],
)
def test_a_mistyped_verb_is_answered_with_those_that_are_like_it(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    typed: str,
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    code, out, err = ended(capsys, *typed.split())
    assert (code, out, err.splitlines()[-1]) == (2, "", f"Error: {said}")


def test_a_file_or_profile_that_is_not_there_refuses_the_call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(tmp_path / "agent"))
    (tmp_path / "large.txt").write_bytes(b"x" * (1024 * 1024 + 1))
    broken = tmp_path / "agent/agent-profiles/broken.md"
    broken.parent.mkdir(parents=True)
    broken.write_text("no front matter")
    for arguments, said in (
        (["--file", "nope.txt"], "--file: file not found: nope.txt"),
        (["--file", "."], "--file: could not read file: ."),
        (["--file", "large.txt"], "--file: file too large: large.txt (1025KB, limit 1024KB)"),
        (["--profile", "nope"], 'Profile "nope" not found. Available: (none)'),
    ):
        code, out, err = ended(capsys, "run", "x", *arguments)
        assert (code, out, err.splitlines()[0]) == (2, "", f"Error: {said}")
    assert str(broken) in err
    assert not (tmp_path / ".pi").exists()
