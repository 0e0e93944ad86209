from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from pi_subagents.engines.pi.skills import tree as skill_tree
from pi_subagents.engines.pi.skills.files import (
    Skills,
    discover_skills,
)
from pi_subagents.engines.pi.skills.packages import resolved_path
from pi_subagents.engines.pi.skills.skill import MAX_SKILL_BYTES, Skill, read_skill_body
from pi_subagents.errors import SkillUnreadable


@dataclass
class Place:
    """A home and a project inside a repository."""

    top: Path

    @property
    def home(self) -> Path:
        return self.top / "home"

    @property
    def agent(self) -> Path:
        return self.home / ".pi" / "agent"

    @property
    def project(self) -> Path:
        return self.top / "repository" / "project"

    def discover(self, *, trusted: bool = True) -> Skills:
        return discover_skills(self.project, {"HOME": str(self.home)}, trusted=trusted)

    def found(self, *, trusted: bool = True) -> list[tuple[str, str]]:
        """Return names and where they are, without problems."""
        skills = self.discover(trusted=trusted)
        assert skills.problems == ()
        assert {skill.name for skill in skills.by_name.values()} == set(skills.by_name)
        return [
            (name, Path(skill.path).relative_to(self.top).as_posix().removesuffix("/SKILL.md"))
            for name, skill in skills.by_name.items()
        ]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path.resolve())
    for directory in (place.agent, place.project, place.project.parent / ".git"):
        directory.mkdir(parents=True)
    return place


def skill(path: Path, name: str = "") -> None:
    path = path if path.suffix == ".md" else path / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nname: {name or path.parent.name}\ndescription: d\n---\nbody\n")


def settings(directory: Path, **content: object) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "settings.json").write_text(json.dumps(content))


def fill(place: Place, name: str = "") -> list[str]:
    """Put a skill into every place; return the places, highest first."""
    places = [
        "repository/listed",
        "repository/project/.pi/skills",
        "repository/project/.agents/skills",
        "repository/.agents/skills",
        "home/listed",
        "home/.pi/agent/skills",
        "home/.agents/skills",
        "repository/package/skills",
        "home/package/skills",
    ]
    for number, each in enumerate(places):
        skill(place.top / each / f"s{number}", name or f"s{number}")
    settings(place.project / ".pi", skills=["../../listed"], packages=["../../package"])
    settings(place.agent, skills=["~/listed"], packages=["../../package"])
    return [f"{each}/s{number}" for number, each in enumerate(places)]


def test_every_place_is_searched_the_project_before_the_user_and_packages_last(
    place: Place,
) -> None:
    places = fill(place)
    assert place.found() == [(f"s{number}", each) for number, each in enumerate(places)]


def test_of_an_untrusted_project_nothing_is_read(place: Place) -> None:
    places = fill(place)
    (place.project / ".pi/settings.json").write_text("broken")
    assert place.found(trusted=False) == [(f"s{n}", places[n]) for n in (4, 5, 6, 8)]


def test_the_first_of_a_name_wins_and_the_others_are_named(place: Place) -> None:
    places = fill(place, "same")
    skills = place.discover()
    winner = place.top / places[0] / "SKILL.md"
    assert skills.by_name == {"same": Skill("same", "d", str(winner))}
    assert skills.problems == tuple(
        f"{place.top / each / 'SKILL.md'}: is not used: the skill of this name is in {winner}"
        for each in places[1:]
    )


def test_the_repository_bounds_the_search_upwards(place: Place) -> None:
    skill(place.top / ".agents/skills/above")
    assert place.found() == []
    (place.project.parent / ".git").rmdir()
    assert place.found() == [("above", ".agents/skills/above")]
    (place.project.parent / ".git").write_text("gitdir: elsewhere")
    assert place.found() == []


def test_loose_files_count_at_the_top_of_pi_and_below_the_top_of_shared_directories(
    place: Place,
) -> None:
    for number, directory in enumerate((place.agent / "skills", place.home / ".agents/skills")):
        skill(directory / "top.md", f"top-{number}")
        skill(directory / "group/inner.md", f"inner-{number}")
    assert [name for name, _ in place.found()] == ["top-0", "inner-1"]


