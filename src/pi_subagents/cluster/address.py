"""
Where the database of a cluster is, without ever showing the password in it.

In: the environment and the user's own settings, never a project's.  Out: an address that can be
printed, logged and compared; what a driver needs of it is asked for by name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pi_subagents.core.plain_text import one_line
from pi_subagents.core.run.files import CLUSTER_VARIABLE
from pi_subagents.errors.cluster import (
    ClusterAddressInvalid,
    ClusterAddressMissing,
    ClusterPackageMissing,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.settings import Settings

# How long a silent connection is believed in, and how long a new one may take: in libpq's words.
PATIENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}


@dataclass(frozen=True)
class ClusterAddress:
    """A checked address; as text it is what people may see of it."""

    shown: str  # HOST:PORT/DATABASE as USER
    parts: Mapping[str, str] = field(repr=False, compare=False)
    user: str = ""

    def __str__(self) -> str:
        """Return it without its password."""
        return self.shown

    def parameters(self, application: str) -> dict[str, Any]:
        """Return what a driver connects with, the password included."""
        return {**PATIENCE, "application_name": application, **self.parts}


def cluster_address(settings: Settings, env: Mapping[str, str]) -> ClusterAddress:
    """Return the address: the environment's, else the user's; ClusterAddressMissing without one."""
    text = env.get(CLUSTER_VARIABLE) or settings.cluster
    if not text:
        raise ClusterAddressMissing
    return parse_address(text, env)


def parse_address(text: str, env: Mapping[str, str]) -> ClusterAddress:
    """Read a URL or `key=value` text of libpq; what is wrong with it is said without showing it."""
    try:
        from psycopg import ProgrammingError, conninfo
    except ImportError as error:
        raise ClusterPackageMissing("psycopg") from error
    try:
        found = conninfo.conninfo_to_dict(text)
    except (ProgrammingError, UnicodeError, ValueError):
        # libpq's own words repeat what was given.
        raise ClusterAddressInvalid("it cannot be read") from None
    parts = {name: str(value) for name, value in found.items() if value is not None}
    host = parts.get("host") or parts.get("hostaddr") or env.get("PGHOST", "")
    port = parts.get("port") or env.get("PGPORT", "") or "5432"
    user = parts.get("user") or env.get("PGUSER", "")
    database = parts.get("dbname") or env.get("PGDATABASE", "") or user
    if not database and not user:
        raise ClusterAddressInvalid("it names neither a user nor a database")
    where = f"{host}:{port}" if host else "this machine"
    shown = one_line(f"{where}/{database}" + (f" as {user}" if user else ""), 300)
    return ClusterAddress(shown=shown, parts=parts, user=user)
