from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from pi_subagents.config.definition_answers import DIRECTORY, DefinitionAnswers
from pi_subagents.core.definitions.definition import PROJECT
from pi_subagents.core.definitions.found import UserAnswer
from pi_subagents.core.preset.preset import LoadedPreset, Preset
from pi_subagents.core.profile.profile import LoadedProfile, Profile
from pi_subagents.core.value import replace

if TYPE_CHECKING:
    from pathlib import Path

PRESET = LoadedPreset(Preset("scout", "looks", "m", ("read",), "Look."), PROJECT, "/p/scout.md")
PROFILE = LoadedProfile(Profile("scout", model="m"), PROJECT, "/p/scout.md")


def test_an_answer_is_found_again_by_the_content_wherever_the_file_is(tmp_path: Path) -> None:
    DefinitionAnswers(tmp_path).keep("preset", PRESET, use=True)
    answers = DefinitionAnswers(tmp_path)
    found = answers.find("preset", replace(PRESET, path="/elsewhere/scout.md"))
    assert found is not None
    assert found.use
    DefinitionAnswers(tmp_path).keep("preset", PRESET, use=False)
    assert answers.find("preset", PRESET) == UserAnswer(use=False, file=found.file)


@pytest.mark.parametrize(
    "change",
    [{"name": "scouts"}, {"description": "looks!"}, {"model": ""}, {"tools": None}, {"tools": ()},
     {"tools": ("read", "bash")}, {"prompt": "Look. "}],
)  # fmt: skip
def test_whatever_changes_makes_it_another_definition(
    tmp_path: Path, change: dict[str, object]
) -> None:
    answers = DefinitionAnswers(tmp_path)
    answers.keep("preset", PRESET, use=True)
    changed = replace(PRESET, preset=replace(PRESET.preset, **change))
    assert answers.find("preset", changed) is None


def test_a_profile_and_a_preset_are_never_the_same(tmp_path: Path) -> None:
    answers = DefinitionAnswers(tmp_path)
    answers.keep("preset", PRESET, use=True)
    assert answers.find("profile", PROFILE) is None


def test_answers_are_private(tmp_path: Path) -> None:
    DefinitionAnswers(tmp_path / "data").keep("profile", PROFILE, use=True)
    directory = tmp_path / "data" / DIRECTORY
    (path,) = directory.iterdir()
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "{", "[]", '{"use": "yes"}', "null"])
def test_what_cannot_be_read_is_no_answer(tmp_path: Path, content: str) -> None:
    answers = DefinitionAnswers(tmp_path)
    answers.keep("profile", PROFILE, use=True)
    (path,) = (tmp_path / DIRECTORY).iterdir()
    path.write_text(content)
    assert answers.find("profile", PROFILE) is None


def test_where_nothing_can_be_kept_it_is_asked_again(tmp_path: Path) -> None:
    (tmp_path / DIRECTORY).write_text("in the way")
    answers = DefinitionAnswers(tmp_path)
    answers.keep("profile", PROFILE, use=True)
    assert answers.find("profile", PROFILE) is None
