"""
What npm is asked to install, so that a pi of some version runs.

In: npm in an empty staging directory, and the version.  Out: that pi below `node_modules`, or
InstallFailed with the reason of every way that was tried.  How each version is installed is decided
in `ways_to_install` and nowhere else.  Nothing in a tarball is trusted: only plain files are taken;
a link, a device, or a name that leads out of the directory is refused, and so is more than any
package holds.
"""

from __future__ import annotations

import gzip
import json
import tarfile
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from pi_subagents.core.engine_values import SetupProgress
from pi_subagents.core.value import value
from pi_subagents.engines.pi import messages
from pi_subagents.engines.pi.install import installing
from pi_subagents.engines.pi.versions import traits_of
from pi_subagents.errors import InstallFailed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.engine_values import Report

SCOPE = "@earendil-works"
PACKAGE = f"{SCOPE}/pi-coding-agent"
MODULES = "node_modules"
# All that any self-contained pi depends on; one that a version does not know does no harm.
OWN_PACKAGES = ("chord", "pi-agent-core", "pi-ai", "pi-codemode", "pi-mcp", "pi-tui")
# What the bundle loads at run time: for extensions, codemode and images.
LOADED_PACKAGES = ("jiti", "quickjs-wasi", "@silvia-odwyer/photon-node")
STUBS = "stubs"
MAX_BYTES = 1024 * 1024 * 1024  # pi 1.5.0 has 27 MB in 1,300 files
MAX_FILES = 100_000
_CHUNK = 1024 * 1024
OPTIONS = (
    "--global=false",  # inherited from an npm script, it would win over --prefix
    "--install-strategy=hoisted",
    "--install-links=false",
    "--no-package-lock",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--no-progress",
    "--ignore-scripts",  # pi needs none of them
    # npm waits 70 s in all before it admits that there is no network.
    "--fetch-timeout=60000",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=8000",
)


@value
class Npm:
    """npm, ready to work in one staging directory."""

    command: tuple[str, ...]
    directory: Path
    cache: Path
    env: Mapping[str, str]
    lock: int
    report: Report

    @property
    def modules(self) -> Path:
        """Where npm installs to."""
        return self.directory / MODULES

    @property
    def scratch(self) -> Path:
        """Where anything may lie until the installation is published."""
        return self.directory / installing.SCRATCH_NAME

    def run(self, step: str, verb: str, *words: str) -> None:
        """Run one npm command; raises InstallFailed."""
        places = ("--prefix", str(self.directory), "--cache", str(self.cache))
        installing.run_installer(
            (*self.command, verb, *places, *OPTIONS, *words),
            step,
            self.directory,
            env=self.env,
            lock=self.lock,
            report=self.report,
            cache=self.cache,
        )

    def install(self, step: str, manifest: Mapping[str, object]) -> None:
        """Install what a package.json asks for, and leave only that; raises InstallFailed."""
        asked = self.directory / "package.json"
        asked.write_text(json.dumps({"private": True, **manifest}))
        self.run(step, "install")
        asked.unlink()
        # npm's record of what it did, which will not be all that lies there.
        installing.discard(self.modules / ".package-lock.json")


Way = Callable[[Npm, str], None]


def ways_to_install(version: str) -> tuple[Way, ...]:
    """Return how a pi of this version can be installed, the best way first."""
    if traits_of(version).self_contained:
        return without_own_packages, from_tarball
    return (with_all_packages,)


def install_package(npm: Npm, version: str) -> None:
    """Install pi in the first way that works; raises InstallFailed."""
    failed: InstallFailed | None = None
    for way in ways_to_install(version):
        if failed is not None:
            npm.report(SetupProgress(failed.step, messages.ANOTHER_WAY, done=True))
        try:
            way(npm, version)
        except InstallFailed as error:
            if error.exit_code is None and failed is None:
                raise  # it was given up or is damaged: another way would not be quicker
            failed = InstallFailed(error.step, error.exit_code, error.output, before=failed)
            _empty(npm)
        else:
            return
    assert failed is not None
    raise failed


def with_all_packages(npm: Npm, version: str) -> None:
    """Install pi with everything that it depends on."""
    npm.install(_step(version), {"dependencies": {PACKAGE: version}})


def without_own_packages(npm: Npm, version: str) -> None:
    """Install pi with all but its own packages, which its bundle holds."""
    # A third of the size, in a tenth of the time, and the registry need not have them.
    own = {f"{SCOPE}/{name}": f"file:./{STUBS}/{name}" for name in OWN_PACKAGES}
    for name in OWN_PACKAGES:
        stub = npm.directory / STUBS / name
        stub.mkdir(parents=True)
        manifest = {"name": f"{SCOPE}/{name}", "version": version}
        (stub / "package.json").write_text(json.dumps(manifest))
    npm.install(
        _step(version),
        {
            "dependencies": {PACKAGE: version, **own},
            "overrides": {name: f"${name}" for name in own},
        },
    )
    for name in own:
        installing.discard(npm.modules / name)
    installing.discard(npm.directory / STUBS)


def from_tarball(npm: Npm, version: str) -> None:
    """Install the published package by itself, and what its bundle loads at run time."""
    step = f"fetching pi {version} by itself"
    npm.run(step, "pack", f"{PACKAGE}@{version}", "--pack-destination", str(npm.scratch))
    package = npm.scratch / "package"
    try:
        (tarball,) = npm.scratch.glob("*.tgz")
        unpack(tarball, package)
        wanted = loaded_packages(package / "package.json")
    except (ValueError, FileNotFoundError) as error:
        raise InstallFailed(step, None, (str(error),)) from error
    npm.report(SetupProgress(step, "", done=True))
    npm.install(f"installing what pi {version} loads", {"dependencies": wanted})
    target = npm.modules / PACKAGE
    target.parent.mkdir(parents=True, exist_ok=True)
    package.rename(target)


def loaded_packages(manifest: Path) -> dict[str, str]:
    """Return the packages that are loaded at run time, in the versions that pi itself names."""
    content = json.loads(manifest.read_bytes())
    named = content.get("dependencies") if isinstance(content, dict) else None
    if not isinstance(named, dict):
        raise ValueError(messages.PACKAGE_NAMES_NOTHING)  # noqa: TRY004 - one kind of damage
    return {name: str(named[name]) for name in LOADED_PACKAGES if name in named}


def _step(version: str) -> str:
    return f"installing pi {version}"


def _empty(npm: Npm) -> None:
    """Remove what a failed way left behind, but for the log."""
    for path in npm.directory.iterdir():
        if path.name not in (installing.SCRATCH_NAME, installing.LOG_NAME):
            installing.discard(path)


def unpack(tarball: Path, directory: Path) -> None:
    """Put a package's files, without their wrapping folder, into a new directory; or ValueError."""
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
    # Only its end shows whether a gzip file is whole; tarfile is content with less.
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
