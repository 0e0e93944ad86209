from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.healthy_place import with_env, write_settings

from pi_subagents.hosts.pi.doctor import PI_EXTENSION, check_pi_extension
from pi_subagents.hosts.pi.extension import extension_dir
from pi_subagents.service.doctor.examination import examine

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.system.home import CheckedPlace


def test_an_extension_that_is_not_installed_is_fine(place: CheckedPlace) -> None:
    assert check_pi_extension(place) == PI_EXTENSION.ok(
        "not installed in pi (`subagents install pi` does it)"
    )


@pytest.mark.parametrize("project", [False, True])
def test_the_settings_that_name_the_extension_are_told(place: CheckedPlace, project: bool) -> None:
    path = write_settings(place, {"packages": [str(extension_dir())]}, project=project)
    assert check_pi_extension(place) == PI_EXTENSION.ok(
        f"installed in pi ({path}); sub-agents there run on that very pi"
    )


def test_another_pi_that_was_chosen_counts_inside_pi_too(place: CheckedPlace) -> None:
    named = {"packages": [str(extension_dir())], "subagents": {"pi_command": "other-pi"}}
    path = write_settings(place, named)
    heard = f"installed in pi ({path}); sub-agents there run on the pi from"
    setting = f"{heard} the setting subagents.pi_command"
    assert check_pi_extension(place) == PI_EXTENSION.ok(setting)
    chosen = with_env(place, PI_SUBAGENTS_PI="/opt/pi")
    assert check_pi_extension(chosen) == PI_EXTENSION.ok(f"{heard} PI_SUBAGENTS_PI")


def test_a_package_path_that_no_longer_exists_is_a_problem(
    place: CheckedPlace, tmp_path: Path
) -> None:
    gone = tmp_path / "venv" / "pi_subagents" / "pi_extension"
    path = write_settings(place, {"packages": [str(gone)]})
    assert check_pi_extension(place) == PI_EXTENSION.problem(
        f"{path} names {gone}, which does not exist",
        "`subagents install pi` names the one that is there.",
    )


def test_the_extension_of_another_installation_is_told(place: CheckedPlace, tmp_path: Path) -> None:
    other = tmp_path / "venv" / "pi_subagents" / "pi_extension"
    other.mkdir(parents=True)
    write_settings(place, {"packages": [str(other)]})
    assert check_pi_extension(place) == PI_EXTENSION.note(
        f"pi loads that of another installation: {other}",
        "`subagents install pi` puts this one in its place.",
    )


def test_a_package_with_tools_of_the_same_names_is_a_problem(place: CheckedPlace) -> None:
    write_settings(place, {"packages": [str(extension_dir())]})
    write_settings(place, {"packages": ["npm:pi-subagents"]}, project=True)
    assert check_pi_extension(place) == PI_EXTENSION.problem(
        "installed, and so is npm:pi-subagents, whose tools have the same names",
        "Remove one: `pi remove npm:pi-subagents`, or `subagents uninstall pi`.",
    )


def test_it_is_part_of_the_examination(place: CheckedPlace) -> None:
    assert PI_EXTENSION.id in [check.id for check in examine(place.cwd, place.env)]