def test_the_shared_skills_of_a_home_that_is_a_project_are_the_users(place: Place) -> None:
    skill(place.home / ".agents/skills/mine")
    env = {"HOME": str(place.home)}
    settings(place.home / ".pi", skills=["!mine"])
    assert list(discover_skills(place.home, env, trusted=True).by_name) == ["mine"]


def test_the_agent_directory_can_be_elsewhere(place: Place) -> None:
    skill(place.top / "agent/skills/there")
    for name in ("PI_AGENT_DIR", "PI_CODING_AGENT_DIR"):
        env = {"HOME": str(place.home), name: str(place.top / "agent")}
        assert list(discover_skills(place.project, env, trusted=True).by_name) == ["there"]


def test_a_linked_directory_is_where_it_leads_to(place: Place) -> None:
    skill(place.project / ".agents/skills/here")
    skill(place.top / ".agents/skills/beside-the-link")
    link = place.top / "link"
    link.symlink_to(place.project)
    found = discover_skills(link, {"HOME": str(place.home)}, trusted=True)
    assert [each.path for each in found.by_name.values()] == [
        str(place.project / ".agents/skills/here/SKILL.md")
    ]


def test_one_file_is_found_once_and_stays_off_where_it_is_switched_off_first(place: Place) -> None:
    skill(place.top / "real/one")
    for directory in (place.project / ".pi/skills", place.agent / "skills"):
        directory.mkdir(parents=True)
        (directory / "one").symlink_to(place.top / "real/one")
    assert place.found() == [("one", "repository/project/.pi/skills/one")]
    settings(place.project / ".pi", skills=["-skills/one"])
    assert place.found() == []


def test_entries_of_settings_list_and_choose(place: Place) -> None:
    for name in ("one", "two", "three"):
        skill(place.home / "more" / name, f"more-{name}")
        skill(place.agent / "skills" / name, name)
    skill(place.home / "single.md", "single")
    (place.home / "text.txt").write_text("---\ndescription: d\n---\n")
    settings(
        place.agent,
        skills=[
            "~/more", " ../../single.md", "~/text.txt", "nowhere", "a\0b",
            "!**/more/t*", "+../../more/two", "!skills/one",
        ],
    )  # fmt: skip
    assert [name for name, _ in place.found()] == [
        "more-one", "more-two", "single", "three", "two",
    ]  # fmt: skip


def test_a_plain_pattern_narrows_what_is_listed_only(place: Place) -> None:
    for name in ("one", "two"):
        skill(place.agent / "listed" / name, f"listed-{name}")
        skill(place.agent / "skills" / name, name)
    settings(place.agent, skills=["listed", "t*"])
    assert [name for name, _ in place.found()] == ["listed-two", "one", "two"]


def test_broken_skills_are_reported_and_notes_are_not(place: Place) -> None:
    directory = place.agent / "skills"
    for name, text in {
        "empty": "", "nameless": "---\nname: x\n---\n", "yaml": "---\ndescription: a: b\n---\n",
    }.items():  # fmt: skip
        (directory / name).mkdir(parents=True)
        (directory / name / "SKILL.md").write_text(text)
    (directory / "notes.md").write_text("# notes")
    (directory / "odd.md").write_text("---\n: [\n---\n")
    skill(directory / "good")
    skills = place.discover()
    assert list(skills.by_name) == ["good"]
    *plain, yaml = skills.problems
    assert plain == [
        f"{directory}/{name}/SKILL.md: has no description and is not used"
        for name in ("empty", "nameless")
    ]
    assert yaml.startswith(f"{directory}/yaml/SKILL.md: cannot be used: line 2: mapping values")


