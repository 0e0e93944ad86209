from __future__ import annotations

from typing import TYPE_CHECKING

from tests.fakes.healthy_place import agent_dir, with_env, write_settings
from tests.fakes.profile_home import write_preset, write_profile

from pi_subagents.config.preset_files import invalidate_presets_cache
from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.service.doctor import configuration

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.check import Check
    from pi_subagents.system.home import CheckedPlace


def test_the_agent_directory_is_told_with_who_chose_it(place: CheckedPlace, tmp_path: Path) -> None:
    subject, check = configuration.AGENT_DIR, configuration.check_agent_dir
    assert check(place) == subject.ok(f"{agent_dir(place)} (the default)")
    chosen = with_env(place, PI_CODING_AGENT_DIR=str(tmp_path / "mine"))
    assert check(chosen) == subject.note(
        f"{tmp_path}/mine (from PI_CODING_AGENT_DIR) does not exist yet; pi will create it"
    )
    (tmp_path / "mine").write_text("a file")
    assert check(chosen).state == "problem"


def test_an_agent_directory_that_pi_does_not_read_is_a_problem(
    place: CheckedPlace, tmp_path: Path
) -> None:
    ours = with_env(place, PI_AGENT_DIR=str(tmp_path))
    assert configuration.check_agent_dir(ours) == configuration.AGENT_DIR.problem(
        f"{tmp_path} (from PI_AGENT_DIR), but pi itself does not read PI_AGENT_DIR and uses another",
        "Set PI_CODING_AGENT_DIR instead: both read that one.",
    )
    both = with_env(ours, PI_CODING_AGENT_DIR=str(tmp_path))
    assert configuration.check_agent_dir(both).state == "ok"


def test_each_problem_of_a_settings_file_is_told_with_its_file(place: CheckedPlace) -> None:
    own = write_settings(place, {"subagents": {"max_concurrency": "many", "retention_days": None}})
    projects = write_settings(place, {"subagents": {"pi_command": "x"}}, project=True)
    fix = "Correct the file; until then, the defaults apply."
    assert configuration.check_global_settings(place) == configuration.GLOBAL_SETTINGS.problem(
        f"{own}\n"
        "subagents.max_concurrency: should be a number, is str; ignored\n"
        "subagents.retention_days: should be a number, is NoneType; ignored",
        fix,
    )
    assert configuration.check_project_settings(place) == configuration.PROJECT_SETTINGS.problem(
        f"{projects}\nsubagents.pi_command: ignored: it counts in the global settings file only",
        fix,
    )


def test_a_settings_file_that_is_no_json_is_told(place: CheckedPlace) -> None:
    path = write_settings(place, "{")
    assert configuration.check_global_settings(place).found.startswith(
        f"{path}\ncannot be used: Expecting property name"
    )
    assert configuration.check_project_settings(place).state == "ok"


def test_a_key_that_is_nearly_one_of_ours_is_named_and_others_are_not(place: CheckedPlace) -> None:
    path = write_settings(place, {"subagents": {"max_concurency": 3, "entirely_else": 1}})
    assert configuration.check_global_settings(place) == configuration.GLOBAL_SETTINGS.note(
        f"{path}: unknown and without effect: max_concurency (did you mean max_concurrency?)",
        "docs/settings.md lists the keys.",
    )
    assert configuration.check_project_settings(place).state == "ok"


def profiles_check(place: CheckedPlace) -> Check:
    invalidate_profiles_cache()
    return configuration.check_profiles(place)


def test_profiles_that_can_all_be_used_are_counted(place: CheckedPlace) -> None:
    subject = configuration.PROFILES
    assert profiles_check(place) == subject.ok("none")
    own, projects = make_profile_dirs(place)
    write_profile(own, "fast")
    write_profile(projects, "slow")
    assert profiles_check(place) == subject.ok("2 in use")


def test_a_profile_with_a_warning_is_worth_a_note(place: CheckedPlace) -> None:
    own, _ = make_profile_dirs(place)
    write_profile(own, "fast", "modle: x")
    fix = "`subagents profile lint` lists them."
    assert profiles_check(place) == configuration.PROFILES.note("1 in use; 1 warning", fix)
    write_profile(own, "slow", "modle: x")
    assert profiles_check(place) == configuration.PROFILES.note("2 in use; 2 warnings", fix)


def test_broken_profiles_and_open_keys_are_named_without_what_is_in_them(
    place: CheckedPlace,
) -> None:
    own, projects = make_profile_dirs(place)
    word = write_profile(projects, "word", "extraArgs: [; canary-1c7e]")
    broken = write_profile(own, "broken", "noTools: canary-1c7e")
    paid = write_profile(own, "paid", "apiKey: canary-1c7e-and-more")
    paid.chmod(0o644)
    assert profiles_check(place) == configuration.PROFILES.problem(
        "2 in use\n"
        f"{broken}:3: cannot be used\n"
        f"{word}:3: cannot be used\n"
        f"{paid}:3: holds an API key, and other users may read it: chmod 600 {paid}",
        "`subagents profile lint` says what is wrong, line by line.",
        public="2 in use; 2 broken, 1 with a key that others may read",
    )


def test_an_open_key_alone_is_a_problem(place: CheckedPlace) -> None:
    own, _ = make_profile_dirs(place)
    write_profile(own, "paid", "apiKey: sk-test-abc123").chmod(0o640)
    assert profiles_check(place).state == "problem"


def test_of_many_broken_profiles_some_are_named_and_the_rest_counted(place: CheckedPlace) -> None:
    own, _ = make_profile_dirs(place)
    paths = [write_profile(own, f"p{n:02}", "noTools: x") for n in range(12)]
    assert profiles_check(place).found == "\n".join(
        ["none", *(f"{path}:3: cannot be used" for path in paths[:9]), "… (3 more lines)"]
    )


def make_profile_dirs(place: CheckedPlace) -> tuple[Path, Path]:
    """Make the user's and the project's."""
    made = agent_dir(place) / "agent-profiles", place.cwd / ".pi/agent-profiles"
    for directory in made:
        directory.mkdir()
    return made


def presets_check(place: CheckedPlace) -> Check:
    invalidate_presets_cache()
    return configuration.check_presets(place)


def test_presets_are_counted_and_a_warning_is_worth_a_note(place: CheckedPlace) -> None:
    subject = configuration.PRESETS
    assert presets_check(place) == subject.ok("none")
    own, projects = make_preset_dirs(place)
    write_preset(own, "fast")
    write_preset(projects, "slow")
    assert presets_check(place) == subject.ok("2 in use")
    write_preset(own, "fast", "modle: x")
    fix = "`subagents preset lint` lists them."
    assert presets_check(place) == subject.note("2 in use; 1 warning", fix)


def test_broken_presets_are_named_without_what_is_in_them(place: CheckedPlace) -> None:
    own, projects = make_preset_dirs(place)
    write_preset(own, "fine")
    broken = write_preset(own, "broken", "tools: {canary-1c7e: 1}")
    nameless = write_profile(projects, "nameless")
    assert presets_check(place) == configuration.PRESETS.problem(
        f"1 in use\n{broken}:4: cannot be used\n{nameless}:1: cannot be used",
        "`subagents preset lint` says what is wrong, line by line.",
        public="1 in use; 2 broken",
    )


def make_preset_dirs(place: CheckedPlace) -> tuple[Path, Path]:
    """Make the user's and the project's."""
    made = agent_dir(place) / "subagents", place.cwd / ".pi/subagents"
    for directory in made:
        directory.mkdir()
    return made
