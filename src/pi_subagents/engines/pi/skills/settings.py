"""
Read what pi's settings hold about skills: entries of `skills`, and `packages` that may hold some.

In: the decoded JSON of one settings file or package manifest.  Out: checked values and what is
wrong with the rest, which is left out.
"""

from __future__ import annotations

import re

from pi_subagents.core import messages
from pi_subagents.core.value import value

NPM, GIT, LOCAL = "npm", "git", "local"
_REMOTE = ("npm:", "git:", "github:", "http:", "https:", "ssh:")
_URL = re.compile(r"(?:https?|ssh|git)://(?:[^/@]*@)?([^/:@]+)(?::\d+)?/+(.+)", re.IGNORECASE)
_SCP_LIKE = re.compile(r"[^/@:]+@([^/:]+):(.+)")
_HOST_FIRST = re.compile(r"([^/:]*\.[^/:]*|localhost)/(.+)")
_NPM_NAME = re.compile(r"@?[^@]+")
_SHORTHAND_HOST = "github.com"


@value
class PackageSource:
    """Where a package comes from: an npm name, a repository as `host/path`, or a path."""

    kind: str
    place: str


@value
class PackageEntry:
    """
    A package in settings.

    `chosen` is its filter for skills: None means as the package has them.  An entry that is not
    `filtered` is a bare source; one without `autoload` names only what it switches.
    """

    source: str
    filtered: bool = False
    chosen: tuple[str, ...] | None = None
    autoload: bool = True


@value
class SkillSettings:
    """What one settings file holds about skills."""

    entries: tuple[str, ...] = ()
    packages: tuple[PackageEntry, ...] = ()
    problems: tuple[str, ...] = ()


def parse_skill_settings(content: object) -> SkillSettings:
    """Read one settings file; None is a file that is not there."""
    if content is None:
        return SkillSettings()
    if not isinstance(content, dict):
        return SkillSettings(problems=(messages.SETTINGS_NOT_AN_OBJECT,))
    problems: list[str] = []
    skills = content.get("skills")
    if isinstance(skills, dict):  # the form of old settings
        skills = skills.get("customDirectories")
    entries = _strings("skills", skills, problems) or ()
    packages = content.get("packages")
    if packages is not None and not isinstance(packages, list):
        problems.append(_wrong("packages", "a list", packages))
        packages = None
    found = (_package(f"packages[{i}]", each, problems) for i, each in enumerate(packages or ()))
    kept = tuple(each for each in found if each is not None)
    return SkillSettings(entries, kept, tuple(problems))


def parse_manifest(content: object) -> tuple[bool, tuple[str, ...] | None]:
    """Read a package.json: has it a `pi` object at all, and which `skills` does that list."""
    manifest = content.get("pi") if isinstance(content, dict) else None
    if not isinstance(manifest, dict):
        return False, None
    return True, _strings("skills", manifest.get("skills"), [])


def parse_package_source(source: str) -> PackageSource:
    """Return where a package comes from; what is no repository is a path."""
    if source.startswith("npm:"):
        name = _NPM_NAME.match(source.removeprefix("npm:").strip())
        return PackageSource(NPM, name.group() if name else "")
    if not source.strip().startswith(_REMOTE):
        return PackageSource(LOCAL, source)
    repository = _repository(source.strip())
    return PackageSource(GIT, repository) if repository else PackageSource(LOCAL, source)


def _repository(source: str) -> str | None:
    """Return `host/path` of a repository, without the version of it."""
    prefixed = source.startswith("git:") and not source.startswith("git://")
    where = (source.removeprefix("git:") if prefixed else source).strip().partition("#")[0]
    found = _URL.fullmatch(where)
    if found is None and prefixed:
        found = _SCP_LIKE.fullmatch(where) or _HOST_FIRST.fullmatch(where)
        if found is None and ":" not in where:
            found = _HOST_FIRST.fullmatch(f"{_SHORTHAND_HOST}/{where}")
    if found is None:
        return None
    host = found[1].lower()
    path = found[2].partition("@")[0].rstrip("/").removesuffix(".git")
    parts = path.split("/")
    if len(parts) == 1 or {".", ".."} & {host, *parts} or "\\" in path or "\0" in path:
        return None
    return f"{host}/{path}"


def _package(where: str, value: object, problems: list[str]) -> PackageEntry | None:
    if isinstance(value, str):
        return PackageEntry(value)
    if not isinstance(value, dict) or not isinstance(value.get("source"), str):
        problems.append(_wrong(where, "a source, or an object with a `source`", value))
        return None
    chosen = _strings(f"{where}.skills", value.get("skills"), problems)
    return PackageEntry(value["source"], True, chosen, value.get("autoload") is not False)


def _strings(where: str, value: object, problems: list[str]) -> tuple[str, ...] | None:
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    problems.append(_wrong(where, "a list of strings", value))
    return None


def _wrong(where: str, expected: str, value: object) -> str:
    return f"{where}: {messages.setting_of_wrong_type(expected, type(value).__name__)}"
