"""What an operator types, and what is on the screen: no password, whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest
from tests.fakes.cluster_runs import entry, submission
from tests.fakes.cluster_server import PASSWORD

from pi_subagents.cluster import caller, worker
from pi_subagents.cluster.link import Link

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.fakes.cluster_server import TestCluster

LONG_AGO = "clock_timestamp() - interval '31 seconds'"


class Said(NamedTuple):
    code: int
    out: str
    err: str


class Operator:
    """A terminal of somebody who looks after a cluster; it fails where a password is shown."""

    def __init__(self, home: Path, cluster: TestCluster) -> None:
        self.cluster, self.seen = cluster, ""
        self.env = {"HOME": str(home), "PATH": os.environ["PATH"], "COLUMNS": "120"}
        self.cwd = home

    def type(self, *words: str, user: str = "owner", **env: str) -> Said:
        argv = [sys.executable, "-m", "pi_subagents", "cluster", *words]
        address = {"PI_SUBAGENTS_CLUSTER": self.cluster.text(user)}
        done = subprocess.run(
            argv,
            cwd=self.cwd,
            env={**self.env, **address, **env},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        self.seen += done.stdout + done.stderr
        return Said(done.returncode, done.stdout, done.stderr)

    def secrets_seen(self) -> list[str]:
        owners = self.cluster.text("owner").split(":")[2].rpartition("@")[0]
        return [secret for secret in (PASSWORD, owners) if secret in self.seen]


@pytest.fixture
def operator(tmp_path: Path, cluster: TestCluster) -> Iterator[Operator]:
    found = Operator(tmp_path, cluster)
    yield found
    assert found.secrets_seen() == []


@pytest.fixture
async def with_run(cluster: TestCluster) -> AsyncIterator[None]:
    """A run of the caller, begun by the worker w1; another one waits."""
    ours = await Link.open(cluster.address("caller"), "caller")
    its = await Link.open(cluster.address("worker"), "worker")
    await worker.register(its, entry("w1"))
    await caller.submit(ours, "c1", [submission("r1"), submission("r2", tag="gpu")], attached=True)
    own = await worker.claim(its, "w1", "r1")
    assert own is not None
    await worker.begin(its, own)
    await worker.hold(its, "w1", 1, [own])
    yield
    await ours.close()
    await its.close()


def test_a_cluster_is_made_once_and_made_again_it_stays_the_same(operator: Operator) -> None:
    operator.cluster.do("DROP SCHEMA subagents CASCADE")
    operator.cluster.do("DROP SCHEMA subagents_queue CASCADE")
    shown = operator.cluster.address("owner").shown
    before = operator.type("status")
    assert before == Said(
        2, "", f"Error: There is no cluster at {shown} yet: as the owner of the database, run "
        "`subagents cluster init`.\n",
    )  # fmt: skip
    made = operator.type("init")
    assert (made.code, made.out) == (0, f"Made a cluster at {shown}: version 1 of its tables.\n")
    again = json.loads(operator.type("init", "--json").out)
    assert again == {
        "schemaVersion": 1, "version": 1, "new": False, "rolesMade": [], "address": shown,
        "cluster": json.loads(operator.type("status", "--json").out)["cluster"]["id"],
    }  # fmt: skip
    assert operator.type("init", user="worker").code == 2


@pytest.mark.usefixtures("with_run")
def test_the_status_says_who_works_and_what_waits(operator: Operator) -> None:
    said = operator.type("status", "--runs", "5", user="looker")
    assert said.code == 0
    heading, columns, row, one, other, rates, *runs = said.out.splitlines()
    assert heading.startswith(f"Cluster at {operator.cluster.address('looker').shown}, ")
    assert columns.split() == ["WORKER", "HOST", "BUSY", "TAGS", "VERSION", "SEEN", "STATE"]
    assert row.split()[:5] == ["name-of-w1", "far", "1/2", "default", "1"]
    assert row.endswith("ready")
    assert one == "default: 1 at work, 0 waiting"
    assert other.startswith("gpu: 0 at work, 1 waiting, the first for ")
    assert rates == (
        "2 submitted and 0 ended in the last minute, 0 ended in the last hour, 0 lost in the last "
        "day."
    )
    assert {line.split()[0] for line in runs} == {"r1", "r2"}
    operator.cluster.do(f"UPDATE run SET seen_at = {LONG_AGO} WHERE id = 'r1'")
    operator.cluster.do(f"UPDATE worker SET seen_at = {LONG_AGO}")
    later = operator.type("status", user="looker").out
    assert "not heard of\n" in later
    assert "r1 (count) of worker w1 was not heard of for 3" in later


@pytest.mark.usefixtures("with_run")
def test_a_worker_is_drained_by_its_name_and_taken_back(operator: Operator) -> None:
    said = operator.type("drain", "name-of-w1")
    assert said == Said(0, "w1 takes no more runs; it ends when its 1 at work have.\n", "")
    assert "draining" in operator.type("status").out
    assert operator.type("drain", "w1", "--undo").out == "w1 takes runs again.\n"
    assert operator.type("drain", "nobody") == Said(
        2, "", "Error: The cluster does not know that: there is no worker nobody.\n"
    )


@pytest.mark.usefixtures("with_run")
def test_a_run_is_requeued_unless_it_is_in_good_hands(operator: Operator) -> None:
    assert operator.type("requeue", "r1") == Said(
        1, "r1 is at work, and its worker is alive; --force takes it away from that worker.\n", ""
    )
    operator.cluster.do(f"UPDATE run SET seen_at = {LONG_AGO} WHERE id = 'r1'")
    assert operator.type("requeue", "r1").out == "r1 was begun and is in the queue again.\n"
    assert json.loads(operator.type("requeue", "r2", "--json").out) == {
        "schemaVersion": 1, "runId": "r2", "was": "queued", "requeued": False,
    }  # fmt: skip
    assert operator.type("requeue", "r").err == (
        "Error: The cluster does not know that: r could be any of 2 runs.\n"
    )


@pytest.mark.usefixtures("with_run")
def test_what_ended_long_ago_is_removed_once_that_is_said(operator: Operator) -> None:
    assert operator.type("prune").out == "Nothing is old enough to remove.\n"
    operator.cluster.do(
        "UPDATE run SET state = 'lost', ended_at = clock_timestamp() - interval '9 days' WHERE id = 'r1'"
    )
    assert operator.type("prune", "--days", "8").out == (
        "Would remove 1 runs, 0 packs, 0 workers that were not heard of.\n"
        "Nothing was removed. Add --yes to remove.\n"
    )
    assert json.loads(operator.type("prune", "--yes", "--json").out) == {
        "schemaVersion": 1, "dryRun": False, "runs": 1, "packs": 0, "workers": 0,
    }  # fmt: skip
    assert operator.cluster.do("SELECT id FROM run") == [("r2",)]


def test_only_the_owner_looks_after_a_cluster(operator: Operator) -> None:
    refusal = (
        f"Error: The cluster at {operator.cluster.address('looker').shown} refuses that: that is "
        "for the owner of the database, who ran `subagents cluster init`.\n"
    )
    for words in (("drain", "w1"), ("requeue", "r1"), ("prune",), ("prune", "--yes")):
        said = operator.type(*words, user="looker")
        assert (said.code, said.err) == (2, refusal)


def test_a_password_is_shown_by_no_failure(operator: Operator) -> None:
    right = operator.cluster.text("owner")
    for address in (
        right.replace("@127.0.0.1", "x@127.0.0.1"),  # another password, with the right one in it
        right.replace("127.0.0.1:", "127.0.0.1:1"),
        right.replace("/cluster_", "/absent_"),
        right.replace("postgresql://", "mysql://"),
        right + "?no_such_option=1",
        right.replace("@", "%zz@"),
    ):
        said = operator.type("status", PI_SUBAGENTS_CLUSTER=address)
        assert said.code == 2
        assert said.err.startswith("Error: ")
        assert "Traceback" not in said.err
        assert operator.type("init", "--dsn", address).code == 2


def test_the_address_is_the_users_and_never_a_projects(operator: Operator) -> None:
    project = operator.cwd / ".pi"
    project.mkdir()
    setting = json.dumps({"subagents": {"cluster": operator.cluster.text("owner")}})
    (project / "settings.json").write_text(setting)
    assert operator.type("status", PI_SUBAGENTS_CLUSTER="").err.startswith(
        "Error: No cluster is known here."
    )
    (project / "agent").mkdir()
    (project / "agent" / "settings.json").write_text(setting)  # HOME is the same directory
    assert operator.type("status", PI_SUBAGENTS_CLUSTER="").code == 0


def test_a_sub_agent_may_do_none_of_it(operator: Operator) -> None:
    for words in (("init",), ("status",), ("drain", "w1"), ("requeue", "r1"), ("prune", "--yes")):
        said = operator.type(*words, PI_SUBAGENTS_CHILD="1")
        assert said.code == 2
        assert "sub-agent" in said.err
