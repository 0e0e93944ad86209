from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.profile_home import write_preset, write_profile

from pi_subagents.config import definition_dir
from pi_subagents.config.definition_dir import MAX_BYTES, MAX_CACHED
from pi_subagents.config.preset_files import (
    Presets,
    global_presets_dir,
    invalidate_presets_cache,
    load_presets,
    new_project_presets_dir,
    project_presets_dir,
)
from pi_subagents.core import messages as core_messages
from pi_subagents.core.definitions.definition import GLOBAL, PROJECT, FileProblem
from pi_subagents.core.preset.preset import LoadedPreset, Preset

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    invalidate_presets_cache()
    yield
    invalidate_presets_cache()


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    return {"PI_AGENT_DIR": str(tmp_path / "agent")}


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def user_dir(env: Mapping[str, str]) -> Path:
    return made(global_presets_dir(env))


def project_dir(cwd: Path) -> Path:
    return made(cwd / ".pi" / "subagents")


def preset(name: str, model: str = "") -> Preset:
    return Preset(name, "For tests", model=model)


def models(presets: Presets) -> list[tuple[str, str, str]]:
    return [(name, each.preset.model, each.scope) for name, each in presets.by_name.items()]


def test_the_global_directory_is_the_documented_one(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert global_presets_dir(home) == tmp_path / ".pi" / "agent" / "subagents"
    moved = {**home, "PI_CODING_AGENT_DIR": str(tmp_path / "pi")}
    assert global_presets_dir(moved) == tmp_path / "pi" / "subagents"


def test_without_directories_there_are_no_presets_and_nothing_is_made(
    tmp_path: Path, cwd: Path, env: Mapping[str, str]
) -> None:
    assert load_presets(cwd, env) == Presets({})
    assert (os.listdir(tmp_path), os.listdir(cwd)) == (["project"], [])


def test_there_are_no_bundled_presets(tmp_path: Path) -> None:
    assert load_presets(tmp_path, {"HOME": str(tmp_path)}).by_name == {}


def test_the_project_overrides_global_presets_by_name(cwd: Path, env: Mapping[str, str]) -> None:
    user, project = user_dir(env), project_dir(cwd)
    write_preset(user, "b", "model: b1")
    lost = write_preset(user, "a", "model: a1")
    write_preset(project, "a", "model: a2")
    write_preset(project, "c", "model: c2")
    found = load_presets(cwd, env)
    assert models(found) == [("a", "a2", PROJECT), ("b", "b1", GLOBAL), ("c", "c2", PROJECT)]
    assert found.overridden == (LoadedPreset(preset("a", "a1"), GLOBAL, str(lost)),)
    assert (found.problems, found.project_dir) == ((), project)


def test_a_projects_preset_takes_the_place_of_a_global_one_whole(
    cwd: Path, env: Mapping[str, str]
) -> None:
    write_preset(user_dir(env), "a", "model: m", "tools: read", body="Be careful.")
    path = write_preset(project_dir(cwd), "a")
    assert load_presets(cwd, env).by_name == {"a": LoadedPreset(preset("a"), PROJECT, str(path))}


def test_a_preset_is_had_by_its_name_and_by_nothing_else(cwd: Path, env: Mapping[str, str]) -> None:
    path = write_preset(user_dir(env), "a")
    found = load_presets(cwd, env)
    assert found.get("a") == LoadedPreset(preset("a"), GLOBAL, str(path))
    for name in ("A", "constructor", "__class__", "../a", "a.md", ""):
        assert found.get(name) is None


def test_the_nearest_ancestor_with_presets_is_the_project(
    cwd: Path, env: Mapping[str, str]
) -> None:
    far = project_dir(cwd)
    write_preset(far, "far")
    deep = made(cwd / "a" / "b" / "c")
    assert (project_presets_dir(deep, env), models(load_presets(deep, env))) == (
        far,
        [("far", "", PROJECT)],
    )
    near = project_dir(cwd / "a")
    write_preset(near, "near")
    invalidate_presets_cache()
    # The farther one does not count beside it.
    assert (project_presets_dir(deep, env), models(load_presets(deep, env))) == (
        near,
        [("near", "", PROJECT)],
    )
    assert project_presets_dir(cwd, env) == far


@pytest.mark.parametrize("content", ["nothing", "runs", "hidden", "other", "directory", "agents"])
def test_a_directory_without_presets_is_passed_by(
    cwd: Path, env: Mapping[str, str], content: str
) -> None:
    far = project_dir(cwd)
    write_preset(far, "far")
    near = project_dir(cwd / "src")
    match content:
        case "runs":
            (made(near / "runs" / ("0" * 32)) / "prompt.md").write_text("# not a preset")
        case "hidden":
            write_preset(near, ".near")
        case "other":
            write_preset(near, "near").rename(near / "near.txt")
        case "directory":
            made(near / "near.md")
        case "agents":
            write_preset(made(cwd / "src" / ".pi" / "agents"), "near")
    assert project_presets_dir(cwd / "src", env) == far


def test_a_broken_preset_is_enough_for_a_project_so_that_it_is_told(
    cwd: Path, env: Mapping[str, str]
) -> None:
    write_preset(project_dir(cwd), "far")
    near = project_dir(cwd / "src")
    broken = write_profile(near, "near")
    found = load_presets(cwd / "src", env)
    problem = core_messages.field_problem("description", core_messages.NEEDS_DESCRIPTION)
    expected = FileProblem(str(broken), 1, problem, fatal=True)
    assert found == Presets({}, (expected,), project_dir=near)


@pytest.mark.parametrize("in_the_way", ["file", "fifo", "loop", "unreadable"])
def test_what_cannot_be_looked_into_is_passed_by(
    cwd: Path, env: Mapping[str, str], in_the_way: str
) -> None:
    far = project_dir(cwd)
    write_preset(far, "far")
    near = made(cwd / "src" / ".pi") / "subagents"
    match in_the_way:
        case "file":
            near.write_text("")
        case "fifo":
            os.mkfifo(near)
        case "loop":
            near.symlink_to(near)
        case "unreadable":
            if os.geteuid() == 0:
                pytest.skip("root reads everything")
            write_preset(made(near), "near")
            near.chmod(0)
    assert project_presets_dir(cwd / "src", env) == far
    if in_the_way == "unreadable":
        near.chmod(0o700)


def test_a_directory_that_is_gone_still_has_ancestors(cwd: Path, env: Mapping[str, str]) -> None:
    write_preset(project_dir(cwd), "far")
    assert project_presets_dir(cwd / "gone" / "too", env) == cwd / ".pi" / "subagents"


def test_the_search_ends_at_the_root(env: Mapping[str, str]) -> None:
    assert project_presets_dir(Path("/"), env) in (None, Path("/.pi/subagents"))


def test_a_path_that_climbs_has_the_ancestors_it_ends_in(cwd: Path, env: Mapping[str, str]) -> None:
    write_preset(project_dir(cwd / "aside"), "aside")
    assert project_presets_dir(cwd / "aside" / ".." / "src", env) is None


def test_a_relative_directory_has_ancestors_too(
    cwd: Path, env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_preset(project_dir(cwd), "a")
    (cwd / "src").mkdir()
    monkeypatch.chdir(cwd / "src")
    assert project_presets_dir(Path(), env) == cwd / ".pi" / "subagents"
    assert models(load_presets(Path(), env)) == [("a", "", PROJECT)]


@pytest.mark.parametrize("way", ["same path", "link"])
def test_the_global_directory_does_not_count_twice(tmp_path: Path, cwd: Path, way: str) -> None:
    env = {"PI_AGENT_DIR": str(cwd / ".pi" if way == "same path" else tmp_path / "agent")}
    write_preset(user_dir(env), "a")
    if way == "link":
        (cwd / ".pi").symlink_to(tmp_path / "agent")
    found = load_presets(cwd / "src", env)
    assert (models(found), found.overridden, found.project_dir) == ([("a", "", GLOBAL)], (), None)


def test_above_the_global_directory_the_search_goes_on(tmp_path: Path, cwd: Path) -> None:
    env = {"PI_AGENT_DIR": str(cwd / ".pi")}
    write_preset(user_dir(env), "a")
    write_preset(project_dir(tmp_path), "b")
    found = load_presets(cwd, env)
    assert models(found) == [("a", "", GLOBAL), ("b", "", PROJECT)]
    assert found.project_dir == tmp_path / ".pi" / "subagents"


def test_a_new_project_would_keep_presets_beside_its_runs(cwd: Path) -> None:
    (cwd / ".git").mkdir()
    src = made(cwd / "src")
    assert new_project_presets_dir(src) == cwd / ".pi" / "subagents"


def test_a_link_to_a_file_is_followed(tmp_path: Path, cwd: Path, env: Mapping[str, str]) -> None:
    target = write_preset(made(tmp_path / "dotfiles"), "a", "model: m")
    link = user_dir(env) / "a.md"
    link.symlink_to(target)
    assert load_presets(cwd, env).by_name == {
        "a": LoadedPreset(preset("a", "m"), GLOBAL, str(link))
    }


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (b"---\nname: b\n", 1, core_messages.FENCE_NOT_CLOSED),
        (b"---\nname: b\nname: b\n---\n", 3, core_messages.repeated_key("name")),
        (b"---\nname: b\ndescription: &x d\nmodel: *x\n---\n", 3, core_messages.NO_ALIASES),
        (b"---\nname: b\ndescription: d\ntools: {}\n---\n", 4,
         f'"tools" {core_messages.MUST_BE_ITEMS}'),
        (b"---\nname: b\ndescription: d\n---\n\0", 1, core_messages.BODY_HAS_NULL),
        (b"---\nname: b\ndescription: d\n---\n\xff", 1, "is not UTF-8 text"),
        (b"x" * (10 * 1024 * 1024), 1, "cannot be used: larger than 262144 bytes"),
    ],
    ids=["unclosed", "twice", "alias", "tools", "nul", "latin", "huge"],
)  # fmt: skip
def test_a_broken_file_is_reported_and_hides_no_other(
    cwd: Path, env: Mapping[str, str], content: bytes, line: int, problem: str
) -> None:
    project = project_dir(cwd)
    (project / "b.md").write_bytes(content)
    write_preset(project, "a")
    write_preset(project, "c")
    found = load_presets(cwd, env)
    assert list(found.by_name) == ["a", "c"]
    assert found.problems == (FileProblem(str(project / "b.md"), line, problem, fatal=True),)


