"""A PostgreSQL of its own for every storm, since it is stopped in the middle of it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.e2e_cluster.storm import Storm
from tests.fakes.cluster_server import QUICK, TestCluster, start_server

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def storm(tmp_path: Path) -> Iterator[Storm]:
    """A cluster of three workers that have nothing in common but its database."""
    if sys.platform != "linux":
        pytest.skip("the server is tied to its starter by Linux")
    directory = Path(tempfile.mkdtemp(prefix="storm-"))
    directory.chmod(0o755)  # root's server runs as somebody else
    # What it has said that it keeps survives its crash, as in any database that people use.
    server = start_server(directory / "server", {**QUICK, "synchronous_commit": "on"})
    made = Storm(tmp_path, TestCluster(server, "made"))
    try:
        yield made
    finally:
        made.end()
        server.stop(at_once=True)
        shutil.rmtree(directory)
