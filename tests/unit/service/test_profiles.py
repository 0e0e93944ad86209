from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import pytest
from tests.fakes.demo_engine.engine import ENGINE as DEMO
from tests.fakes.pi_calls import pi_call

from pi_subagents.config.profile_files import Profiles
from pi_subagents.core.definitions.definition import GLOBAL, PROJECT, FileProblem
from pi_subagents.core.definitions.found import PROFILE
from pi_subagents.core.profile.permissions import Permissions
from pi_subagents.core.profile.profile import LoadedProfile, Profile
from pi_subagents.core.settings import Settings
from pi_subagents.core.task.request import DelegateRequest, Task
from pi_subagents.core.value import replace
from pi_subagents.engines.base import CallPlace, PreparedProfile
from pi_subagents.engines.pi import messages as pi_messages
from pi_subagents.engines.pi.command import PiCommand
from pi_subagents.engines.pi.engine import PiCall
from pi_subagents.engines.pi.profile.preparing import prepare_profile
from pi_subagents.engines.pi.skills.files import Skills
from pi_subagents.engines.pi.skills.skill import Skill
from pi_subagents.errors import ExtraArgRefused, ProfileRefused
from pi_subagents.service import messages as service_messages
from pi_subagents.service.delegation import Preparation
from pi_subagents.service.profiles import prepare_profiles

if TYPE_CHECKING:
    from pathlib import Path

PARENT = ("read", "bash", "web_search")


@dataclass
class SkillCatalogue:
    """Skills that count how often they are looked for."""

    agent_dir: Path
    by_name: dict[str, Skill] = field(default_factory=dict)
    of_the_project: dict[str, Skill] = field(default_factory=dict)
    searches: int = 0

    def discover(self, *, trusted: bool) -> Skills:
        self.searches += 1
        return Skills(self.by_name | (self.of_the_project if trusted else {}), ())


class KnownSkills(PiCall):
    """The pi of a call, which finds these skills wherever it looks."""

    def __init__(
        self, catalogue: SkillCatalogue, parent_tools: tuple[str, ...] | None, pi: str
    ) -> None:
        env = {"PI_AGENT_DIR": str(catalogue.agent_dir)}
        place = CallPlace(
            catalogue.agent_dir, env, Settings(), lambda _: False, parent_tools=parent_tools
        )
        super().__init__(place, PiCommand(("pi",), "path", pi))
        self._catalogue = catalogue

    def prepare_profile(
        self, profile: Profile, notes: tuple[str, ...], *, trusted: bool
    ) -> PreparedProfile:
        return prepare_profile(
            profile,
            notes,
            place=self._place,
            traits=self._traits,
            skills=cache(self._catalogue.discover),
            trusted=trusted,
        )


@pytest.fixture
def catalogue(tmp_path: Path) -> SkillCatalogue:
    found = SkillCatalogue(tmp_path)
    for name in ("reviewing", "sailing"):
        path = tmp_path / f"{name}.md"
        path.write_text(f"---\nname: {name}\ndescription: x\n---\nAll about {name}.\n")
        found.by_name[name] = Skill(name, "x", str(path))
    return found


def prepare(
    catalogue: SkillCatalogue,
    *profiles: Profile,
    tasks: tuple[str | None, ...] = (),
    call: str | None = None,
    scope: str = GLOBAL,
    trusted: bool = False,
    parent_tools: tuple[str, ...] | None = None,
    problems: tuple[FileProblem, ...] = (),
    pi: str = "0.87.1",
    own_providers: frozenset[str] = frozenset(),
) -> list[Preparation]:
    """Prepare tasks that name these profiles, or one for each profile."""
    models = {"providers": {name: {"baseUrl": "x"} for name in own_providers}}
    (catalogue.agent_dir / "models.json").write_text(json.dumps(models))
    known = {each.name: LoadedProfile(each, scope, f"/{each.name}.md") for each in profiles}
    names = tasks or tuple(known)
    request = DelegateRequest(tuple(Task("t", "p", profile=name) for name in names), call)
    prepared = prepare_profiles(
        request,
        Profiles(known, problems),
        lambda _: KnownSkills(catalogue, parent_tools, pi),
        trusted=trusted,
    )
    plain = {id(each): replace(each, engine="") for each in prepared}
    return [plain[id(each)] for each in prepared]


