"""Our search for skills beside that of the real pi: same names, same files, same order."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.e2e.conftest import Project

from pi_subagents.engines.pi.skills.files import discover_skills
from pi_subagents.engines.pi.skills.skill import read_skill_body

pytestmark = pytest.mark.pi

Found = list[tuple[str, str]]


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def skill(path: Path, name: str = "", description: str = "Use it.") -> None:
    """Write a skill: a directory with a SKILL.md, or a loose Markdown file."""
    path = path if path.suffix == ".md" else path / "SKILL.md"
    called = f"name: {name}\n" if name else ""
    write(path, f"---\n{called}description: {description}\n---\nbody of {path.name}\n")


def settings(directory: Path, **content: object) -> None:
    write(directory / "settings.json", json.dumps(content))


def asked_of_pi(project: Project, cwd: Path, *, trusted: bool) -> Found:
    done = subprocess.run(
        [
            *shlex.split(project.env["PI_SUBAGENTS_PI"]),
            *("--mode", "rpc", "--no-session", "--approve" if trusted else "--no-approve"),
        ],
        cwd=cwd,
        env={**project.env, "PI_OFFLINE": "1"},
        input='{"type": "get_commands"}\n',
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    (answer,) = (
        line for line in map(json.loads, done.stdout.splitlines()) if line["type"] == "response"
    )
    return [
        (command["name"].removeprefix("skill:"), command["sourceInfo"]["path"])
        for command in answer["data"]["commands"]
        if command["source"] == "skill"
    ]


def found_by_us(project: Project, cwd: Path, *, trusted: bool) -> Found:
    found = discover_skills(cwd, project.env, trusted=trusted)
    for each in found.by_name.values():
        read_skill_body(each)
    return [(name, each.path) for name, each in found.by_name.items()]


def same_in_both(project: Project, cwd: Path | None = None, *, trusted: bool = True) -> list[str]:
    """Compare both answers, and return the names in order."""
    cwd = cwd or project.path
    theirs = asked_of_pi(project, cwd, trusted=trusted)
    assert found_by_us(project, cwd, trusted=trusted) == theirs
    return [name for name, _ in theirs]


@pytest.fixture
def everywhere(project: Project) -> Project:
    """Put skills into every place; `everyone` and `several` are in most of them."""
    agent, home = project.agent_dir, Path(project.env["HOME"])
    (project.path / ".git").mkdir()
    inner = project.path / "packages" / "inner"
    inner.mkdir(parents=True)
    places = {
        "listed-by-project": project.path / "listed",
        "project": inner / ".pi/skills",
        "shared": inner / ".agents/skills",
        "shared-above": project.path / "packages/.agents/skills",
        "shared-at-root": project.path / ".agents/skills",
        "listed-by-user": home / "listed",
        "user": agent / "skills",
        "users-shared": home / ".agents/skills",
        "packaged": home / "package/skills",
    }
    for number, (name, place) in enumerate(places.items()):
        skill(place / name)
        skill(place / "everyone")
        skill(place / "several" / "deep" / "down", name=f"several-{number // 2}")
        skill(place / "loose.md", name=f"loose-{name}")
        skill(place / "group" / "loose-below.md", name=f"loose-below-{name}")
    settings(inner / ".pi", skills=["../../../listed"])
    settings(agent, skills=["~/listed"], packages=["../../package"])
    skill(project.path.parent / ".agents/skills/beyond-the-repository")
    skill(project.path / ".pi/skills/not-of-this-directory")
    return Project(inner, project.env)


def test_every_place_is_searched_and_the_first_of_a_name_wins(everywhere: Project) -> None:
    names = same_in_both(everywhere)
    assert len(names) == 9 + 1 + 5 + 5 + 4
    assert names[:2] == ["everyone", "listed-by-project"]
    assert {"shared-at-root", "users-shared", "packaged"} < set(names)
    assert {"beyond-the-repository", "not-of-this-directory"} & set(names) == set()


def test_of_an_untrusted_project_nothing_is_used(everywhere: Project) -> None:
    names = same_in_both(everywhere, trusted=False)
    assert {name for name in names if "project" in name} == set()
    assert [name for name in names if not name.startswith(("loose", "several"))] == [
        "everyone", "listed-by-user", "user", "users-shared", "packaged",
    ]  # fmt: skip


def test_without_a_repository_all_ancestors_are_searched(project: Project) -> None:
    skill(project.path.parent / ".agents/skills/above")
    skill(Path(project.env["HOME"]) / ".agents/skills/mine")
    assert same_in_both(project) == ["above", "mine"]
    home = Project(Path(project.env["HOME"]), project.env)
    assert same_in_both(home) == ["above", "mine"]


def test_ignore_files_count_as_they_do_in_pi(project: Project) -> None:
    place = project.agent_dir / "skills"
    for name in ("by-name", "By-Case", "kept", "dropped/again", "slash", "a/slash", "own"):
        skill(place / name, name=name.replace("/", "-").lower())
    for name in (
        "only/deep",
        "only/other",
        "only/x/other",
        "star/one",
        "star/two",
        "node_modules/x",
    ):
        skill(place / name, name=name.replace("/", "-"))
    for name in (".hidden", "spaced name", "negated!", "!bang"):
        skill(place / name, name="n" + str(len(name)))
    write(
        place / ".gitignore",
        "# comment\n\nby-name/\nBY-CASE\ndropped/\n!dropped/again\n/slash\nSPACED*\nfdignored.md\n"
        "own/SKILL.md\n",
    )
    write(place / "only/.ignore", "other\n")
    write(place / "star/.fdignore", "*\n!two/\n!two/**\n")
    skill(place / "fdignored.md", name="fdignored")
    names = same_in_both(project)
    assert {"by-name", "by-case", "dropped-again", "slash", "a-slash", "own"} & set(names) == set()
    assert {"kept", "only-deep", "only-x-other", "star-two"} < set(names)


def test_broken_files_are_left_out_and_the_others_found(project: Project) -> None:
    place = project.agent_dir / "skills"
    skill(place / "good")
    write(place / "no-description/SKILL.md", "---\nname: x\n---\nbody")
    write(place / "blank-description/SKILL.md", "---\ndescription: '  '\n---\nbody")
    write(place / "list-description/SKILL.md", "---\ndescription: [a]\n---\nbody")
    write(place / "no-front-matter/SKILL.md", "body")
    write(place / "open/SKILL.md", "---\ndescription: x\nbody")
    write(place / "bad-yaml/SKILL.md", "---\ndescription: a: b\n---\nbody")
    write(place / "twice/SKILL.md", "---\ndescription: a\ndescription: b\n---\nbody")
    write(
        place / "dos/SKILL.md", "\ufeff---\r\ndescription: >\r\n  folded\r\n  text\r\n---\r\nbody"
    )
    write(place / "notes.md", "# just notes")
    (place / "latin/SKILL.md").parent.mkdir()
    (place / "latin/SKILL.md").write_bytes(b"---\ndescription: caf\xe9\n---\n")
    skill(place / "Named Oddly", name='"Odd name: \\"1\\""')
    (place / "a-directory/SKILL.md").mkdir(parents=True)
    skill(place / "a-directory/SKILL.md/inner")
    (place / "dangling").mkdir()
    (place / "dangling/SKILL.md").symlink_to("nowhere")
    os.mkfifo(place / "pipe.md")
    write(project.path / ".pi/settings.json", "{ broken")
    skill(project.path / ".pi/skills/mine")
    assert same_in_both(project) == ["mine", 'Odd name: "1"', "inner", "dos", "good", "latin"]


def test_links_are_followed_and_a_file_is_found_once(project: Project, tmp_path: Path) -> None:
    place = project.agent_dir / "skills"
    skill(tmp_path / "elsewhere/linked")
    skill(tmp_path / "elsewhere/file")
    place.mkdir()
    (place / "a-link").symlink_to(tmp_path / "elsewhere/linked")
    (place / "b-link").symlink_to(tmp_path / "elsewhere/linked")
    (place / "by-file").mkdir()
    (place / "by-file/SKILL.md").symlink_to(tmp_path / "elsewhere/file/SKILL.md")
    skill(place / "z-last")
    (project.path / "linked-here").symlink_to(project.path)
    skill(project.path / ".agents/skills/mine")
    assert same_in_both(project, project.path / "linked-here") == [
        "mine", "a-link", "by-file", "z-last",
    ]  # fmt: skip


def test_a_circle_of_links_leads_to_the_same_files(project: Project) -> None:
    place = project.agent_dir / "skills"
    skill(place / "b")
    (place / "a").mkdir()
    (place / "a/again").symlink_to(place)
    (place / "self").symlink_to("self")

    def real(found: Found) -> Found:
        return [(name, os.path.realpath(path)) for name, path in found]

    theirs = asked_of_pi(project, project.path, trusted=True)
    assert real(found_by_us(project, project.path, trusted=True)) == real(theirs)
    assert [name for name, _ in theirs] == ["b"]


def test_entries_of_settings_choose_among_what_is_found(project: Project) -> None:
    home, agent = Path(project.env["HOME"]), project.agent_dir
    for name in ("one", "two", "three", "four", "five"):
        skill(agent / "skills" / name)
        skill(home / "more" / name, name=f"more-{name}")
        skill(home / ".agents/skills" / name, name=f"shared-{name}")
        skill(project.path / ".pi/skills" / name, name=f"project-{name}")
    skill(home / "single.md", name="single")
    write(home / "text.txt", "---\ndescription: x\n---\n")
    (home / "file url").mkdir()
    skill(home / "file url/by-url")
    settings(
        agent,
        skills=[
            "~/more", " ../../single.md ", "../../text.txt", "~/nowhere",
            "file://" + str(home / "file%20url"),
            "!skills/t*", "+skills/two", "!**/more/{one,five}", "-../../more/three", "!skills/fou?/*.md",
            "!five",
        ],
    )  # fmt: skip
    settings(project.path / ".pi", skills=["!skills/**", "+./skills/one", "-skills/two/SKILL.md"])
    names = same_in_both(project)
    assert "project-one" in names
    assert {"project-two", "three", "four", "five", "shared-five"} & set(names) == set()
    assert {"one", "two", "shared-two", "single", "by-url"} < set(names)


def test_a_pattern_alone_narrows_what_settings_list(project: Project) -> None:
    for name in ("one", "two", "three"):
        skill(project.agent_dir / "listed" / name)
        skill(project.agent_dir / "skills" / f"auto-{name}")
    settings(project.agent_dir, skills=["listed", "t*"])
    assert same_in_both(project) == ["three", "two", "auto-one", "auto-three", "auto-two"]


def test_the_old_form_of_the_setting_still_counts(project: Project) -> None:
    skill(project.agent_dir / "old/one")
    settings(project.agent_dir, skills={"customDirectories": ["old"], "enableSkillCommands": True})
    assert same_in_both(project) == ["one"]


def test_packages_offer_what_their_manifest_says(project: Project) -> None:
    agent = project.agent_dir
    for package in ("npm/node_modules/plain", "npm/node_modules/@scope/listing", "git/example.com/a/b",
                    "git/github.com/u/r", "git/github.com/short/hand", "local", "silent", "empty",
                    "globs"):  # fmt: skip
        name = package.rpartition("/")[2]
        write(agent / package / "package.json", json.dumps({"name": name, "version": "1.2.3"}))
        skill(agent / package / "skills" / "main", name=f"{name}-main")
        skill(agent / package / "skills" / "loose.md", name=f"{name}-loose")
        skill(agent / package / "more" / "x" / "other", name=f"{name}-other")
        skill(agent / package / "more" / "x" / "side.md", name=f"{name}-side")
        skill(agent / package / "more" / ".hidden", name=f"{name}-hidden")

    def manifest(package: str, **pi: object) -> None:
        content = {"name": "x", "version": "1.2.3", "pi": pi}
        write(agent / package / "package.json", json.dumps(content))

    manifest("npm/node_modules/@scope/listing", skills=["./more/x", "skills/loose.md", "!side.md"])
    manifest("silent", extensions=[])
    manifest("empty", skills=[])
    manifest("globs", skills=["more/*", "skills/**", "./{more,none}/x/s*.md", "-skills/loose.md"])
    settings(
        agent,
        packages=[
            "npm:plain", "npm:@scope/listing@^1.0.0", "npm:missing", "git:git@example.com:a/b.git@v1",
            "https://github.com/u/r@main", "git:short/hand", "./local", "silent", "empty", "globs",
            "nowhere", "plain",
        ],
    )  # fmt: skip
    names = same_in_both(project)
    assert {"plain-main", "b-main", "r-main", "hand-main", "local-main"} < set(names)
    assert {name for name in names if name.startswith(("silent", "empty"))} == set()
    assert {name for name in names if name.startswith("listing")} == {
        "listing-other",
        "listing-loose",
    }
    assert {name for name in names if name.startswith("globs")} == {
        "globs-main", "globs-other", "globs-side",
    }  # fmt: skip


def test_settings_choose_among_the_skills_of_a_package(project: Project) -> None:
    agent = project.agent_dir
    for package in ("all", "none", "some", "delta", "project", "declared"):
        for name in ("one", "two", "three"):
            skill(agent / package / "skills" / name, name=f"{package}-{name}")
    skill(project.path / ".pi/npm/node_modules/local/skills/l", name="npm-in-project")
    write(project.path / ".pi/npm/node_modules/local/package.json", '{"version": "1.0.0"}')
    declared = {"version": "1.0.0", "pi": {"skills": ["skills/one", "skills/two"]}}
    write(agent / "declared/package.json", json.dumps(declared))
    settings(
        agent,
        packages=[
            {"source": "all"},
            {"source": "none", "skills": []},
            {"source": "some", "skills": ["skills/t*", "!three", "+skills/one"]},
            "delta",
            {"source": "project", "skills": ["one"]},
            {"source": "declared", "skills": ["**/one", "skills/three"]},
        ],
    )
    settings(
        project.path / ".pi",
        packages=[
            {"source": str(agent / "delta"), "autoload": False, "skills": ["-skills/one", "!t*"]},
            {"source": str(agent / "project"), "skills": ["two"]},
            {"source": str(agent / "none"), "autoload": False},
            "npm:local",
        ],
    )
    assert set(same_in_both(project)) == {
        "all-one", "all-two", "all-three", "some-one", "some-two", "project-two", "declared-one",
        "npm-in-project",
    }  # fmt: skip
    assert {"delta-one", "project-one"} < set(same_in_both(project, trusted=False))
