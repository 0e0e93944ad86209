"""
The limits of providers that are known on this machine, for all processes of this user.

In: an account at a provider, and what was said of its limit.  Out: until when no child is to be
started for it, and the gate through which children pass one by one for a while afterwards.  A limit
of which nobody says how long it takes doubles each time.  Nothing has to be tidied up: what is over
counts no more, nor does what was noted by a clock that was ahead or what nobody can mean, and the
kernel opens the gate of a process that dies.
"""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from pi_subagents.core.run.events import LONGEST_LIMIT_S
from pi_subagents.core.value import replace, value
from pi_subagents.system import safe_io

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SCHEMA_VERSION = 1
DIRECTORY = "limits"
FIRST_WAIT_S, LONGEST_WAIT_S = 15.0, 900.0  # where nobody says how long
RECOVERY_S = 60.0  # so long after its end children are let in one by one
_MOST_DOUBLED = 10
_MAX_BYTES = 64 * 1024
_KEYS = ("until", "strikes", "notedAt")
_ODD = re.compile(r"[^A-Za-z0-9._-]")


@value
class KnownLimit:
    """What is known of the limit of one account."""

    until_ms: int
    strikes: int = 0  # how often in a row nobody said how long; 0: somebody did
    noted_ms: int = 0


class ProviderLimits:
    """The limit of one account at a provider, as every process of this user knows it."""

    def __init__(self, data_dir: Path, provider: str, account: str = "") -> None:
        self.provider_name = _ODD.sub("_", provider)[:80]
        name = "-".join(filter(None, (self.provider_name, account)))
        self._directory = data_dir / DIRECTORY
        self._file = self._directory / f"{name}.json"
        self._gate = self._directory / f"{name}.gate"
        self._lock = self._directory / f"{name}.lock"

    def known(self, now_ms: int) -> KnownLimit | None:
        """Return the limit as it is known, also for a while after its end; None without one."""
        try:
            content = safe_io.read_json(self._file, _MAX_BYTES)
            until, strikes, noted = (int(content[each]) for each in _KEYS)  # type: ignore[index]  # ours, or an error
        except (OSError, ValueError, KeyError, TypeError, OverflowError):
            return None
        counts = noted - RECOVERY_S * 1000 <= now_ms < until + RECOVERY_S * 1000
        return KnownLimit(until, strikes, noted) if counts and is_believed(until, noted) else None

    def note(self, until_ms: int, now_ms: int) -> int:
        """Note a limit, 0: nobody says until when; return until when it is now thought to be."""
        try:
            with self._locked():
                known = replace(self.known(now_ms) or KnownLimit(0), noted_ms=now_ms)
                if until_ms:
                    known = replace(known, until_ms=max(known.until_ms, until_ms))
                elif known.until_ms <= now_ms:  # else it is the one that others have met
                    wait_s = min(
                        FIRST_WAIT_S * 2 ** min(known.strikes, _MOST_DOUBLED), LONGEST_WAIT_S
                    )
                    known = KnownLimit(now_ms + round(wait_s * 1000), known.strikes + 1, now_ms)
                self._write(known)
                return known.until_ms
        except OSError:  # nowhere to note it: then it is known to this process alone
            return until_ms or now_ms + round(FIRST_WAIT_S * 1000)

    def answered(self, now_ms: int) -> None:
        """Note that the provider answers again."""
        with suppress(OSError), self._locked():
            known = self.known(now_ms)
            if known is not None and known.strikes:
                self._write(replace(known, strikes=0))

    def gate(self) -> int | None:
        """Return the gate, held by us; None while another process holds it."""
        try:
            return safe_io.acquire_lock(self._gate)
        except OSError:  # there is none to be had: then nobody waits at it
            return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def _write(self, known: KnownLimit) -> None:
        facts = (known.until_ms, known.strikes, known.noted_ms)
        content = {"schemaVersion": SCHEMA_VERSION, **dict(zip(_KEYS, facts, strict=True))}
        # A power cut may forget it: the next request says it again.
        safe_io.replace_file(self._file, safe_io.to_json_bytes(content), durable=False)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        safe_io.make_private_dirs(self._directory)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(self._lock, flags, safe_io.PRIVATE_FILE)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)


def is_believed(until_ms: int, now_ms: int) -> bool:
    """Return whether somebody can mean that a limit takes so long."""
    return until_ms <= now_ms + LONGEST_LIMIT_S * 1000
