from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from pi_subagents.config import messages as config_messages
from pi_subagents.config.definition_dir import MAX_CACHED
from pi_subagents.config.profile_files import (
    Profiles,
    delete_profile,
    invalidate_profiles_cache,
    load_profiles,
    profiles_dir,
    save_new_profile,
)
from pi_subagents.core import messages as core_messages
from pi_subagents.core.definitions.definition import GLOBAL, PROJECT
from pi_subagents.core.profile.profile import LoadedProfile, Profile
from pi_subagents.errors import ProfileKeyInProject, ProfileNotRemoved, ProfileNotSaved

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FULL = Profile(
    "full",
    model="m",
    append_system_prompt="One.\n\n  # two: 'three'\n",
    api_key="sk-test-abc123",
    tools=(),
    system_prompt="Body.",
)


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    invalidate_profiles_cache()
    yield
    invalidate_profiles_cache()


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    return {"PI_AGENT_DIR": str(tmp_path / "agent")}


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def write(directory: Path, name: str, *lines: str, file: str = "") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / (file or f"{name}.md")
    path.write_text("\n".join(["---", f"name: {name}", *lines, "---", ""]))
    path.chmod(0o600)
    return path


def models(profiles: Profiles) -> list[tuple[str, str, str]]:
    return [(name, each.profile.model, each.scope) for name, each in profiles.by_name.items()]