def test_a_skill_that_cannot_be_opened_is_reported(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill(place.agent / "skills/closed.md")
    real = os.open

    def refuse(path: Path, flags: int) -> int:
        if str(path).endswith("closed.md"):
            raise PermissionError("not yours")
        return real(path, flags)

    monkeypatch.setattr(os, "open", refuse)
    skills = place.discover()
    assert (skills.by_name, skills.problems) == (
        {}, (f"{place.agent}/skills/closed.md: cannot be used: not yours",),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{ broken", "cannot be used: Expecting property name enclosed in double quotes"),
        ("[]", "should be a JSON object; ignored"),
        ('{"skills": 7}', "skills: should be a list of strings, is int; ignored"),
        ("[" * 100_000, "cannot be used: nested too deeply"),
    ],
)
def test_broken_settings_are_reported_and_the_rest_is_searched(
    place: Place, content: str, problem: str
) -> None:
    skill(place.agent / "skills/good")
    path = place.agent / "settings.json"
    path.write_text(content)
    skills = place.discover()
    assert list(skills.by_name) == ["good"]
    assert [each.startswith(f"{path}: {problem}") for each in skills.problems] == [True]


def test_a_search_that_was_cut_says_so(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skill_tree, "MAX_DEPTH", 1)
    skill(place.agent / "skills/a/b")
    skill(place.agent / "skills/loose.md", "found")
    skills = place.discover()
    assert list(skills.by_name) == ["found"]
    assert skills.problems == (
        f"{place.agent}/skills/a: holds more than is searched for skills; some may be missing",
    )


def package(root: Path, *names: str, **manifest: object) -> None:
    root.mkdir(parents=True, exist_ok=True)
    for name in names:
        skill(root / "skills" / name, f"{root.name}-{name}")
    (root / "package.json").write_text(json.dumps(manifest))


def test_packages_are_looked_for_where_pi_installs_them(place: Place) -> None:
    package(place.agent / "npm/node_modules/@scope/user", "s")
    package(place.project / ".pi/npm/node_modules/project", "s")
    package(place.agent / "git/github.com/u/hub", "s")
    package(place.project / ".pi/git/example.com/a/b/deep", "s")
    package(place.top / "local", "s")
    settings(
        place.agent,
        packages=["npm:@scope/user@1.0.0", "git:u/hub", "file://" + str(place.top / "local")],
    )
    settings(
        place.project / ".pi",
        packages=["npm:project", "https://example.com/a/b/deep.git@v1", "../x"],
    )
    assert [name for name, _ in place.found()] == [
        "project-s", "deep-s", "user-s", "hub-s", "local-s",
    ]  # fmt: skip


def test_a_package_that_is_not_installed_is_reported(place: Place) -> None:
    settings(
        place.agent, packages=["npm:absent", "git:u/absent", "./absent", {"source": "npm:too"}]
    )
    assert place.discover().problems == tuple(
        f"{source}: is not installed; its skills are not known"
        for source in ("npm:absent", "git:u/absent", "npm:too")
    )


@pytest.mark.parametrize(
    ("manifest", "entry", "names"),
    [
        ({}, {}, "one two"),
        ({"pi": {"extensions": []}}, {}, ""),
        ({"pi": {"skills": []}}, {}, ""),
        ({"pi": {"skills": ["skills/one", "nowhere"]}}, {}, "one"),
        ({"pi": {"skills": ["./skills/t*"]}}, {}, "two"),
        ({"pi": {"skills": ["skills", "!one"]}}, {}, "two"),
        ({"pi": {"skills": 7}}, {}, ""),
        ({"pi": {"extensions": []}}, {"autoload": True}, "one two"),
        ({"pi": {"skills": []}}, {"autoload": True}, ""),
        ({}, {"skills": []}, ""),
        ({}, {"skills": ["one"]}, "one"),
        ({}, {"skills": ["!one"]}, "two"),
        ({"pi": {"skills": ["skills/one"]}}, {"skills": ["two", "one"]}, "one"),
        ({"pi": {"skills": []}}, {"skills": ["two"]}, "two"),
        ({}, {"autoload": False}, ""),
        ({}, {"autoload": False, "skills": ["two", "+skills/one", "-skills/two"]}, "one"),
    ],
)
def test_a_package_offers_and_settings_choose(
    place: Place, manifest: dict[str, object], entry: dict[str, object], names: str
) -> None:
    package(place.agent / "p", "one", "two", **manifest)
    settings(place.agent, packages=[{"source": "p", **entry} if entry else "p"])
    assert [name for name, _ in place.found()] == [f"p-{name}" for name in names.split()]


@pytest.mark.parametrize(
    ("entry", "names"),
    [
        ("{p}", "one two three"),
        ({"skills": ["two"]}, "two"),
        ({"skills": ["two"], "autoload": False}, "two one"),
        ({"skills": ["!two"], "autoload": False}, "one"),
        ({"autoload": False}, "one two"),
    ],
)
def test_a_project_replaces_the_users_entry_or_differs_from_it(
    place: Place, entry: str | dict[str, object], names: str
) -> None:
    root = place.agent / "p"
    package(root, "one", "two", "three")
    settings(place.agent, packages=[{"source": "./p", "skills": ["!three"]}, "p"])
    other = str(root) if isinstance(entry, str) else {"source": str(root), **entry}
    settings(place.project / ".pi", packages=["nowhere", other])
    assert {name for name, _ in place.found()} == {f"p-{name}" for name in names.split()}


def test_a_package_of_both_is_the_projects(place: Place) -> None:
    package(place.agent / "npm/node_modules/p", "users")
    package(place.project / ".pi/npm/node_modules/p", "projects")
    settings(place.agent, packages=["npm:p@1.0.0"])
    settings(place.project / ".pi", packages=["npm:p@2.0.0"])
    assert [name for name, _ in place.found()] == ["p-projects"]
    assert [name for name, _ in place.found(trusted=False)] == ["p-users"]


def test_a_difference_is_looked_for_where_the_user_has_the_package(place: Place) -> None:
    package(place.agent / "npm/node_modules/p", "one", "two")
    settings(place.agent, packages=["npm:p"])
    delta = {"source": "npm:p", "autoload": False, "skills": ["!one"]}
    settings(place.project / ".pi", packages=[delta])
    assert [name for name, _ in place.found()] == ["p-two"]


def test_a_file_of_a_package_ranks_as_one_wherever_else_it_is_found(place: Place) -> None:
    skill(place.agent / "skills/mine", "same")
    package(place.project / ".pi", "theirs", pi={"skills": ["skills"]})
    skill(place.project / ".pi/skills/theirs", "same")
    settings(place.project / ".pi", packages=["."])
    skills = place.discover()
    assert skills.by_name["same"].path == str(place.agent / "skills/mine/SKILL.md")


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", "/base/a"), ("../a/./b/", "/a/b"), (" /x ", "/x"), ("~", "/home-dir"),
        ("~/a", "/home-dir/a"), ("~a", "/base/~a"), ("file:///a%20b", "/a b"), ("", "/base"),
    ],
)  # fmt: skip
def test_a_path_of_settings_is_read_as_pi_reads_it(text: str, path: str) -> None:
    assert resolved_path(text, Path("/base"), {"HOME": "/home-dir"}) == Path(path)


