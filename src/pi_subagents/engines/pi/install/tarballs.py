"""
Unpack the tarball of an npm package, trusting nothing in it.

In: a gzipped tar file.  Out: its files in a new directory, without the folder that npm wraps them
in.  Only plain files are taken: a link, a device, or a name that leads out of the directory is
refused, and so is more than any package holds.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1024 * 1024 * 1024  # pi 1.5.0 has 27 MB in 1,300 files
MAX_FILES = 100_000
_CHUNK = 1024 * 1024


def unpack(tarball: Path, directory: Path) -> None:
    """Put the files of a package into a new directory; ValueError says what is wrong with it."""
    directory.mkdir()
    try:
        _read_to_the_end(tarball)
        with tarfile.open(tarball, "r:gz") as archive:
            # Python 3.11.3 and older do not have it; what it would refuse is refused below too.
            archive.extraction_filter = getattr(
                tarfile, "data_filter", tarfile.TarFile.extraction_filter
            )
            _extract(archive, tarball, directory)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{tarball.name} is damaged: {error}") from error


def _read_to_the_end(tarball: Path) -> None:
    # Only at its end a gzip file tells whether it is whole; tarfile is content with less.
    left = MAX_BYTES
    with gzip.open(tarball) as stream:
        while chunk := stream.read(_CHUNK):
            left -= len(chunk)
            if left < 0:
                raise ValueError(_too_much(tarball))


def _extract(archive: tarfile.TarFile, tarball: Path, directory: Path) -> None:
    for number, member in enumerate(archive):
        if number >= MAX_FILES:
            raise ValueError(_too_much(tarball))
        if member.isdir():
            continue  # npm ignores them as well: files make their own
        inside = _name_inside(member)
        if inside is None:
            raise ValueError(f"{member.name!r} is no plain file inside the package")
        archive.extract(member.replace(name=inside, deep=False), directory)


def _too_much(tarball: Path) -> str:
    return f"{tarball.name} holds more than a package does"


def _name_inside(member: tarfile.TarInfo) -> str | None:
    """Return the name without the wrapping folder; None for what must not be extracted."""
    _, _, inside = member.name.partition("/")
    strange = {"", ".", ".."}.intersection(inside.split("/")) or "\0" in inside or "\\" in inside
    return inside if member.isreg() and not strange else None