@pytest.mark.parametrize("kind", ["fifo", "loop", "dangling", "unreadable"])
def test_what_is_no_readable_file_is_reported_and_never_waited_for(
    cwd: Path, env: Mapping[str, str], kind: str
) -> None:
    project = project_dir(cwd)
    write_preset(project, "a")
    path = project / "b.md"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "dangling":
            path.symlink_to(project / "nowhere")
        case "unreadable":
            if os.geteuid() == 0:
                pytest.skip("root reads everything")
            write_preset(project, "b").chmod(0)
    found = load_presets(cwd, env)
    (problem,) = found.problems
    assert list(found.by_name) == ["a"]
    assert (problem.path, problem.line, problem.fatal) == (str(path), 1, True)
    assert problem.problem.startswith("cannot be used: ")


def test_a_preset_may_be_as_large_as_the_limit(cwd: Path, env: Mapping[str, str]) -> None:
    path = write_preset(user_dir(env), "a")
    head = path.read_text()
    path.write_text(head + "x" * (MAX_BYTES - len(head)))
    assert list(load_presets(cwd, env).by_name) == ["a"]
    path.write_text(head + "x" * (MAX_BYTES - len(head) + 1))
    invalidate_presets_cache()
    assert list(load_presets(cwd, env).by_name) == []


