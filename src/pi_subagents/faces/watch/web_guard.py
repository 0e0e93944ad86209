"""
Who may talk to the page's server: this user, from this page, by this address.

In: the head of a request.  Out: what it asks for below the token, or None for everything that is
not ours: then it gets nothing, not even a reason.
"""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOPBACK = "127.0.0.1"


@value
class Admitted:
    """What a request that may be answered asks for."""

    words: tuple[str, ...]  # of the path, below the token
    query: Mapping[str, str]


@value
class PageGuard:
    """The address that counts, and no other."""

    port: int
    token: str

    @property
    def origin(self) -> str:
        """Where our page comes from."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def address(self) -> str:
        """Where our page is."""
        return f"{self.origin}/{self.token}/"

    def admit(self, method: str, target: str, headers: Mapping[str, str]) -> Admitted | None:
        """Return what is asked for, or None."""
        if headers.get("Host") != f"{LOOPBACK}:{self.port}":
            return None  # another name for this machine: a page of somebody else's
        origin = headers.get("Origin")
        if origin is None:
            # A browser names the origin of everything that changes something.
            if method != "GET" or headers.get("Sec-Fetch-Site", "none") == "cross-site":
                return None
        elif origin != self.origin:
            return None
        try:
            parts = urlsplit(target)
            first, *words = parts.path.removeprefix("/").split("/")
            query = parse_qs(parts.query, max_num_fields=8)
        except ValueError:
            return None
        if not hmac.compare_digest(first.encode(), self.token.encode()) or not words:
            return None
        return Admitted(tuple(words), {key: values[-1] for key, values in query.items()})
