"""Where a call stands: what is found out before anything starts, and said once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_node import write_script

from pi_subagents.service import call as launch

if TYPE_CHECKING:
    from pathlib import Path


class Caller:
    """Somebody whose pi is one file that tells its version."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notices: list[str] = []
        (root / "project").mkdir()

    def stand(self) -> launch.CallContext:
        env = {"HOME": str(self.root / "home"), "PATH": f"{self.root}/bin:/usr/bin:/bin"}
        context = launch.open_call(
            {"cwd": self.root / "project", "env": env, "on_notice": self.notices.append}
        )
        context.open_engine("")
        return context

    def has_pi(self, version: str) -> None:
        write_script(self.root / "bin" / "pi", f"#!/bin/sh\necho {version}\n")


@pytest.fixture
def caller(tmp_path: Path) -> Caller:
    return Caller(tmp_path)


def test_a_pi_newer_than_tested_is_used_and_that_is_said_once(caller: Caller) -> None:
    caller.has_pi("99.0.1")
    grounds = [caller.stand(), caller.stand()]
    assert [context.open_engine("").facts["pi"] for context in grounds] == [
        {"source": "path", "version": "99.0.1"}
    ] * 2
    (notice,) = caller.notices
    assert notice == (
        "pi 99.0.1 is newer than the newest that pi-subagents was tested with (1.5.0). It is used "
        "all the same; if something looks wrong, `subagents setup` installs that one."
    )
    caller.has_pi("99.0.2")
    caller.stand()
    assert len(caller.notices) == 2


@pytest.mark.parametrize("version", ["0.87.1", "1.5.0", "no version"])
def test_nothing_is_said_of_another(caller: Caller, version: str) -> None:
    caller.has_pi(version)
    caller.stand()
    assert caller.notices == []


def test_every_option_is_in_one_of_three_groups() -> None:
    groups = (launch.CallerOptions, launch.PolicyOptions, launch.ObserverOptions)
    options = [name for group in groups for name in group.__annotations__]
    assert sorted(options) == sorted(launch.Options.__annotations__)
