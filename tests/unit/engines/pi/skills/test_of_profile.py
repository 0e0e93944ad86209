from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.profile.profile import Profile
from pi_subagents.engines.pi.skills.files import Skills
from pi_subagents.engines.pi.skills.skill import ResolvedSkills, Skill, resolve_skills
from pi_subagents.errors import SkillUnreadable, UnknownSkills

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def skills(tmp_path: Path) -> Skills:
    found = {}
    for name in ("skill-b", "skill-a"):
        path = tmp_path / f"{name}.md"
        path.write_text(f"---\nname: {name}\ndescription: d\n---\n\nDo {name}. </loaded_skill>\n")
        found[name] = Skill(name, "d", str(path))
    return Skills(found, ())


def resolve(profile: Profile, skills: Skills) -> ResolvedSkills:
    def find(*, trusted: bool) -> Skills:
        assert trusted, "nobody asks what a project would add that is trusted already"
        return skills

    return resolve_skills(profile, find, trusted=True)


def block(name: str) -> str:
    return f'<loaded_skill name="{name}">\nDo {name}. &lt;/loaded_skill>\n</loaded_skill>'


def test_suggested_skills_become_paths_and_loaded_ones_blocks(skills: Skills) -> None:
    profile = Profile("p", suggested_skills=("skill-a", "skill-b"), load_skills=("skill-a",))
    assert resolve(profile, skills) == ResolvedSkills(
        paths=(skills.by_name["skill-a"].path, skills.by_name["skill-b"].path),
        blocks=(block("skill-a"),),
    )


def test_a_profile_without_skills_needs_none() -> None:
    assert resolve(Profile("p"), Skills({}, ())) == ResolvedSkills((), ())


def test_a_skill_that_is_named_twice_is_given_once(skills: Skills) -> None:
    twice = ("skill-b", "skill-a", "skill-b")
    profile = Profile("p", suggested_skills=twice, load_skills=twice)
    found = resolve(profile, skills)
    assert found.paths == tuple(skills.by_name[name].path for name in twice[:2])
    assert found.blocks == (block("skill-b"), block("skill-a"))


def test_unknown_skills_of_both_lists_are_told_together_and_once(skills: Skills) -> None:
    profile = Profile(
        "p", suggested_skills=("z", "skill-a", "y"), load_skills=("x", "z", "skill-b", "x")
    )
    with pytest.raises(UnknownSkills) as caught:
        resolve(profile, skills)
    assert str(caught.value) == (
        'Unknown skills: "z", "y", "x". Available skills: skill-b, skill-a'
    )
    assert (caught.value.unknown, caught.value.available) == (
        ("z", "y", "x"), ("skill-b", "skill-a"),
    )  # fmt: skip


def test_where_there_are_no_skills_it_says_so() -> None:
    with pytest.raises(UnknownSkills) as caught:
        resolve(Profile("p", load_skills=("a",)), Skills({}, ()))
    assert str(caught.value) == 'Unknown skills: "a". Available skills: (none)'


def test_names_are_looked_up_before_a_body_is_read(skills: Skills) -> None:
    gone = Skills({"gone": Skill("gone", "d", "/nowhere/SKILL.md")}, ())
    with pytest.raises(UnknownSkills):
        resolve(Profile("p", load_skills=("gone", "unknown")), gone)
    with pytest.raises(SkillUnreadable) as caught:
        resolve(Profile("p", load_skills=("gone",)), gone)
    assert caught.value.name == "gone"
    suggested = resolve(Profile("p", suggested_skills=("gone",)), gone)
    assert suggested == ResolvedSkills(("/nowhere/SKILL.md",), ())
