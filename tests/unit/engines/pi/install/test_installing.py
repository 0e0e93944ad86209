from __future__ import annotations

import contextlib
import os
import signal
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.engine_values import SetupProgress
from pi_subagents.engines.pi.install import installing
from pi_subagents.errors import InstallFailed
from pi_subagents.system import tethered

if TYPE_CHECKING:
    from pathlib import Path


def run(program: str, directory: Path, *, lock: int) -> None:
    installing.run_installer(
        (sys.executable, "-I", "-S", "-c", program),
        step="testing",
        directory=directory,
        env=installing.installer_env({}, directory),
        lock=lock,
        report=lambda _: None,
    )


def test_an_installer_inherits_the_lock_so_that_it_outlives_us_under_it(tmp_path: Path) -> None:
    with (
        installing.setup_lock(tmp_path, lambda _: None) as lock,
        installing.staging(tmp_path / "pi") as staging,
    ):
        run(f"import os; os.fstat({lock})", staging, lock=lock)


def test_an_installer_works_in_the_staging_with_its_temporary_files_there(tmp_path: Path) -> None:
    program = "import os, tempfile; print(os.getcwd(), tempfile.gettempdir()); raise SystemExit(3)"
    with (
        installing.setup_lock(tmp_path, lambda _: None) as lock,
        installing.staging(tmp_path / "pi") as staging,
        pytest.raises(InstallFailed) as caught,
    ):
        run(program, staging, lock=lock)
    assert caught.value.output == (f"{staging} {staging}/{installing.SCRATCH_NAME}",)


def test_only_the_end_of_a_long_log_is_shown_and_nothing_that_drives_a_terminal(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    log.write_bytes(
        b"x" * 100_000 + b"\n\n" + b"".join(b"\x1b[1mline %d\xff\n" % n for n in range(50))
    )
    assert installing.last_lines(log) == tuple(f"line {n}\ufffd" for n in range(38, 50))


def test_the_last_words_of_npm_are_shown_without_where_it_was(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "npm error code ECONNREFUSED\nnpm error\n  \nnpm error     at connect (net:1:2) {\n"
        "npm error   port: 9\n    at other (x:1)\nnpm error look at this\n"
    )
    assert installing.last_lines(log) == (
        "npm error code ECONNREFUSED",
        "npm error   port: 9",
        "npm error look at this",
    )


def test_the_lock_and_its_directory_are_private(tmp_path: Path) -> None:
    data = tmp_path / "parent" / "data"
    with installing.setup_lock(data, lambda _: None):
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (data, data / "setup.lock")]
    assert modes == [0o700, 0o600]


def test_a_lock_whose_file_was_removed_while_waiting_is_no_lock(tmp_path: Path) -> None:
    """The one who waits gets the removed file's lock, and must queue again at the new file's."""
    held = contextlib.ExitStack()
    held.enter_context(installing.setup_lock(tmp_path, lambda _: None))
    newer = contextlib.ExitStack()
    reports: list[SetupProgress] = []

    def report(progress: SetupProgress) -> None:
        reports.append(progress)
        if len(reports) == 1:  # waiting: remove the file, let another lock the new one, let go
            (tmp_path / "setup.lock").unlink()
            newer.enter_context(installing.setup_lock(tmp_path, lambda _: None))
            held.close()
        elif not progress.done:
            newer.close()

    with installing.setup_lock(tmp_path, report):
        pass
    began = SetupProgress("waiting", "another set-up is running, waiting", done=False)
    ended = SetupProgress("waiting", "the other set-up has ended", done=True)
    assert reports == [began, ended, began, ended]


def test_who_waits_while_all_is_removed_makes_the_directory_again(tmp_path: Path) -> None:
    data = tmp_path / "data"
    held = contextlib.ExitStack()
    held.enter_context(installing.setup_lock(data, lambda _: None))

    def report(progress: SetupProgress) -> None:
        if not progress.done:
            (data / "setup.lock").unlink()
            data.rmdir()
            held.close()

    with installing.setup_lock(data, report):
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (data, data / "setup.lock")]
    assert modes == [0o700, 0o600]


def test_a_group_that_ignores_the_polite_signal_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installing, "END_GRACE_S", 0.01)
    program = (
        "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True)\n"
        "while True: signal.pause()"
    )
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        installing.end_group(process)
    assert process.returncode == -signal.SIGKILL


def test_publishing_replaces_a_target_and_a_link_only_as_a_link(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("")
    target = tmp_path / "pi" / "1"
    target.parent.mkdir()
    target.symlink_to(elsewhere)
    with installing.staging(target.parent) as staging:
        (staging / "new").write_text("")
        installing.publish(staging, target)
    assert [path.name for path in target.parent.iterdir()] == ["1"]
    assert ([path.name for path in target.iterdir()], target.is_symlink()) == (["new"], False)
    assert [path.name for path in elsewhere.iterdir()] == ["kept"]


def test_a_program_whose_parent_is_already_dead_does_not_start() -> None:
    stranger = os.getpid()  # not the parent of the process below, which the shell starts
    script = f'"{sys.executable}" -I -S "{tethered.__file__}" {stranger} /bin/echo started; echo $?'
    answer = subprocess.run(["/bin/sh", "-c", script], capture_output=True, check=True)
    assert answer.stdout == b"1\n"


def test_a_long_installation_reports_what_it_has_written_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installer ends when it hears, through a pipe, that its size was reported."""
    monkeypatch.setattr(installing, "POLL_S", 0.01)
    go = tmp_path / "go"
    os.mkfifo(go)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "tarball").write_bytes(b"x" * 2_000_000)
    program = f"open('big', 'wb').write(b'x' * 3_000_000); open({str(go)!r}).read()"
    reports: list[SetupProgress] = []

    def report(progress: SetupProgress) -> None:
        reports.append(progress)
        if progress.detail == "5 MB so far":
            with contextlib.suppress(OSError):  # it is not listening yet: the next report will do
                os.close(os.open(go, os.O_WRONLY | os.O_NONBLOCK))

    with installing.setup_lock(tmp_path, report) as lock, installing.staging(tmp_path) as staging:
        installing.run_installer(
            (sys.executable, "-I", "-S", "-c", program),
            step="testing",
            directory=staging,
            env=installing.installer_env({}, staging),
            lock=lock,
            report=report,
            cache=cache,
        )
    assert reports[0] == SetupProgress("testing", "", done=False)
    assert reports[-1] == SetupProgress("testing", "5 MB so far", done=False)
