"""Files that an agent reads and writes through us: in the workspace of its run, and nowhere else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from tests.fakes.acp_listener import AcpTalk

from pi_subagents.core.json_rpc import INVALID_PARAMS, METHOD_NOT_FOUND, Failure
from pi_subagents.core.profile.permissions import Permissions
from pi_subagents.engines.acp import files, messages
from pi_subagents.engines.acp.files import MAX_FILE, READ, WRITE, WorkspaceFiles

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    (made / "in").mkdir(parents=True)
    (made / "in" / "a.txt").write_text("one\ntwo\nthree\n")
    (tmp_path / "secret").write_text("outside")
    return made


def serve(root: Path, method: str, path: object, **params: object) -> dict[str, object] | Failure:
    return WorkspaceFiles(str(root), Permissions()).serve(method, {"path": path, **params})


def test_a_file_is_read_whole_or_in_part(root: Path) -> None:
    path = str(root / "in" / "a.txt")
    assert serve(root, READ, path) == {"content": "one\ntwo\nthree\n"}
    assert serve(root, READ, path, line=2, limit=1) == {"content": "two\n"}
    assert serve(root, READ, path, line=3) == {"content": "three\n"}
    assert serve(root, READ, path, line=9) == {"content": ""}


def test_a_line_ends_where_editors_end_it(root: Path) -> None:
    """Form feeds stand inside of lines in many sources, and U+2028 in texts."""
    text = "one\x0c\ntwo\u2028\x85\r\nthree"
    (root / "a.c").write_bytes(text.encode())
    assert serve(root, READ, f"{root}/a.c", line=2, limit=1) == {"content": "two\u2028\x85\r\n"}
    assert serve(root, READ, f"{root}/a.c", line=3, limit=5) == {"content": "three"}
    assert serve(root, READ, f"{root}/a.c", line=1) == {"content": text}


def test_what_would_not_come_back_as_it_was_is_not_read(root: Path) -> None:
    (root / "latin").write_bytes("Käse\n".encode("latin-1"))
    outcome = serve(root, READ, f"{root}/latin")
    assert isinstance(outcome, Failure)
    assert messages.NO_TEXT in outcome.message


def test_a_workspace_may_be_named_by_a_link(root: Path) -> None:
    """Agents name the place that they find themselves in, which has no links."""
    (root.parent / "link").symlink_to(root)
    served = WorkspaceFiles(str(root.parent / "link"), Permissions())
    for place in (root, root.parent / "link"):
        path = str(place / "in" / "a.txt")
        assert served.serve(READ, {"path": path, "limit": 1}) == {"content": "one\n"}
    assert isinstance(served.serve(READ, {"path": str(root.parent / "secret")}), Failure)


def test_a_file_is_written_with_the_directories_that_it_needs(root: Path) -> None:
    path = root / "new" / "deep" / "b.txt"
    assert serve(root, WRITE, str(path), content="x") == {}
    assert serve(root, WRITE, str(path), content="longer") == {}
    assert path.read_text() == "longer"


@pytest.mark.parametrize("method", [READ, WRITE])
@pytest.mark.parametrize(
    "path", ["../secret", "in/../../secret", "", ".", "\0", "in/a\0", None, 7, "/etc/hostname"]
)
def test_what_is_not_below_the_workspace_is_not_served(
    root: Path, method: str, path: object
) -> None:
    given = f"{root}/{path}" if isinstance(path, str) and not path.startswith("/") else path
    outcome = serve(root, method, given, content="overwritten")
    assert isinstance(outcome, Failure)
    assert outcome.code == INVALID_PARAMS
    assert (root.parent / "secret").read_text() == "outside"


@pytest.mark.parametrize("method", [READ, WRITE])
def test_no_link_leads_out_or_anywhere(root: Path, method: str) -> None:
    (root / "file").symlink_to(root.parent / "secret")
    (root / "up").symlink_to(root.parent)
    (root / "inner").symlink_to(root / "in")
    for path in ("file", "up/secret", "inner/a.txt"):
        assert isinstance(serve(root, method, f"{root}/{path}", content="x"), Failure)
    assert (root.parent / "secret").read_text() == "outside"
    assert (root / "in" / "a.txt").read_text() == "one\ntwo\nthree\n"


def test_what_is_no_file_or_too_large_keeps_nobody_waiting(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with (root / "large").open("wb") as large:
        large.truncate(MAX_FILE + 1)
    assert isinstance(serve(root, WRITE, f"{root}/pipe", content="x"), Failure)
    assert isinstance(serve(root, READ, f"{root}/in"), Failure)
    assert isinstance(serve(root, READ, f"{root}/none"), Failure)
    outcome = serve(root, READ, f"{root}/large")
    assert isinstance(outcome, Failure)
    assert messages.too_large(MAX_FILE) in outcome.message
    with os.fdopen(os.open(root / "pipe", os.O_RDWR), "wb"):  # somebody may yet write into it
        for method in (READ, WRITE):
            outcome = serve(root, method, f"{root}/pipe", content="x")
            assert isinstance(outcome, Failure)
            assert messages.NO_FILE in outcome.message


def test_a_profile_that_does_not_simply_allow_it_forbids_it(root: Path) -> None:
    served = WorkspaceFiles(str(root), Permissions(read="deny", edit="ask"))
    for method in (READ, WRITE):
        outcome = served.serve(method, {"path": f"{root}/in/a.txt", "content": "x"})
        assert isinstance(outcome, Failure)
        assert messages.NOT_BY_PROFILE in outcome.message


def test_only_agents_of_the_users_own_are_served_and_told_so() -> None:
    for agent, serves in (("unheard-of", True), ("opencode", False)):
        talk = AcpTalk(agent).begins()
        told = talk.sent[0]["params"]["clientCapabilities"]
        assert told == {"fs": {"readTextFile": serves, "writeTextFile": serves}, "terminal": False}
        talk.hears({"jsonrpc": "2.0", "id": 0, "method": files.READ, "params": {"path": "/x"}})
        code = INVALID_PARAMS if serves else METHOD_NOT_FOUND
        assert talk.responses()[0]["code"] == code