def test_a_body_comes_without_its_front_matter(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes(
        b"---\r\nname: x\r\n---\r\n\r\n# Use\xff\r\n\r\n---\r\nmore\n\n"
    )
    (tmp_path / "link.md").symlink_to("SKILL.md")
    for name in ("SKILL.md", "link.md"):
        body = read_skill_body(Skill("x", "d", str(tmp_path / name)))
        assert body == "# Use\ufffd\n\n---\nmore"


def test_a_skill_of_any_size_is_found_but_only_a_small_one_is_read(place: Place) -> None:
    path = place.agent / "skills/big/SKILL.md"
    skill(path.parent)
    head = path.read_bytes()
    path.write_bytes(head.ljust(MAX_SKILL_BYTES, b"x"))
    (found,) = place.discover().by_name.values()
    assert len(read_skill_body(found)) > MAX_SKILL_BYTES - 100
    path.write_bytes(head.ljust(MAX_SKILL_BYTES + 1, b"x"))
    assert place.discover() == Skills({"big": found}, ())
    with pytest.raises(SkillUnreadable) as caught:
        read_skill_body(found)
    assert str(caught.value) == (
        f'Skill "big" cannot be loaded from {path}: larger than {MAX_SKILL_BYTES} bytes'
    )


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("missing", "No such file or directory"),
        ("fifo", "not a regular file"),
        ("directory", "not a regular file"),
        ("loop", "Symlink loop|Too many levels"),
        ("broken", "line 1: the front matter begins with `---` and is never closed"),
    ],
)
def test_a_body_that_cannot_be_read_is_refused_at_once(
    tmp_path: Path, kind: str, reason: str
) -> None:
    path = tmp_path / "SKILL.md"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case "loop":
            path.symlink_to(path)
        case "broken":
            path.write_text("---\nname: x")
    with pytest.raises(SkillUnreadable, match=reason) as caught:
        read_skill_body(Skill("x", "d", str(path)))
    assert (caught.value.name, caught.value.path) == ("x", str(path))
