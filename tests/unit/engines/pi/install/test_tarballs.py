from __future__ import annotations

import io
import stat
import tarfile
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.engines.pi.install import npm
from pi_subagents.engines.pi.install.npm import unpack

if TYPE_CHECKING:
    from pathlib import Path


def member(name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type = kind
    made.size = len(content) if kind == tarfile.REGTYPE else 0
    made.linkname = "../../outside"
    made.mode = 0o777
    return made


def pack(path: Path, *members: tarfile.TarInfo, content: bytes = b"x") -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for each in members:
            archive.addfile(each, io.BytesIO(content))
    return path


def found(directory: Path) -> dict[str, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}


def test_files_are_unpacked_without_the_folder_around_them(tmp_path: Path) -> None:
    tarball = pack(
        tmp_path / "p.tgz",
        member("package", kind=tarfile.DIRTYPE),
        member("package/a.js"),
        member("other/b/c.js"),
    )
    unpack(tarball, tmp_path / "out")
    assert found(tmp_path / "out") == {"a.js": b"x", "b/c.js": b"x"}


def test_nobody_else_may_write_what_was_unpacked(tmp_path: Path) -> None:
    unpack(pack(tmp_path / "p.tgz", member("package/a.js")), tmp_path / "out")
    assert stat.S_IMODE((tmp_path / "out/a.js").stat().st_mode) & 0o022 == 0


@pytest.mark.parametrize(
    "name",
    [
        "package/../../outside",
        "package/a/../../../outside",
        "package/..",
        "package//etc/outside",
        "package/./a",
        "package/a\\..\\outside",
        "package/",
        "alone",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    tarball = pack(tmp_path / "p.tgz", member("package/good.js"), member(name))
    (tmp_path / "in").mkdir()
    with pytest.raises(ValueError, match="is no plain file inside the package"):
        unpack(tarball, tmp_path / "in" / "out")
    assert found(tmp_path) == {"p.tgz": tarball.read_bytes(), "in/out/good.js": b"x"}


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_a_link_or_a_device_is_refused(tmp_path: Path, kind: bytes) -> None:
    tarball = pack(tmp_path / "p.tgz", member("package/a", kind=kind))
    with pytest.raises(ValueError, match="'package/a' is no plain file inside the package"):
        unpack(tarball, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("limit", ["MAX_FILES", "MAX_BYTES"])
def test_more_than_a_package_holds_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    tarball = pack(tmp_path / "p.tgz", member("package/a"), member("package/b"))
    monkeypatch.setattr(npm, limit, 1)
    with pytest.raises(ValueError, match=r"p\.tgz holds more than a package does"):
        unpack(tarball, tmp_path / "out")


def test_a_tarball_that_was_cut_anywhere_is_damaged(tmp_path: Path) -> None:
    content = bytes(range(256)) * 40
    whole = pack(tmp_path / "p.tgz", member("package/a", content), content=content).read_bytes()
    for size in range(0, len(whole), 7):
        tarball = tmp_path / "cut.tgz"
        tarball.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"cut\.tgz is damaged"):
            unpack(tarball, tmp_path / f"out-{size}")


@given(content=st.binary(max_size=300))
def test_bytes_that_are_no_tarball_are_damaged(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    root = tmp_path_factory.mktemp("bytes")
    (root / "p.tgz").write_bytes(content)
    with pytest.raises(ValueError, match="is damaged"):
        unpack(root / "p.tgz", root / "out")


parts = st.sampled_from(["package", "..", ".", "", "a", "b.js", "\\", "~", "C:", "a" * 120])


@given(names=st.lists(st.lists(parts, max_size=5).map("/".join), max_size=4))
def test_whatever_its_members_are_called_nothing_is_written_outside(
    tmp_path_factory: pytest.TempPathFactory, names: list[str]
) -> None:
    root = tmp_path_factory.mktemp("names")
    tarball = pack(root / "p.tgz", *map(member, names))
    (root / "deep").mkdir()
    with suppress(ValueError, OSError):  # a file where another member needs a directory
        unpack(tarball, root / "deep" / "out")
    assert {path.name for path in root.iterdir()} == {"p.tgz", "deep"}
    assert {path.name for path in (root / "deep").iterdir()} == {"out"}