def test_the_directories_are_the_documented_ones(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert profiles_dir(GLOBAL, tmp_path, home) == tmp_path / ".pi" / "agent" / "agent-profiles"
    assert profiles_dir(PROJECT, tmp_path / "x", home) == tmp_path / "x" / ".pi" / "agent-profiles"
    moved = {**home, "PI_CODING_AGENT_DIR": str(tmp_path / "pi")}
    assert profiles_dir(GLOBAL, tmp_path, moved) == tmp_path / "pi" / "agent-profiles"
    ours = {**moved, "PI_AGENT_DIR": str(tmp_path / "ours")}
    assert profiles_dir(GLOBAL, tmp_path, ours) == tmp_path / "ours" / "agent-profiles"


def test_without_directories_there_are_no_profiles_and_nothing_is_made(
    tmp_path: Path, cwd: Path, env: Mapping[str, str]
) -> None:
    assert load_profiles(cwd, env) == Profiles({})
    assert os.listdir(tmp_path) == ["project"]
    assert os.listdir(cwd) == []


def test_the_project_overrides_global_profiles_by_name(cwd: Path, env: Mapping[str, str]) -> None:
    user, project = (profiles_dir(scope, cwd, env) for scope in (GLOBAL, PROJECT))
    write(user, "b", "model: b1")
    lost = write(user, "a", "model: a1")
    write(project, "c", "model: c2")
    # whatever the files are called
    write(project, "a", "model: a2", file="z.md")
    found = load_profiles(cwd, env)
    assert models(found) == [("a", "a2", PROJECT), ("b", "b1", GLOBAL), ("c", "c2", PROJECT)]
    assert found.overridden == (LoadedProfile(Profile("a", model="a1"), GLOBAL, str(lost)),)
    assert [problem.path for problem in found.problems] == [str(project / "z.md")]


def test_problems_of_both_directories_are_told(cwd: Path, env: Mapping[str, str]) -> None:
    paths = [write(profiles_dir(scope, cwd, env), "a", "noTools: x") for scope in (GLOBAL, PROJECT)]
    found = load_profiles(cwd, env)
    assert found.by_name == {}
    assert [(each.path, each.line, each.fatal) for each in found.problems] == [
        (str(path), 3, True) for path in paths
    ]


def test_a_profile_is_had_by_its_name_and_by_nothing_else(
    cwd: Path, env: Mapping[str, str]
) -> None:
    path = write(profiles_dir(GLOBAL, cwd, env), "a")
    found = load_profiles(cwd, env)
    assert found.get("a") == LoadedProfile(Profile("a"), GLOBAL, str(path))
    for name in ("A", "constructor", "__class__", "../a", "a.md", ""):
        assert found.get(name) is None
    with pytest.raises(TypeError):
        found.by_name["b"] = found.by_name["a"]  # type: ignore[index]  # what hosts get is plain JSON


def test_profiles_of_a_parent_directory_do_not_count(cwd: Path, env: Mapping[str, str]) -> None:
    write(profiles_dir(PROJECT, cwd, env), "a")
    (cwd / "src").mkdir()
    assert load_profiles(cwd / "src", env) == Profiles({})


@pytest.mark.parametrize("way", ["same path", "link"])
def test_a_directory_that_is_both_is_global_only(tmp_path: Path, cwd: Path, way: str) -> None:
    env = {"PI_AGENT_DIR": str(cwd / ".pi" if way == "same path" else tmp_path / "agent")}
    write(profiles_dir(GLOBAL, cwd, env), "a")
    if way == "link":
        (cwd / ".pi").symlink_to(tmp_path / "agent")
    found = load_profiles(cwd, env)
    assert (models(found), found.overridden) == ([("a", "", GLOBAL)], ())


def test_what_was_read_is_kept_for_five_seconds(cwd: Path, env: Mapping[str, str]) -> None:
    now = 100.0
    user = profiles_dir(GLOBAL, cwd, env)
    write(user, "broken", "noTools: x")
    first = load_profiles(cwd, env, clock=lambda: now)
    write(user, "a")
    (user / "broken.md").unlink()
    now = 104.9
    assert load_profiles(cwd, env, clock=lambda: now) is first
    assert len(first.problems) == 1
    now = 105.0
    second = load_profiles(cwd, env, clock=lambda: now)
    assert (models(second), second.problems) == ([("a", "", GLOBAL)], ())
    now = 109.9  # five seconds from the second reading
    assert load_profiles(cwd, env, clock=lambda: now) is second


def test_every_directory_and_agent_directory_has_its_own_entry(
    tmp_path: Path, cwd: Path, env: Mapping[str, str]
) -> None:
    write(profiles_dir(PROJECT, cwd, env), "a")
    first = load_profiles(cwd, env, clock=lambda: 1)
    assert models(load_profiles(tmp_path, env, clock=lambda: 1)) == []
    other = {"PI_AGENT_DIR": str(tmp_path / "other")}
    write(profiles_dir(GLOBAL, cwd, other), "b")
    elsewhere = load_profiles(cwd, other, clock=lambda: 1)
    assert models(elsewhere) == [("a", "", PROJECT), ("b", "", GLOBAL)]
    assert load_profiles(cwd, env, clock=lambda: 1) is first


def test_a_relative_directory_is_another_one_after_a_change_of_directory(
    tmp_path: Path, env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    here = type(tmp_path)()
    write(tmp_path / "one" / ".pi" / "agent-profiles", "a")
    (tmp_path / "two").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    assert models(load_profiles(here, env)) == [("a", "", PROJECT)]
    assert profiles_dir(PROJECT, here, env) == tmp_path / "one" / ".pi" / "agent-profiles"
    monkeypatch.chdir(tmp_path / "two")
    assert models(load_profiles(here, env)) == []


def test_few_entries_are_kept_and_the_oldest_go_first(
    tmp_path: Path, env: Mapping[str, str]
) -> None:
    loaded = [load_profiles(tmp_path / str(n), env, clock=lambda: 1) for n in range(MAX_CACHED + 1)]
    assert load_profiles(tmp_path / "1", env, clock=lambda: 1) is loaded[1]
    assert load_profiles(tmp_path / "0", env, clock=lambda: 1) is not loaded[0]


def test_what_was_read_again_is_no_longer_the_oldest(
    tmp_path: Path, env: Mapping[str, str]
) -> None:
    for number in range(MAX_CACHED):
        load_profiles(tmp_path / str(number), env, clock=lambda: 1)
    again = load_profiles(tmp_path / "1", env, clock=lambda: 10)
    for name in ("new", "newer"):
        load_profiles(tmp_path / name, env, clock=lambda: 10)
    assert load_profiles(tmp_path / "1", env, clock=lambda: 10) is again


def test_the_cache_can_be_emptied(cwd: Path, env: Mapping[str, str]) -> None:
    load_profiles(cwd, env, clock=lambda: 1)
    write(profiles_dir(GLOBAL, cwd, env), "a")
    invalidate_profiles_cache()
    assert models(load_profiles(cwd, env, clock=lambda: 1)) == [("a", "", GLOBAL)]


def test_a_saved_profile_is_private_and_comes_back_at_once(
    cwd: Path, env: Mapping[str, str]
) -> None:
    assert load_profiles(cwd, env, clock=lambda: 1) == Profiles({})
    path = save_new_profile(FULL, GLOBAL, cwd, env)
    assert path == profiles_dir(GLOBAL, cwd, env) / "full.md"
    found = load_profiles(cwd, env, clock=lambda: 1)
    assert found.by_name == {"full": LoadedProfile(FULL, GLOBAL, str(path))}
    assert [each.problem for each in found.problems] == [core_messages.TOOLS_EMPTY]
    modes = [stat.S_IMODE(os.stat(each).st_mode) for each in (path, path.parent)]
    assert modes == [0o600, 0o700]
    assert os.listdir(path.parent) == ["full.md"]


def test_a_key_never_gets_into_the_project(cwd: Path, env: Mapping[str, str]) -> None:
    with pytest.raises(ProfileKeyInProject) as refusal:
        save_new_profile(FULL, PROJECT, cwd, env)
    assert str(refusal.value) == (
        'Profile "full" holds an API key and is not saved in the project, whose files others may '
        "read. Save it globally, or without the key."
    )
    assert os.listdir(cwd) == []


@pytest.mark.parametrize(
    "profile",
    [
        Profile("../x"),
        Profile(""),
        Profile("x\n"),
        Profile("a" * 65),
        Profile("x", thinking_level="ultra"),
        Profile("x", provider="a\0"),
        Profile("x", system_prompt="\udfff"),
        Profile("x", model="\udfff"),
        Profile("x", exclude_tools=("a,b",)),
        Profile("x", append_system_prompt="y" * 70_000),
        Profile("x", system_prompt="y" * 270_000),
    ],
    ids=lambda profile: repr(profile)[:60],
)
def test_what_could_not_be_read_back_is_not_written(
    tmp_path: Path, cwd: Path, env: Mapping[str, str], profile: Profile
) -> None:
    with pytest.raises(ProfileNotSaved) as refusal:
        save_new_profile(profile, GLOBAL, cwd, env)
    assert refusal.value.reason == config_messages.NOT_READ_BACK
    assert os.listdir(tmp_path) == ["project"]


def test_a_system_prompt_is_trimmed_when_it_is_saved(cwd: Path, env: Mapping[str, str]) -> None:
    save_new_profile(Profile("x", system_prompt="\n One.\r\nTwo.\n\n"), GLOBAL, cwd, env)
    loaded = load_profiles(cwd, env).get("x")
    assert loaded is not None
    assert loaded.profile == Profile("x", system_prompt="One.\nTwo.")


def test_a_directory_that_cannot_be_written_is_told(cwd: Path, env: Mapping[str, str]) -> None:
    (cwd / ".pi").write_text("in the way")
    with pytest.raises(ProfileNotSaved) as refusal:
        save_new_profile(Profile("x"), PROJECT, cwd, env)
    assert str(refusal.value) == 'Profile "x" cannot be saved: Not a directory'


def test_a_removed_profile_is_gone_at_once_and_only_that_one(
    cwd: Path, env: Mapping[str, str]
) -> None:
    kept = write(profiles_dir(GLOBAL, cwd, env), "a", "model: m")
    write(profiles_dir(PROJECT, cwd, env), "a", file="b.md")
    found = load_profiles(cwd, env, clock=lambda: 1)
    delete_profile(found.by_name["a"])
    left = load_profiles(cwd, env, clock=lambda: 1)
    assert left == Profiles({"a": LoadedProfile(Profile("a", model="m"), GLOBAL, str(kept))})


def test_a_link_is_removed_and_what_it_led_to_stays(
    tmp_path: Path, cwd: Path, env: Mapping[str, str]
) -> None:
    target = write(tmp_path / "dotfiles", "a")
    directory = profiles_dir(GLOBAL, cwd, env)
    directory.mkdir(parents=True)
    (directory / "a.md").symlink_to(target)
    delete_profile(load_profiles(cwd, env).by_name["a"])
    assert (os.listdir(directory), target.exists()) == ([], True)


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("a", "elsewhere/a.md"),
        ("a", "agent-profiles/a.txt"),
        ("a", "agent-profiles/../agent-profiles/a.md"),
        ("../a", "agent-profiles/a.md"),
        ("a", "agent-profiles/directory.md"),
    ],
)
def test_nothing_but_a_file_of_a_profiles_directory_is_removed(
    tmp_path: Path, name: str, file: str
) -> None:
    for directory in ("elsewhere", "agent-profiles"):
        write(tmp_path / directory, "a")
    (tmp_path / "agent-profiles" / "a.txt").write_text("")
    (tmp_path / "agent-profiles" / "directory.md").mkdir()
    before = sorted(map(str, tmp_path.rglob("*")))
    with pytest.raises(ProfileNotRemoved) as refusal:
        delete_profile(LoadedProfile(Profile(name), GLOBAL, f"{tmp_path}/{file}"))
    assert refusal.value.reason == config_messages.NOT_A_PROFILE_FILE
    assert sorted(map(str, tmp_path.rglob("*"))) == before


def test_a_file_that_is_already_gone_is_told(tmp_path: Path) -> None:
    path = tmp_path / "agent-profiles" / "a.md"
    with pytest.raises(ProfileNotRemoved) as refusal:
        delete_profile(LoadedProfile(Profile("a"), GLOBAL, str(path)))
    assert str(refusal.value) == 'Profile "a" cannot be removed: No such file or directory'
