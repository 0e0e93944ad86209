"""What is wrong with profiles, presets and skills, and the files they are in."""

from __future__ import annotations

from pi_subagents.errors.base import RequestError, StoreError, SubagentsError


class ProfileNotFound(RequestError):
    """No profile has that name here, unless it is in one of the files that cannot be read."""

    def __init__(
        self, name: str, available: tuple[str, ...], problems: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        known = ", ".join(available) or "(none)"
        super().__init__("\n".join((f'Profile "{name}" not found. Available: {known}', *problems)))


class ProfileNameInvalid(RequestError):
    """The name is not allowed for a profile."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(_name_invalid("profile", name))


class ProfileExists(RequestError):
    """A profile that is to be created is there already, or a file is in its place."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self.path = path
        super().__init__(
            f'Profile "{name}" already exists: {path}. To change it: '
            f"subagents profile edit {name}, or /profile edit {name} in pi"
        )


class ProfileRefused(RequestError):
    """A profile that is used contradicts itself."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)


class ExtraArgRefused(RequestError):
    """An item of a profile's `extraArgs` must not reach the child."""

    def __init__(self, profile: str, problem: str) -> None:
        self.profile = profile
        super().__init__(problem)


class PresetNameInvalid(RequestError):
    """The name is not allowed for a preset."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(_name_invalid("preset", name))


class UnknownPreset(RequestError):
    """No preset has that name here."""

    def __init__(self, name: str, available: tuple[str, ...]) -> None:
        self.name = name
        self.available = available
        known = ", ".join(available) or "(none)"
        super().__init__(f'Unknown preset: "{name}". Available presets: {known}')


class DefinitionNotUsed(RequestError):
    """A preset of a project that is not trusted may not be used, or nobody allowed it."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


class AgentFileUnreadable(RequestError):
    """A file of another program defines no agent that could be imported."""

    def __init__(self, problem: str) -> None:
        self.problem = problem
        super().__init__(problem)


class DefinitionExists(RequestError):
    """A file is where a new profile or preset would be."""

    def __init__(self, kind: str, name: str, path: str) -> None:
        self.name = name
        self.path = path
        super().__init__(f'The {kind} "{name}" exists already: {path}. --force replaces it.')


class DefinitionNotSaved(StoreError):
    """A new profile or preset could not be written."""

    def __init__(self, kind: str, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f'The {kind} "{name}" cannot be saved: {reason}')


class ProfileKeyInProject(StoreError):
    """An API key would be written into the project."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            f'Profile "{name}" holds an API key and is not saved in the project, whose files '
            "others may read. Save it globally, or without the key."
        )


class ProfileNotSaved(StoreError):
    """A profile could not be written."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f'Profile "{name}" cannot be saved: {reason}')


class ProfileNotRemoved(StoreError):
    """A profile's file could not be removed."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f'Profile "{name}" cannot be removed: {reason}')


class UnknownSkills(SubagentsError):
    """A profile names skills that are not there; the task that uses it fails."""

    def __init__(self, unknown: tuple[str, ...], available: tuple[str, ...]) -> None:
        self.unknown = unknown
        self.available = available
        wrong = ", ".join(f'"{name}"' for name in unknown)
        known = ", ".join(available) or "(none)"
        super().__init__(f"Unknown skills: {wrong}. Available skills: {known}")


class UntrustedSkills(SubagentsError):
    """A profile names skills of a project that is not trusted; the task that uses it fails."""

    def __init__(self, names: tuple[str, ...], unknown: UnknownSkills | None = None) -> None:
        self.names = names
        self.unknown = unknown
        listed = ", ".join(f'"{name}"' for name in names)
        skills, are = ("skill", "is") if len(names) == 1 else ("skills", "are")
        super().__init__(
            (f"{unknown}. " if unknown else "")
            + f"The {skills} {listed} {are} the project's own, and the project is not trusted. "
            f"Trust it in pi (/trust), or with --trust-project, if you have read the {skills}."
        )


class SkillUnreadable(SubagentsError):
    """A skill that is to be loaded cannot be read; the task that wants it fails."""

    def __init__(self, name: str, path: str, reason: str) -> None:
        self.name = name
        self.path = path
        self.reason = reason
        super().__init__(f'Skill "{name}" cannot be loaded from {path}: {reason}')


class FrontmatterError(SubagentsError):
    """The front matter of a file cannot be read; the file is left out and reported."""

    def __init__(self, line: int, problem: str) -> None:
        self.line = line
        self.problem = problem
        super().__init__(f"line {line}: {problem}")


def _name_invalid(kind: str, name: str) -> str:
    return (
        f"{name[:80]!r} cannot be the name of a {kind}: 1 to 64 letters, digits, hyphens and "
        "underscores."
    )
