"""New and edited profiles on disk: nothing is replaced that was not read before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pi_subagents.config import profile_files
from pi_subagents.config.profile_files import (
    load_profiles,
    new_profile_file,
    profile_file_text,
    save_edited_profile,
    save_new_profile,
)
from pi_subagents.core.profile.profile import LoadedProfile, Profile
from pi_subagents.core.value import replace
from pi_subagents.errors import ProfileExists, ProfileKeyInProject, ProfileNotSaved
from pi_subagents.system.safe_io import make_private_dirs

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def loaded(path: Path, scope: str = "global") -> LoadedProfile:
    return LoadedProfile(Profile("a"), scope, str(path))


def test_a_new_profile_is_private_known_at_once_and_never_made_twice(
    tmp_path: Path, env: dict[str, str]
) -> None:
    assert load_profiles(tmp_path, env).get("a") is None
    path = save_new_profile(Profile("a", model="m"), "project", tmp_path, env)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_profiles(tmp_path, env).get("a") == LoadedProfile(
        Profile("a", model="m"), "project", str(path)
    )
    with pytest.raises(ProfileExists):
        save_new_profile(Profile("a"), "project", tmp_path, env)
    with pytest.raises(ProfileExists):
        new_profile_file("a", "project", tmp_path, env)
    assert path.read_text() == "---\nname: a\nmodel: m\n---\n"


def test_a_link_that_leads_nowhere_is_in_the_way_too(tmp_path: Path, env: dict[str, str]) -> None:
    directory = tmp_path / ".pi/agent-profiles"
    directory.mkdir(parents=True)
    (directory / "a.md").symlink_to("nowhere")
    with pytest.raises(ProfileExists):
        save_new_profile(Profile("a"), "project", tmp_path, env)


def test_of_two_who_create_at_once_the_first_wins(
    tmp_path: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / ".pi/agent-profiles/a.md"

    def other_is_quicker(directory: Path) -> None:
        make_private_dirs(directory)
        path.write_text("theirs")

    monkeypatch.setattr(profile_files, "make_private_dirs", other_is_quicker)
    with pytest.raises(ProfileExists):
        save_new_profile(Profile("a"), "project", tmp_path, env)
    assert path.read_text() == "theirs"


def test_a_new_profile_can_take_along_what_another_file_holds(
    tmp_path: Path, env: dict[str, str]
) -> None:
    template = "---\nname: a\n# kept\n---\nBody"
    path = save_new_profile(Profile("a", system_prompt="Body"), "global", tmp_path, env, template)
    assert path.read_text() == template


def test_a_key_is_not_saved_in_a_project(tmp_path: Path, env: dict[str, str]) -> None:
    keyed = Profile("a", api_key="k")
    with pytest.raises(ProfileKeyInProject):
        save_new_profile(keyed, "project", tmp_path, env)
    path = tmp_path / "a.md"
    path.write_text("---\nname: a\n---\n")
    with pytest.raises(ProfileKeyInProject):
        save_edited_profile(keyed, loaded(path, "project"), path.read_text())
    assert path.read_text() == "---\nname: a\n---\n"


def test_a_file_that_was_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"---\r\nname: a\r\n---\r\n")
    before = profile_file_text(loaded(path))
    assert before == "---\r\nname: a\r\n---\r\n"
    path.write_text("---\nname: a\nmodel: theirs\n---\n")
    with pytest.raises(ProfileNotSaved, match="changed by someone else"):
        save_edited_profile(Profile("a", model="ours"), loaded(path), before)
    assert path.read_text() == "---\nname: a\nmodel: theirs\n---\n"


def test_a_file_that_is_gone_or_no_text_cannot_be_edited(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    with pytest.raises(ProfileNotSaved):
        profile_file_text(loaded(path))
    path.write_bytes(b"\xff")
    with pytest.raises(ProfileNotSaved):
        profile_file_text(loaded(path))


def test_an_edit_that_makes_the_file_too_large_or_unwritable_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(before := "---\nname: a\n---\n")
    for prompt in ("x" * 300_000, "\udc80"):
        with pytest.raises(ProfileNotSaved):
            save_edited_profile(Profile("a", system_prompt=prompt), loaded(path), before)
    assert path.read_text() == before
    wanted = replace(Profile("a"), system_prompt="Short.")
    save_edited_profile(wanted, loaded(path), before)
    assert path.read_text() == f"{before}\nShort.\n"
