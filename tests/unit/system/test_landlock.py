"""What is confined writes where it may, and nowhere else, whatever it tries."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from pi_subagents.system import landlock

if TYPE_CHECKING:
    from pathlib import Path

needs_landlock = pytest.mark.skipif(landlock.version() == 0, reason="this kernel has no Landlock")
TRIES = {
    "write a new file": "open(out + '/new', 'w').write('x')",
    "write to a file": "open(out + '/file', 'a').write('x')",
    "write over a file": "open(out + '/file', 'r+').write('x')",
    "truncate by opening": "os.close(os.open(out + '/file', os.O_RDONLY | os.O_TRUNC))",
    "truncate": "os.truncate(out + '/file', 0)",
    "remove": "os.unlink(out + '/file')",
    "remove a directory": "os.rmdir(out + '/empty')",
    "make a directory": "os.mkdir(out + '/made')",
    "make a link": "os.symlink('/', out + '/link')",
    "make a pipe": "os.mkfifo(out + '/pipe')",
    "make a socket": "import socket; socket.socket(socket.AF_UNIX).bind(out + '/socket')",
    "move out": "os.rename(own + '/mine', out + '/moved')",
    "move over": "os.replace(own + '/mine', out + '/file')",
    "move in": "os.rename(out + '/file', own + '/taken')",
    "move within": "os.rename(out + '/file', out + '/other')",
    "link in and write": "os.link(out + '/file', own + '/hard'); open(own + '/hard', 'a').write('x')",
    "link out": "os.link(own + '/mine', out + '/hard')",
    "write through a link": "os.symlink(out + '/file', own + '/l'); open(own + '/l', 'a').write('x')",
    "write below a link": "os.symlink(out, own + '/d'); open(own + '/d/new', 'w').write('x')",
    "climb": "open(own + '/../out/new', 'w').write('x')",
    "go by /proc": "open('/proc/self/root' + out + '/file', 'a').write('x')",
    "go by a directory": "os.chdir(out); open('new', 'w').write('x')",
    "open again what was inherited": "open('/proc/self/fd/' + sys.argv[3], 'r+').write('x')",
    "go by an inherited directory": "open('/proc/self/fd/' + sys.argv[4] + '/new', 'w').write('x')",
    "in a child": "assert os.system('echo x > ' + out + '/new') == 0",
    "confine itself anew": (
        "import ctypes; libc = ctypes.CDLL(None); libc.prctl(38, 0, 0, 0, 0);"
        "open(out + '/new', 'w').write('x')"
    ),
}


def listing(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() if path.is_file() else "" for path in directory.iterdir()}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    directory = tmp_path / "out"
    (directory / "empty").mkdir(parents=True)
    (directory / "file").write_text("content")
    return directory


@pytest.fixture
def own(tmp_path: Path) -> Path:
    directory = tmp_path / "own"
    directory.mkdir()
    (directory / "mine").write_text("mine")
    return directory


def tried(code: str, own: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Run code confined to a directory; two descriptors of the other one are inherited."""
    file = os.open(out / "file", os.O_RDONLY)
    directory = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    confinement = landlock.Confinement([str(own)])
    prepared = f"import os, sys\nown, out = sys.argv[1:3]\n{code}"
    try:
        return subprocess.run(
            [sys.executable, "-I", "-c", prepared, own, out, str(file), str(directory)],
            preexec_fn=confinement.in_child(),
            pass_fds=(file, directory),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        confinement.close()
        os.close(file)
        os.close(directory)


@needs_landlock
@pytest.mark.parametrize("name", TRIES)
def test_nothing_is_written_elsewhere(name: str, own: Path, out: Path) -> None:
    before = listing(out)
    done = tried(TRIES[name], own, out)
    assert listing(out) == before
    assert done.returncode != 0
    assert any(
        why in done.stderr for why in ("Permission denied", "cross-device", "AssertionError")
    )


@needs_landlock
def test_in_its_own_directories_and_to_devices_it_writes_as_ever(own: Path, out: Path) -> None:
    done = tried(
        "os.mkdir(own + '/d'); open(own + '/d/x', 'w').write('x'); os.rename(own + '/d/x', own + '/x')\n"
        "os.symlink('x', own + '/l'); os.link(own + '/x', own + '/h'); os.truncate(own + '/x', 0)\n"
        "os.unlink(own + '/mine'); os.rmdir(own + '/d'); open('/dev/null', 'w').write('x')\n"
        "print(open(out + '/file').read())",
        own,
        out,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "content\n", "")
    assert sorted(os.listdir(own)) == ["h", "l", "x"]


@needs_landlock
def test_a_directory_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        landlock.Confinement([str(tmp_path / "none")])


def test_a_kernel_without_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 0)
    with pytest.raises(OSError, match="this kernel has no Landlock"):
        landlock.Confinement([])


def test_a_kernel_on_which_files_could_be_emptied_is_known() -> None:
    assert [landlock.leaves_truncating(found) for found in (1, 2, 3, 7)] == [
        True,
        True,
        False,
        False,
    ]
