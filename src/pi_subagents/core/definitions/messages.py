"""What `core/definitions` says to people."""

from __future__ import annotations

# What can be wrong with the front matter of a profile, preset or skill.


FENCE_NOT_CLOSED = "the front matter begins with `---` and is never closed"
NEEDS_FIELDS = "the front matter must be one list of `key: value` lines"
NEEDS_KEY = "a key must be a plain word"
NO_ALIASES = "anchors, aliases and merge keys are not accepted here"
NO_TAGS = "YAML tags are not accepted here"
TOO_DEEP = "values are nested too deep"


def repeated_key(key: str) -> str:
    """Return which key stands twice."""
    return f'"{key}" is set twice'


def frontmatter_too_large(most: int) -> str:
    """Return the limit of a front matter."""
    return f"the front matter is longer than {most // 1024} KiB"


def yaml_unreadable(problem: str) -> str:
    """Return why YAML could not be read at all."""
    return f"not readable as YAML: {problem}"


# What can be wrong with a profile or preset: a field, a file, fields against each other.


NEEDS_NAME = "is required: 1 to 64 letters, digits, hyphens and underscores"
MUST_BE_ITEMS = "must be a list of strings, or one string with commas"
BODY_HAS_NULL = "the system prompt must not contain a null byte"
TOOLS_EMPTY = '"tools" is empty: the sub-agent gets no tools'


def field_problem(key: str, problem: str) -> str:
    """Return what is wrong with which field."""
    return f'"{key}" {problem}'


def unknown_file_field(key: str, close: str) -> str:
    """Return which field has no meaning, and which may have been meant."""
    return f'unknown field "{key}"; ignored' + (f' (did you mean "{close}"?)' if close else "")


def more_unknown_fields(count: int) -> str:
    """Return how many more fields have no meaning."""
    return f"{count} more unknown fields; ignored"


def more_lines(count: int) -> str:
    """Return how much of a text is not shown."""
    return f"… ({count} more line{'' if count == 1 else 's'})"


# Definitions of projects that are not trusted (subagents.project_definitions)


FOREIGN_DENIED = 'subagents.project_definitions is "deny"'
HOW_TO_TRUST = "trust the project in pi (/trust), or with --trust-project"


def foreign_declined(answer_file: str) -> str:
    """Return why a definition is not used that somebody said no to, and how to be asked again."""
    return f"you said no to it (remove {answer_file} to be asked again)"


def note_replaces(kind: str, name: str, path: str) -> str:
    """Return the note on a definition that stands in front of the user's own."""
    return (
        f'The {kind} "{name}" is this project\'s own, in place of yours of that name, and the '
        f"project is not trusted: {path}"
    )


def note_own_instead(kind: str, name: str, why: str) -> str:
    """Return the note on a definition of the user's that counts although the project has one."""
    return (
        f'The {kind} "{name}" is yours. This project, which is not trusted, has one of that name; '
        f"it is not used: {why}."
    )


def foreign_refused(kind: str, name: str, why: str) -> str:
    """Return why a definition that only the project has cannot be used."""
    return (
        f'The {kind} "{name}" is this project\'s own, and the project is not trusted: {why}. '
        f"To use it, {HOW_TO_TRUST}."
    )


def nobody_to_ask(kind: str, name: str, path: str) -> str:
    """Return why a definition that has to be asked about cannot be used, and what to do."""
    return (
        f'The {kind} "{name}" is this project\'s own ({path}), the project is not trusted, and '
        'nobody can be asked here (subagents.project_definitions is "ask"). Use it once on a '
        f"terminal or inside pi and answer there, or {HOW_TO_TRUST}."
    )