# Which profile


def test_a_tasks_own_profile_comes_first_then_the_calls_then_none(
    catalogue: SkillCatalogue,
) -> None:
    own, default = Profile("own", model="a"), Profile("default", model="b")
    assert prepare(catalogue, own, default, tasks=("own", None, ""), call="default") == [
        Preparation(own),
        Preparation(default),
        Preparation(default),
    ]
    assert prepare(catalogue, own, tasks=(None, "own")) == [Preparation(), Preparation(own)]


def test_an_unknown_profile_is_its_tasks_refusal_with_what_there_is(
    catalogue: SkillCatalogue,
) -> None:
    broken = FileProblem("/nope.md", 3, "is odd", fatal=True)
    odd = FileProblem("/a.md", 4, "unknown field", fatal=False)
    a, b = Profile("a"), Profile("b")
    assert prepare(catalogue, a, b, tasks=("nope", "a"), problems=(broken, odd)) == [
        Preparation(
            refusal='Unknown profile: "nope". Available profiles: a, b',
            notes=("/nope.md:3: is odd",),
        ),
        Preparation(a),
    ]
    assert prepare(catalogue, tasks=("constructor",)) == [
        Preparation(refusal='Unknown profile: "constructor". Available profiles: (none)')
    ]


# What a task says itself


def chosen(catalogue: SkillCatalogue, profile: Profile | None, **choices: object) -> Preparation:
    """Prepare one task with these choices, whose model children have as `acme/...`."""
    known = {profile.name: LoadedProfile(profile, GLOBAL, "/p.md")} if profile else {}
    task = Task("t", "p", profile=profile.name if profile else None, **choices)  # type: ignore[arg-type]  # by name
    (prepared,) = prepare_profiles(
        DelegateRequest((task,)),
        Profiles(known, ()),
        lambda _: KnownSkills(catalogue, None, "1.5.0"),
        trusted=False,
        find_model=lambda _engine, _, task: f"acme/{task.model}",
    )
    return replace(prepared, engine="")


def test_a_tasks_model_thinking_and_tools_go_over_its_profiles(catalogue: SkillCatalogue) -> None:
    profile = Profile(
        "p", "anthropic", "opus", "high", exclude_tools=("bash",), append_system_prompt="Hurry."
    )
    assert chosen(catalogue, profile, model="big", thinking="low", tools=("read",)) == Preparation(
        Profile("p", "", "acme/big", "low", tools=("read",), append_system_prompt="Hurry.")
    )
    assert chosen(catalogue, profile, thinking="off").profile == replace(
        profile, thinking_level="off"
    )
    assert chosen(catalogue, Profile("p", no_tools=True), tools=["ls"]).profile == Profile(
        "p", tools=("ls",)
    )


def test_a_task_needs_no_profile_to_say_them(catalogue: SkillCatalogue) -> None:
    assert chosen(catalogue, None, tools=()) == Preparation(Profile("", tools=()))
    assert chosen(catalogue, None, tools=("read", "bsh")) == Preparation(
        Profile("", tools=("read", "bsh")),
        notes=(pi_messages.note_unknown_tools("task", ("bsh",)),),
    )


def test_what_the_engine_cannot_honour_is_refused_by_name(catalogue: SkillCatalogue) -> None:
    request = DelegateRequest((Task("t", "p", model="m", tools=("read",)),))
    refused = 'A task sets "tools", which the engine "demo" does not support.'
    with pytest.raises(ProfileRefused, match=refused):
        prepare_profiles(request, Profiles({}, ()), lambda _: DEMO, trusted=False)
    del catalogue


