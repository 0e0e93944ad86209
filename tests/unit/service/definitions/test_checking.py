from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fakes.profile_home import write_preset, write_profile

from pi_subagents.config import messages as config_messages
from pi_subagents.config.preset_files import (
    global_presets_dir,
    invalidate_presets_cache,
    load_presets,
)
from pi_subagents.config.profile_files import (
    invalidate_profiles_cache,
    load_profiles,
    profiles_dir,
)
from pi_subagents.core import messages as core_messages
from pi_subagents.core.definitions.definition import GLOBAL, PROJECT, FileProblem
from pi_subagents.core.preset.preset import preset_profile
from pi_subagents.core.settings import Settings
from pi_subagents.engines.base import CallPlace
from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.engines.pi.command import PiCommand
from pi_subagents.engines.pi.engine import PiCall
from pi_subagents.errors import ProfileRefused
from pi_subagents.service import messages as service_messages
from pi_subagents.service.definitions.files import ProfileFiles, lint_presets, lint_profiles
from pi_subagents.service.looking import LookingPlace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    invalidate_profiles_cache()
    invalidate_presets_cache()
    yield
    invalidate_profiles_cache()
    invalidate_presets_cache()


@pytest.fixture
def env(tmp_path: Path) -> Mapping[str, str]:
    return {"PI_AGENT_DIR": str(tmp_path / "agent")}


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


def pi(version: str) -> PiCall:
    place = CallPlace(Path(), {}, Settings(), trusted=lambda _: False)
    return PiCall(place, PiCommand((), "managed", version))


