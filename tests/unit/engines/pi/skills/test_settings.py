from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_objects, json_values, thoroughly

from pi_subagents.engines.pi.skills.settings import (
    GIT,
    LOCAL,
    NPM,
    PackageEntry,
    PackageSource,
    SkillSettings,
    parse_manifest,
    parse_package_source,
    parse_skill_settings,
)


def test_settings_name_paths_and_packages() -> None:
    content = {
        "skills": ["a", "!b"],
        "packages": [
            "npm:x",
            {"source": "./y"},
            {"source": "z", "skills": [], "autoload": False, "extensions": ["e"]},
        ],
    }
    assert parse_skill_settings(content) == SkillSettings(
        entries=("a", "!b"),
        packages=(
            PackageEntry("npm:x"),
            PackageEntry("./y", filtered=True),
            PackageEntry("z", filtered=True, chosen=(), autoload=False),
        ),
    )


@pytest.mark.parametrize(
    ("content", "settings"),
    [
        (None, SkillSettings()),
        ({}, SkillSettings()),
        ([], SkillSettings(problems=("should be a JSON object; ignored",))),
        ({"skills": {"customDirectories": ["old"]}}, SkillSettings(entries=("old",))),
        ({"skills": {"enableSkillCommands": True}}, SkillSettings()),
        (
            {"skills": "a", "packages": ["x"]},
            SkillSettings(
                packages=(PackageEntry("x"),),
                problems=("skills: should be a list of strings, is str; ignored",),
            ),
        ),
        (
            {"skills": ["a", 1]},
            SkillSettings(problems=("skills: should be a list of strings, is list; ignored",)),
        ),
        (
            {"packages": {"source": "x"}},
            SkillSettings(problems=("packages: should be a list, is dict; ignored",)),
        ),
        (
            {"packages": [7, {"source": 1}, {"source": "x", "skills": "y"}]},
            SkillSettings(
                packages=(PackageEntry("x", filtered=True),),
                problems=(
                    "packages[0]: should be a source, or an object with a `source`, is int; ignored",
                    "packages[1]: should be a source, or an object with a `source`, is dict; ignored",
                    "packages[2].skills: should be a list of strings, is str; ignored",
                ),
            ),
        ),
    ],
)
def test_what_is_wrong_in_settings_is_reported_and_left_out(
    content: object, settings: SkillSettings
) -> None:
    assert parse_skill_settings(content) == settings


@pytest.mark.parametrize(
    ("content", "manifest"),
    [
        (None, (False, None)),
        ({"name": "x"}, (False, None)),
        ({"pi": []}, (False, None)),
        ({"pi": {}}, (True, None)),
        ({"pi": {"skills": ["a"]}}, (True, ("a",))),
        ({"pi": {"skills": []}}, (True, ())),
        ({"pi": {"skills": ["a", 1]}}, (True, None)),
    ],
)
def test_a_manifest_may_say_which_skills_a_package_has(
    content: object, manifest: tuple[bool, tuple[str, ...] | None]
) -> None:
    assert parse_manifest(content) == manifest


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ("npm:x", (NPM, "x")),
        ("npm: x@1.2.3", (NPM, "x")),
        ("npm:@scope/x", (NPM, "@scope/x")),
        ("npm:@scope/x@^1.0.0", (NPM, "@scope/x")),
        ("npm:", (NPM, "")),
        ("./x", (LOCAL, "./x")),
        ("~/x@1", (LOCAL, "~/x@1")),
        ("file:///x", (LOCAL, "file:///x")),
        ("git:github.com/u/r", (GIT, "github.com/u/r")),
        ("git:github.com/u/r@v1", (GIT, "github.com/u/r")),
        ("git: github.com/u/r.git#v1", (GIT, "github.com/u/r")),
        ("git:u/r@main", (GIT, "github.com/u/r")),
        ("git:git@example.com:a/b/c.git@v1", (GIT, "example.com/a/b/c")),
        ("git:localhost/a/b", (GIT, "localhost/a/b")),
        ("git:https://example.com/a/b/", (GIT, "example.com/a/b")),
        ("https://user:pw@Example.com:8443/a/b.git@v1", (GIT, "example.com/a/b")),
        ("ssh://git@example.com:22/a/b", (GIT, "example.com/a/b")),
        ("git://example.com/a/b", (GIT, "example.com/a/b")),
        ("git:example.com/a", (LOCAL, "git:example.com/a")),
        ("https://example.com/a", (LOCAL, "https://example.com/a")),
        ("github:u/r", (LOCAL, "github:u/r")),
        ("git:example.com/a/../../b", (LOCAL, "git:example.com/a/../../b")),
        ("https://../a/../b", (LOCAL, "https://../a/../b")),
        ("git:../a/b", (LOCAL, "git:../a/b")),
        ("git:example.com/a\\b/c", (LOCAL, "git:example.com/a\\b/c")),
    ],
)
def test_a_source_tells_where_a_package_is_kept(source: str, place: tuple[str, str]) -> None:
    assert parse_package_source(source) == PackageSource(*place)


words = st.sampled_from(
    ["git:", "npm:", "https://", "ssh://", "..", ".", "/", "@", ":", "#", "a", "b.c", "\\", "\0", ".git"]
)  # fmt: skip


@thoroughly
@given(st.lists(words, max_size=8).map("".join))
def test_no_repository_leads_out_of_its_directory(source: str) -> None:
    found = parse_package_source(source)
    if found.kind == GIT:
        host, *path = found.place.split("/")
        assert host not in {"", ".", ".."}
        assert path
        assert ".." not in path


@thoroughly
@given(json_values | json_objects)
def test_any_json_gives_settings_and_a_manifest(content: object) -> None:
    parse_skill_settings(content)
    parse_manifest(content)
    parse_skill_settings(
        {"skills": content, "packages": [content, {"source": "x", "skills": content}]}
    )
