from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi_subagents.engines.pi.trust import is_trusted


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    path = tmp_path / "agent"
    path.mkdir()
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "project"
    path.mkdir(parents=True)
    return path


def trusted(cwd: Path, agent: Path) -> bool:
    return is_trusted(cwd, {"PI_AGENT_DIR": str(agent)})


def decide(agent: Path, **decisions: object) -> None:
    (agent / "trust.json").write_text(json.dumps(decisions))


def test_without_a_decision_nothing_is_trusted(project: Path, agent: Path) -> None:
    assert trusted(project, agent) is False


@pytest.mark.parametrize("decision", [True, False])
def test_a_saved_decision_counts(project: Path, agent: Path, decision: bool) -> None:
    decide(agent, **{str(project): decision})
    assert trusted(project, agent) is decision


@pytest.mark.parametrize("nearest", [True, False])
def test_the_nearest_decision_wins(project: Path, agent: Path, nearest: bool) -> None:
    decide(agent, **{str(project): nearest, str(project.parent): not nearest, "/": not nearest})
    (project / "src").mkdir()
    assert trusted(project, agent) is nearest
    assert trusted(project / "src", agent) is nearest
    assert trusted(project.parent, agent) is (not nearest)


def test_a_sibling_whose_name_begins_alike_is_not_covered(project: Path, agent: Path) -> None:
    decide(agent, **{str(project): True})
    (project.parent / "project-2").mkdir()
    assert trusted(project.parent / "project-2", agent) is False


def test_a_link_is_judged_by_where_it_leads(project: Path, agent: Path, tmp_path: Path) -> None:
    decide(agent, **{str(project): True})
    (tmp_path / "alias").symlink_to(project)
    (project / "out").symlink_to(agent)
    assert trusted(tmp_path / "alias", agent) is True
    assert trusted(project / "out", agent) is False


@pytest.mark.parametrize("decision", [True, False])
def test_what_a_caller_decides_counts_below_up_to_a_nearer_saved_decision(
    project: Path, agent: Path, tmp_path: Path, decision: bool
) -> None:
    """A directory that was distrusted does not become trusted by a link, or by its parent."""
    vendor, outside = project / "vendor", tmp_path / "outside"
    for directory in (project / "src", vendor / "lib", outside):
        directory.mkdir(parents=True)
    (project / "link").symlink_to(outside)
    decide(agent, **{str(place): not decision for place in (project, vendor, outside)})
    alias = tmp_path / "alias"
    alias.symlink_to(project)
    env = {"PI_AGENT_DIR": str(agent)}
    places = (project, project / "src", vendor, vendor / "lib", project / "link", outside)
    found = [is_trusted(place, env, (alias, decision)) for place in places]
    assert found == [decision, decision, *[not decision] * 4]


@pytest.mark.parametrize("decision", [None, "yes", 1, {}, {"trusted": True}])
def test_a_decision_that_is_no_yes_or_no_is_none(
    project: Path, agent: Path, decision: object
) -> None:
    decide(agent, **{str(project): decision, str(project.parent): True})
    assert trusted(project, agent) is True
    decide(agent, **{str(project): decision})
    assert trusted(project, agent) is False


@pytest.mark.parametrize(("default", "expected"), [("always", True), ("never", False), ("ask", False), (True, False)])  # fmt: skip
def test_the_global_default_counts_where_there_is_no_decision(
    project: Path, agent: Path, default: object, expected: bool
) -> None:
    (agent / "settings.json").write_text(json.dumps({"defaultProjectTrust": default}))
    assert trusted(project, agent) is expected
    decide(agent, **{str(project): False})
    assert trusted(project, agent) is False


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b"\xff", b"{", b"[" * 100_000],
    ids=["empty", "list", "bytes", "half", "deep"],
)
def test_what_cannot_be_read_means_not_trusted(project: Path, agent: Path, content: bytes) -> None:
    (agent / "trust.json").write_bytes(content)
    (agent / "settings.json").write_bytes(content)
    assert trusted(project, agent) is False


def test_a_directory_that_cannot_be_resolved_is_not_trusted(agent: Path, tmp_path: Path) -> None:
    """Its task is refused later, and must not take its siblings along."""
    decide(agent, **{"/": True})
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for cwd in (loop, Path("/\ud800"), Path("/" + "x" * 5000)):
        assert isinstance(trusted(cwd, agent), bool)
    assert trusted(Path("/\ud800"), agent) is False