# What refuses the whole call


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        (
            Profile("p", suggested_skills=("sailing",), no_skills=True),
            (
                'Profile "p" has both "suggestedSkills" and "noSkills" set. '
                "These are mutually exclusive — --no-skills would override --skill flags."
            ),
        ),
        (
            Profile("p", load_skills=("sailing",), no_skills=True),
            (
                'Profile "p" has both "loadSkills" and "noSkills" set. '
                "These are mutually exclusive — --no-skills disables skill discovery."
            ),
        ),
        (
            Profile("p", tools=("read",), exclude_tools=("bash",), load_skills=("sailing",)),
            (
                'Profile "p" has both "tools" and "excludeTools" set. '
                "These are mutually exclusive — use one of them."
            ),
        ),
    ],
)
def test_a_contradiction_refuses_the_call_before_any_skill_is_looked_for(
    catalogue: SkillCatalogue, profile: Profile, message: str
) -> None:
    with pytest.raises(ProfileRefused) as refusal:
        prepare(catalogue, profile, Profile("other"), tasks=("other", "p"))
    assert (str(refusal.value), catalogue.searches) == (message, 0)


def test_a_profile_that_no_task_uses_refuses_nothing(catalogue: SkillCatalogue) -> None:
    torn = Profile("torn", load_skills=("sailing",), no_skills=True)
    assert prepare(catalogue, torn, Profile("a"), tasks=("a",)) == [Preparation(Profile("a"))]


def test_an_extra_argument_that_is_refused_refuses_the_call(catalogue: SkillCatalogue) -> None:
    profile = Profile("p", tools=("read",), extra_args=("--tools=bash",))
    with pytest.raises(ExtraArgRefused) as refusal:
        prepare(catalogue, profile)
    assert str(refusal.value) == (
        'Refusing extraArg "--tools=bash" which would override profile tool restrictions. '
        "Use the dedicated profile fields instead."
    )


def test_an_extra_argument_that_is_no_option_is_noted(catalogue: SkillCatalogue) -> None:
    profile = Profile("p", extra_args=("arg$(whoami)",))
    note = pi_messages.note_extra_words(("arg$(whoami)",))
    assert note == (
        'extraArgs: "arg$(whoami)" belongs to no option. pi takes it for more of the prompt '
        '(child_mode "json") or for nothing ("rpc").'
    )
    assert prepare(catalogue, profile) == [Preparation(profile, notes=(note,))]


# Tools


def test_an_unknown_tool_is_noted_and_none_known_is_the_tasks_refusal(
    catalogue: SkillCatalogue,
) -> None:
    some = Profile("some", tools=("read", "wirte"))
    none = Profile("none", tools=("wirte",), no_extensions=True)
    assert prepare(catalogue, some, none) == [
        Preparation(some, notes=(pi_messages.note_unknown_tools("profile", ("wirte",)),)),
        Preparation(none, refusal=pi_messages.no_known_tool("none", ("wirte",))),
    ]


def test_a_tool_that_the_parent_has_is_known(catalogue: SkillCatalogue) -> None:
    profile = Profile("p", tools=("web_search",))
    assert prepare(catalogue, profile, parent_tools=PARENT) == [Preparation(profile)]
    excluding = Profile("p", exclude_tools=("web_search",))
    assert prepare(catalogue, excluding, parent_tools=PARENT) == [Preparation(excluding)]


# Skills


def test_each_profile_is_resolved_once_however_many_tasks_share_it(
    catalogue: SkillCatalogue,
) -> None:
    one, other = Profile("one", load_skills=("sailing",)), Profile("two", load_skills=("sailing",))
    block = '<loaded_skill name="sailing">\nAll about sailing.\n</loaded_skill>'
    prepared = prepare(catalogue, one, other, tasks=("one", "two", "one", "one"))
    first, second = (
        Preparation(replace(each, append_system_prompt=block)) for each in (one, other)
    )
    assert prepared == [first, second, first, first]
    assert prepared[0] is prepared[2] is prepared[3]
    assert catalogue.searches == 2


def test_skills_that_no_profile_wants_are_not_looked_for(catalogue: SkillCatalogue) -> None:
    prepare(catalogue, Profile("a", no_skills=True), Profile("b"))
    assert catalogue.searches == 0


