"""What `core/foreign` says to people."""

from __future__ import annotations

BODY = "(body)"
SYSTEM_PROMPT = "the system prompt"
APPENDED_PROMPT = "the prompt"
NO_TOOLS = "tools: none"
ALL_TOOLS = "all tools (the default)"
NOT_TEXT = "it is not UTF-8 text"
NO_AGENT = "it defines no agent"
NO_NAME = "it has no name of letters, digits, - and _"
NOT_A_TEXT = "it is no text"
NOT_HERE = "there is no such setting here"
NO_DESCRIPTION = "a profile has no description"
NO_THINKING = "a preset has no thinking level"
NO_SKILLS = "a preset has no skills"
PROMPT_IN_FILE = "the prompt is in another file"
INHERITS = "no model of its own: the one pi is configured with"
IS_DISABLED = "it is switched off there; here it is not"
SANDBOX_OPEN = "there is no sandbox here: the tools decide"


def left_out(why: str) -> str:
    """Return that a field has no place here."""
    return f"left out: {why}"


def no_such_tools(names: tuple[str, ...]) -> str:
    """Return which tools pi does not have."""
    return f"left out: {', '.join(names)} (pi has no such tool)"


def patterns_not_kept(names: tuple[str, ...]) -> str:
    """Return which restricted tools would be unrestricted here."""
    return f"left out: {', '.join(names)} (a part of a tool cannot be allowed here)"


def model_not_known(name: str) -> str:
    """Return why a model is not carried over."""
    return f'left out: "{name}" is not one of the models that pi lists here'


def skills_not_known(names: tuple[str, ...]) -> str:
    """Return which skills are not there."""
    return f"left out: {', '.join(names)} (no such skill here)"


def toml_unreadable(problem: str) -> str:
    """Return why TOML could not be read."""
    return f"it is not TOML that can be read: {problem}"


def frontmatter_unreadable(line: int, problem: str) -> str:
    """Return why the front matter could not be read."""
    return f"line {line}: {problem}"


def imported_from(program: str) -> str:
    """Return the description of a preset whose file had none."""
    return f"Imported from {program}"