def made(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def write(directory: Path, name: str, *lines: str, file: str = "") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / (file or f"{name}.md")
    path.write_text("\n".join(["---", f"name: {name}", *lines, "---", ""]))
    path.chmod(0o600)
    return path


def test_the_linter_finds_everything_in_both_directories_by_path_and_line(
    cwd: Path, env: Mapping[str, str]
) -> None:
    user, project = (profiles_dir(scope, cwd, env) for scope in (GLOBAL, PROJECT))
    write(user, "fine", "model: m")
    write(user, "a", "extraArgs: ['; ls']", "loadSkills: s", "noSkills: true", "zzz: 1")
    write(user, "a", "tools: read", "excludeTools: bash", file="b.md")
    write(project, "a", "tools:", "noTools: perhaps")
    conflict = 'Profile "a" has both "{}" and "{}" set. These are mutually exclusive — {}.'
    assert [(each.path, each.line, each.problem, each.fatal) for each in lint_profiles(cwd, env, lambda _: pi("0.87.1"))] == [
        (str(user / "a.md"), 3, "Refusing extraArg: potentially unsafe argument '; ls...'", True),
        (str(user / "a.md"), 5,
         conflict.format("loadSkills", "noSkills", "--no-skills disables skill discovery"), True),
        (str(user / "a.md"), 6, 'unknown field "zzz"; ignored', False),
        (str(user / "b.md"), 2, config_messages.name_taken("profile", "a", "a.md"), True),
        (str(user / "b.md"), 4, conflict.format("tools", "excludeTools", "use one of them"), True),
        (str(project / "a.md"), 3, core_messages.TOOLS_EMPTY, False),
        (str(project / "a.md"), 4, '"noTools" must be true or false', True),
    ]  # fmt: skip


def test_the_linter_says_what_the_pi_of_today_makes_of_a_profile(
    cwd: Path, env: Mapping[str, str]
) -> None:
    user = profiles_dir(GLOBAL, cwd, env)
    write(user, "bare", "model: m", "noExtensions: true")
    write(user, "lone", "provider: groq")
    write(user, "open", "tools: +grep")
    write(user, "server", "tools: read", "mcp: all")

    def heard(version: str) -> list[tuple[str, int, str, bool, bool]]:
        return [
            (Path(each.path).stem, each.line, each.problem, each.fatal, each.is_note)
            for each in lint_profiles(cwd, env, lambda _: pi(version))
        ]

    refused = pi_messages.field_refused
    signed = ("open", 3, refused("open", "tools", pi_messages.tool_signed("+grep")), True, False)
    alone = ("lone", 3, pi_messages.note_provider_alone("groq"), False, False)
    unreached = ("server", 4, pi_messages.MCP_OUT_OF_REACH, False, False)
    needs_model = refused("lone", "provider", pi_messages.provider_needs_model("pi 1.5.0"))
    too_old = refused("server", "mcp", pi_messages.needs_newer_pi("pi 0.87.1", "0.99.0"))
    assert heard("1.5.0") == [
        ("bare", 4, pi_messages.NO_BUILTIN_EXTENSIONS, False, True),
        ("lone", 3, needs_model, True, False),
        signed,
        unreached,
    ]
    assert heard("0.87.1") == [alone, signed, ("server", 4, too_old, True, False), unreached]


def test_the_linter_looks_at_the_files_as_they_are_now(cwd: Path, env: Mapping[str, str]) -> None:
    load_profiles(cwd, env, clock=lambda: 1)
    assert lint_profiles(cwd, env, lambda _: pi("0.87.1")) == ()
    write(profiles_dir(GLOBAL, cwd, env), "a", "noTools: perhaps")
    assert len(lint_profiles(cwd, env, lambda _: pi("0.87.1"))) == 1


def test_the_linter_of_presets_finds_everything_in_both_directories_as_it_is_now(
    cwd: Path, env: Mapping[str, str]
) -> None:
    user, project = made(global_presets_dir(env)), made(cwd / ".pi" / "subagents")
    load_presets(cwd, env, clock=lambda: 1)
    assert lint_presets(cwd, env, lambda _: pi("0.87.1")) == ()
    write_preset(user, "fine", "model: m")
    write_preset(user, "odd", "tools:", "zzz: 1")
    write_preset(project, "b", "model: []")
    write_profile(project, "a")
    needs = core_messages.field_problem("description", core_messages.NEEDS_DESCRIPTION)
    assert lint_presets(cwd, env, lambda _: pi("0.87.1")) == (
        FileProblem(str(user / "odd.md"), 4, core_messages.TOOLS_EMPTY, fatal=False),
        FileProblem(str(user / "odd.md"), 5, 'unknown field "zzz"; ignored', fatal=False),
        FileProblem(str(project / "a.md"), 1, needs, fatal=True),
        FileProblem(str(project / "b.md"), 4, '"model" must be a string', fatal=True),
    )


@pytest.mark.parametrize(
    ("tools", "name", "why"),
    [
        ("+x", "+x", pi_messages.tool_signed),
        ("'*'", "*", pi_messages.tool_pattern),
        ('"read,\\ufeff-bash"', "-bash", pi_messages.tool_signed),
    ],
)
def test_the_linter_and_the_call_refuse_tools_that_would_be_more_than_they_name(
    cwd: Path, env: Mapping[str, str], tools: str, name: str, why: Callable[[str], str]
) -> None:
    write_preset(made(global_presets_dir(env)), "open", f"tools: {tools}")
    refusal = f'Preset "open" cannot be used because of "tools": {why(name)}.'
    for version in ("0.87.1", "1.5.0"):
        (problem,) = lint_presets(cwd, env, {"pi": pi(version)}.__getitem__)
        assert (problem.line, problem.problem, problem.fatal) == (4, refusal, True)
        preset = load_presets(cwd, env).by_name["open"].preset
        with pytest.raises(ProfileRefused) as refused:
            pi(version).prepare_preset(preset_profile(preset), "m")
        assert str(refused.value) == refusal


def test_a_profile_is_checked_with_the_engine_it_names(tmp_path: Path) -> None:
    place = LookingPlace(tmp_path, {"HOME": str(tmp_path)})
    profiles = tmp_path / ".pi" / "agent" / "agent-profiles"
    profiles.mkdir(parents=True)
    (profiles / "a.md").write_text("---\nname: a\nengine: acp:codex\nmodel: any\ntools: x\n---\n")
    (profiles / "b.md").write_text("---\nname: b\nengine: acp:codx\n---\n")
    tools = service_messages.field_not_honoured("a", "tools", "acp:codex")
    unknown = 'Unknown engine: "acp:codx". Did you mean "acp:codex"? '
    found = [(each.line, each.problem, each.fatal) for each in ProfileFiles(place).lint()]
    assert [(line, fatal) for line, _, fatal in found] == [(5, True), (3, True)]
    assert found[0][1] == tools
    assert found[1][1].startswith(unknown)
