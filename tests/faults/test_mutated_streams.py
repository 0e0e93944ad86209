"""Whatever bytes a child, a settings file or a name holds: no exception, and the rest still counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.faults.fuzzing import fuzz_streams, fuzz_terminal
from tests.faults.records import Site, make_site

from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MB = 1_000_000


@pytest.mark.parametrize("seed", range(4))
def test_recorded_streams_may_be_damaged_in_any_way(seed: int) -> None:
    assert fuzz_streams(seed, 800) == 800


def test_nothing_that_drives_a_terminal_survives() -> None:
    fuzz_terminal(1, 20_000)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "10 MB of spaces": lambda: b" " * 10 * MB,
    "10 MB of text": lambda: b'{"subagents": {"x": "' + b"x" * 10 * MB + b'"}}',
    "10,000 levels of lists": lambda: (
        b'{"subagents": {"x": ' + b"[" * 10_000 + b"]" * 10_000 + b"}}"
    ),
    "10,000 levels of objects": lambda: (
        b'{"subagents": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_001
    ),
    "400,000 openings": lambda: b"[" * 400_000,
    "a number of a million digits": lambda: b'{"subagents": {"x": ' + b"9" * 900_000 + b"}}",
    "a hundred thousand keys": lambda: json.dumps(
        {"subagents": {str(n): 0 for n in range(60_000)}}
    ).encode(),
    "NULs": lambda: bytes(MB // 2),
    "no text at all": lambda: b"\xff\xfe" * 1000,
}


@pytest.mark.parametrize("which", ["project", "global"])
@pytest.mark.parametrize("what", HOSTILE)
def test_a_settings_file_cannot_exhaust_us(tmp_path: Path, what: str, which: str) -> None:
    site: Site = make_site(tmp_path)
    agent = tmp_path / "home" / ".pi" / "agent"
    agent.mkdir(parents=True)
    here, other = site.project / ".pi" / "settings.json", agent / "settings.json"
    if which == "global":
        here, other = other, here
    here.write_bytes(HOSTILE[what]())
    other.write_text('{"subagents": {"max_concurrency": 3}}')
    settings, problems = load_settings(site.project, site.env)
    assert settings.max_concurrency == 3, "the other file still counts"
    assert settings.retention_days == Settings().retention_days
    if what != "a hundred thousand keys":
        assert [problem.where for problem in problems] == [str(here)]