def test_suggested_skills_become_paths_and_loaded_ones_follow_the_appended_prompt(
    catalogue: SkillCatalogue,
) -> None:
    profile = Profile(
        "p",
        append_system_prompt="Mind the wind.",
        suggested_skills=("sailing", "reviewing", "sailing"),
        load_skills=("reviewing", "sailing"),
    )
    assert prepare(catalogue, profile) == [
        Preparation(
            replace(
                profile,
                append_system_prompt=(
                    "Mind the wind.\n\n"
                    '<loaded_skill name="reviewing">\nAll about reviewing.\n</loaded_skill>\n\n'
                    '<loaded_skill name="sailing">\nAll about sailing.\n</loaded_skill>'
                ),
            ),
            skill_paths=(catalogue.by_name["sailing"].path, catalogue.by_name["reviewing"].path),
        )
    ]


def test_an_unknown_skill_is_its_tasks_refusal_alone(catalogue: SkillCatalogue) -> None:
    bad = Profile("bad", suggested_skills=("rowing",), load_skills=("flying", "sailing"))
    unknown = 'Unknown skills: "rowing", "flying". Available skills: reviewing, sailing'
    assert prepare(catalogue, bad, Profile("good"), tasks=("bad", "good")) == [
        Preparation(bad, refusal=unknown),
        Preparation(Profile("good")),
    ]


def test_a_skill_of_a_project_that_is_not_trusted_is_refused_for_that_reason(
    catalogue: SkillCatalogue,
) -> None:
    catalogue.of_the_project = {
        name: Skill(name, "x", f"/{name}.md") for name in ("rowing", "diving")
    }
    own = Profile("own", suggested_skills=("rowing",))
    assert prepare(catalogue, own) == [
        Preparation(
            own,
            refusal=(
                'The skill "rowing" is the project\'s own, and the project is not trusted. '
                "Trust it in pi (/trust), or with --trust-project, if you have read the skill."
            ),
        )
    ]
    mixed = Profile(
        "mixed", suggested_skills=("rowing", "sailing"), load_skills=("flying", "diving")
    )
    (refused,) = prepare(catalogue, mixed)
    assert refused.refusal == (
        'Unknown skills: "flying". Available skills: reviewing, sailing. '
        'The skills "rowing", "diving" are the project\'s own, and the project is not trusted. '
        "Trust it in pi (/trust), or with --trust-project, if you have read the skills."
    )
    (accepted,) = prepare(catalogue, own, trusted=True)
    assert accepted == Preparation(own, skill_paths=("/rowing.md",))


def test_a_skill_that_cannot_be_read_is_its_tasks_refusal_alone(
    catalogue: SkillCatalogue, tmp_path: Path
) -> None:
    """reference-faults 4: one task's bad skill must not end its siblings."""
    (tmp_path / "sailing.md").unlink()
    bad = Profile("bad", load_skills=("sailing",))
    refused, good = prepare(catalogue, bad, Profile("good"))
    assert (refused.profile, good) == (bad, Preparation(Profile("good")))
    assert refused.refusal.startswith(
        f'Skill "sailing" cannot be loaded from {tmp_path}/sailing.md: '
    )


# What only a trusted project may decide

POWERFUL = Profile(
    "own", model="m", extensions=("a.js",), extra_args=("--verbose",), api_key="sk-x", tools=()
)


def test_a_project_that_is_not_trusted_decides_neither_code_nor_options_nor_keys(
    catalogue: SkillCatalogue,
) -> None:
    tamed = replace(POWERFUL, extensions=(), extra_args=(), api_key="")
    note = service_messages.note_untrusted(PROFILE, "own", ("extensions", "extraArgs", "apiKey"))
    assert prepare(catalogue, POWERFUL, scope=PROJECT) == [Preparation(tamed, notes=(note,))]
    keyed = Profile("own", api_key="sk-x")
    note = service_messages.note_untrusted(PROFILE, "own", ("apiKey",))
    assert prepare(catalogue, keyed, scope=PROJECT) == [Preparation(Profile("own"), notes=(note,))]
    assert prepare(catalogue, Profile("own"), scope=PROJECT) == [Preparation(Profile("own"))]
    other = Profile("own", model="m", engine="demo")  # a model of that engine is none of another
    note = service_messages.note_untrusted(PROFILE, "own", ("engine", "model"))
    assert prepare(catalogue, other, scope=PROJECT) == [Preparation(Profile("own"), notes=(note,))]