def test_too_many_files_are_reported_as_presets(
    cwd: Path, env: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(definition_dir, "MAX_FILES", 2)
    project = project_dir(cwd)
    for name in ("c", "a", "b"):
        write_preset(project, name)
    found = load_presets(cwd, env)
    problem = "holds more than 2 presets; the rest is not loaded"
    assert list(found.by_name) == ["a", "b"]
    assert found.problems == (FileProblem(str(project), 1, problem, fatal=True),)


def test_of_two_files_with_one_name_the_one_called_so_counts(
    cwd: Path, env: Mapping[str, str]
) -> None:
    user = user_dir(env)
    write_preset(user, "n", "model: other").rename(user / "a.md")
    write_preset(user, "n", "model: same")
    found = load_presets(cwd, env)
    problem = '"n" is the name of the preset in n.md; this file is not used'
    assert models(found) == [("n", "same", GLOBAL)]
    assert found.problems == (FileProblem(str(user / "a.md"), 2, problem, fatal=True),)


def test_what_was_read_is_kept_for_five_seconds(cwd: Path, env: Mapping[str, str]) -> None:
    first = load_presets(cwd, env, clock=lambda: 100)
    write_preset(project_dir(cwd), "a")
    assert load_presets(cwd, env, clock=lambda: 104.9) is first
    second = load_presets(cwd, env, clock=lambda: 105)
    assert (models(second), second.project_dir) == ([("a", "", PROJECT)], project_dir(cwd))


def test_every_directory_and_agent_directory_has_its_own_entry(
    tmp_path: Path, cwd: Path, env: Mapping[str, str]
) -> None:
    write_preset(project_dir(cwd), "a")
    first = load_presets(cwd, env, clock=lambda: 1)
    assert models(load_presets(tmp_path, env, clock=lambda: 1)) == []
    other = {"PI_AGENT_DIR": str(tmp_path / "other")}
    write_preset(user_dir(other), "b")
    elsewhere = load_presets(cwd, other, clock=lambda: 1)
    assert models(elsewhere) == [("a", "", PROJECT), ("b", "", GLOBAL)]
    assert load_presets(cwd, env, clock=lambda: 1) is first


def test_few_entries_are_kept_and_the_oldest_go_first(
    tmp_path: Path, env: Mapping[str, str]
) -> None:
    loaded = [load_presets(tmp_path / str(n), env, clock=lambda: 1) for n in range(MAX_CACHED + 1)]
    assert load_presets(tmp_path / "1", env, clock=lambda: 1) is loaded[1]
    assert load_presets(tmp_path / "0", env, clock=lambda: 1) is not loaded[0]
