"""A real PostgreSQL for tests: one for each test worker, and a cluster of its own for each test."""

from __future__ import annotations

import itertools
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pi_subagents.cluster.address import ClusterAddress, parse_address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pi_subagents.cluster.embedded import LocalServer

# Nothing needs to survive a power cut; a crash of the server is survived all the same.
QUICK = {
    "fsync": "off", "full_page_writes": "off", "shared_buffers": "16MB",
    "max_connections": "200", "jit": "off",
}  # fmt: skip
USERS = {
    "caller": "subagents_submit", "other_caller": "subagents_submit", "worker": "subagents_work",
    "other_worker": "subagents_work", "looker": "subagents_look", "stranger": "",
}  # fmt: skip
PASSWORD = "canary-of-the-cluster-5d1e"


@dataclass
class TestCluster:
    """One cluster: its addresses, by user, and the server it is on."""

    __test__ = False
    server: LocalServer
    database: str

    def text(self, user: str) -> str:
        """Return what stands in PI_SUBAGENTS_CLUSTER of that user."""
        if user == "owner":
            return self.server.address.rpartition("/")[0] + f"/{self.database}"
        return self.server.address_of(user, PASSWORD, self.database)

    def address(self, user: str) -> ClusterAddress:
        return parse_address(self.text(user), {})

    def do(self, statement: str, *arguments: object) -> list[tuple[object, ...]]:
        """Execute one statement as the owner: to look into tables, or to let time pass there."""
        import psycopg

        paths = "-c search_path=subagents,subagents_queue"
        with psycopg.connect(self.text("owner"), autocommit=True, options=paths) as connection:
            cursor = connection.execute(statement.encode(), arguments or None)
            return cursor.fetchall() if cursor.description else []


def start_server(directory: Path, options: Mapping[str, str] = QUICK) -> LocalServer:
    """Start one with all users and, in the database `made`, a cluster to copy."""
    import psycopg

    from pi_subagents.cluster.embedded import LocalServer
    from pi_subagents.cluster.making import make_cluster

    server = LocalServer(directory, options)
    server.start()
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute(b"CREATE DATABASE made")
        made = TestCluster(server, "made")
        make_cluster(made.address("owner"))
        for user, role in USERS.items():
            connection.execute(f"CREATE ROLE {user} LOGIN PASSWORD '{PASSWORD}'".encode())
            if role:
                connection.execute(f"GRANT {role} TO {user}".encode())
    return server


@pytest.fixture(scope="session")
def cluster_server() -> Iterator[LocalServer]:
    """The server that tests of one test worker share; none of them may stop it."""
    if sys.platform != "linux":
        pytest.skip("the server is tied to its starter by Linux")
    directory = Path(tempfile.mkdtemp(prefix="cluster-"))
    directory.chmod(0o755)  # root's server runs as somebody else
    server = start_server(directory / "server")
    try:
        yield server
    finally:
        server.stop(at_once=True)
        shutil.rmtree(directory)


_numbers = itertools.count(1)


@pytest.fixture
def cluster(cluster_server: LocalServer) -> Iterator[TestCluster]:
    """A cluster of this test alone."""
    import psycopg

    name = f"cluster_{next(_numbers)}"
    with psycopg.connect(cluster_server.address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE made".encode())
        yield TestCluster(cluster_server, name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