def test_a_trusted_project_and_the_users_own_directory_decide_everything(
    catalogue: SkillCatalogue,
) -> None:
    assert prepare(catalogue, POWERFUL, scope=PROJECT, trusted=True) == [Preparation(POWERFUL)]
    assert prepare(catalogue, POWERFUL, scope=GLOBAL) == [Preparation(POWERFUL)]


# Which pi


def test_a_provider_has_the_name_that_this_pi_calls_it(catalogue: SkillCatalogue) -> None:
    profiles = (
        Profile("old", provider="azure-openai-responses", model="m", api_key="k"),
        Profile("in-model", model="azure-openai-responses/m"),
        Profile("new", provider="azure", model="m"),
        Profile("loud", provider="Azure-OpenAI-Responses", model="azure-openai-responses/m"),
        Profile("loud-model", model="AZURE-openai-responses/m"),
    )
    note = 'pi 1.5.0 calls the provider "azure-openai-responses" "azure"; that name was used.'
    old, in_model, new, loud, loud_model = prepare(catalogue, *profiles, pi="1.5.0")
    assert old == Preparation(replace(profiles[0], provider="azure"), notes=(note,))
    assert in_model == Preparation(replace(profiles[1], model="azure/m"), notes=(note,))
    assert new == Preparation(profiles[2])
    assert loud.profile == replace(profiles[3], provider="azure", model="azure/m")
    assert loud_model.profile == replace(profiles[4], model="azure/m")


def test_a_provider_of_the_users_own_keeps_its_name(catalogue: SkillCatalogue) -> None:
    own = Profile("own", provider="azure", model="m")
    (renamed,) = prepare(catalogue, own, pi="0.87.1")
    assert renamed.profile == replace(own, provider="azure-openai-responses")
    for name in ("azure", "Azure"):
        (kept,) = prepare(catalogue, own, pi="0.87.1", own_providers=frozenset({name}))
        assert kept == Preparation(own)


def test_a_profile_that_this_pi_cannot_honour_refuses_the_whole_call(
    catalogue: SkillCatalogue,
) -> None:
    with pytest.raises(ProfileRefused) as refusal:
        prepare(catalogue, Profile("good"), Profile("open", tools=("+grep",)), pi="1.5.0")
    assert str(refusal.value).startswith('Profile "open" cannot be used because of "tools": "+grep')


@pytest.mark.parametrize(
    ("theirs", "own", "trusted", "counts"),
    [
        ("edit: allow", "edit: deny", False, Permissions(edit="deny")),
        ("edit: deny", "edit: ask", False, Permissions(edit="deny")),
        ("read: ask", "edit: deny", False, Permissions(read="ask", edit="deny")),
        ("edit: allow", "edit: deny", True, Permissions()),
        ("edit: deny", None, False, Permissions(edit="deny")),
    ],
)
def test_a_profile_of_an_untrusted_project_can_only_be_stricter_than_ones_own(
    theirs: str, own: str | None, *, trusted: bool, counts: Permissions
) -> None:
    def loaded(scope: str, permissions: str) -> LoadedProfile:
        kind, _, word = permissions.partition(": ")
        return LoadedProfile(Profile("p", permissions=Permissions(**{kind: word})), scope, "/p.md")

    overridden = (loaded(GLOBAL, own),) if own else ()
    found = Profiles({"p": loaded(PROJECT, theirs)}, (), overridden)
    request = DelegateRequest((Task("t", "look", profile="p"),))
    (needs,) = prepare_profiles(request, found, lambda _: pi_call(), trusted=trusted)
    assert needs.profile is not None
    assert needs.profile.permissions == counts
