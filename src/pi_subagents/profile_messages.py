"""
Words about profiles, presets and skills: their files, their fields, what a task may use of them.

Like `messages`, beside which it stands only for its length.
"""

from __future__ import annotations

# What can be wrong with the front matter of a profile, preset or skill.

FENCE_NOT_CLOSED = "the front matter begins with `---` and is never closed"
NEEDS_FIELDS = "the front matter must be one list of `key: value` lines"
NEEDS_KEY = "a key must be a plain word"
NO_ALIASES = "anchors, aliases and merge keys are not accepted here"
NO_TAGS = "YAML tags are not accepted here"
TOO_DEEP = "values are nested too deep"
SKILL_NEEDS_DESCRIPTION = "has no description and is not used"
SKILL_NAME_TAKEN = "is not used: the skill of this name is in"
SKILL_SEARCH_CUT = "holds more than is searched for skills; some may be missing"
PACKAGE_NOT_HERE = "is not installed; its skills are not known"


def repeated_key(key: str) -> str:
    """Return which key stands twice."""
    return f'"{key}" is set twice'


def frontmatter_too_large(most: int) -> str:
    """Return the limit of a front matter."""
    return f"the front matter is longer than {most // 1024} KiB"


def yaml_unreadable(problem: str) -> str:
    """Return why YAML could not be read at all."""
    return f"not readable as YAML: {problem}"


# Why an item of a profile's `extraArgs` is refused: the reasons of ExtraArgRefused.

EXTRA_ARG_HAS_NULL = "Invalid extraArg: contains null byte"
EXTRA_ARG_MODE = "`subagents.child_mode` says how sub-agents run. Leave it out."
EXTRA_ARG_SESSION = (
    "pi-subagents keeps the sessions of sub-agents. To go on with one, give its id as the task's "
    "`resume`."
)
EXTRA_ARG_ENDS_PI = "pi would end without doing the task. Run it by hand."
EXTRA_ARG_TRUST = (
    "a profile cannot decide whether a project is trusted. Decide it yourself: start pi there and "
    "type /trust."
)
EXTRA_ARG_KEY = "others can read a key in a command line. Use the profile field `apiKey`."
EXTRA_ARG_DASHES = "pi would read all that follows as prompts. Put those words into the task."
EXTRA_ARG_FILE = "pi would put that file into the prompt. Use the task's `files`."
EXTRA_ARG_WORD = (
    "pi would read it as a prompt. Put it into the task, or behind the option it is meant for."
)
EXTRA_ARG_NEEDS_VALUE = "it needs a value. Give it as the next item."


def extra_arg_refused(item: str, reason: str) -> str:
    """Return why an item is never let through."""
    return f'Refusing extraArg "{item}": {reason}'


def extra_arg_unsafe(item: str) -> str:
    """Return the refusal of an item that looks like shell syntax."""
    return f"Refusing extraArg: potentially unsafe argument '{item[:50]}...'"


def extra_arg_overrides_tools(item: str) -> str:
    """Return the refusal of an item that would undo the profile's tool restrictions."""
    return (
        f'Refusing extraArg "{item}" which would override profile tool restrictions. '
        "Use the dedicated profile fields instead."
    )


# What there is to say about the tools that a profile names.


def note_unknown_tools(kind: str, names: tuple[str, ...]) -> str:
    """Return the note on names, in a profile or preset, that no tool is known by."""
    return (
        f"The {kind} names unknown tools: {', '.join(names)}. "
        "pi ignores them in silence unless an extension of the sub-agent provides them."
    )


def no_known_tool(profile: str, names: tuple[str, ...]) -> str:
    """Return why a profile's list of allowed tools cannot be meant."""
    return (
        f'Profile "{profile}" allows only tools that do not exist: {", ".join(names)}. '
        "It loads no extension that could provide them. For no tools at all, use `noTools`."
    )


# What can be wrong with a profile or preset: a field, a file, fields against each other.

NEEDS_NAME = "is required: 1 to 64 letters, digits, hyphens and underscores"
NEEDS_DESCRIPTION = "is required: a text that says what the preset is for"
MUST_BE_ITEMS = "must be a list of strings, or one string with commas"
BODY_HAS_NULL = "the system prompt must not contain a null byte"
TOOLS_EMPTY = '"tools" is empty: the sub-agent gets no tools'
NOT_UTF8 = "is not UTF-8 text"
HOLDS_ANOTHER_PROFILE = "a file of that name holds another profile"
NOT_READ_BACK = "it would not be read back as it is; check its name, its values and their size"
SUGGESTED_BUT_NO_SKILLS = "--no-skills would override --skill flags"
LOADED_BUT_NO_SKILLS = "--no-skills disables skill discovery"
ALLOWED_AND_EXCLUDED = "use one of them"
NOT_EDITABLE = (
    "its front matter cannot be changed line by line without changing more; edit the file by hand"
)
NOT_A_PROFILE_FILE = "it is not a file of a profiles directory"


def field_problem(key: str, problem: str) -> str:
    """Return what is wrong with which field."""
    return f'"{key}" {problem}'


def unknown_file_field(key: str, close: str) -> str:
    """Return which field has no meaning, and which may have been meant."""
    return f'unknown field "{key}"; ignored' + (f' (did you mean "{close}"?)' if close else "")


def more_unknown_fields(count: int) -> str:
    """Return how many more fields have no meaning."""
    return f"{count} more unknown fields; ignored"


def wrong_thinking_level(levels: tuple[str, ...]) -> str:
    """Return which thinking levels there are."""
    return f'"thinkingLevel" must be one of {", ".join(levels)}; left out'


def wrong_isolation(choices: tuple[str, ...]) -> str:
    """Return which isolations there are."""
    return f'"isolation" must be one of {", ".join(choices)}; every task gets a new process'


def name_taken(kind: str, name: str, winner: str) -> str:
    """Return why a file is not used beside another with the same name in it."""
    return f'"{name}" is the name of the {kind} in {winner}; this file is not used'


def wanted_file_name(name: str) -> str:
    """Return how a file should be called."""
    return f'the file should be called {name}.md, after its "name"'


def key_readable_by_others(path: str) -> str:
    """Return the warning about a key that is not private, and its cure."""
    return f"holds an API key, and other users may read it: chmod 600 {path}"


def too_many_files(kind: str, most: int) -> str:
    """Return the limit of a directory."""
    return f"holds more than {most} {kind}s; the rest is not loaded"


def fields_conflict(name: str, fields: tuple[str, str], why: str) -> str:
    """Return why a profile is refused whose fields contradict each other."""
    both = " and ".join(f'"{field}"' for field in fields)
    return f'Profile "{name}" has both {both} set. These are mutually exclusive — {why}.'


def more_lines(count: int) -> str:
    """Return how much of a text is not shown."""
    return f"… ({count} more line{'' if count == 1 else 's'})"


# What is said of the profile a task names.

NO_PROFILES = (
    "No subagent profiles found. Add .md files to ~/.pi/agent/agent-profiles/ "
    "or .pi/agent-profiles/."
)

NOTHING_SAVED = "Nothing was saved."
NOTHING_CHANGED = "Nothing to change: the file is as it was."
CHANGED_MEANWHILE = "the file was changed by someone else meanwhile"
ASKING_PI_FOR_MODELS = "Asking pi which models it has..."


def profile_saved(name: str, scope: str) -> str:
    """Return that a profile was written, and where to."""
    return f'Profile "{name}" saved to {scope} agent-profiles.'


def use_profile(name: str) -> str:
    """Return the command that uses a profile."""
    return f'Use it: subagents run --profile {name} "..."'


def note_profile_hidden(name: str, path: str) -> str:
    """Return the note on a global profile that the project has one in front of."""
    return f'Tasks in this directory use the project\'s profile "{name}" instead: {path}'


def models_not_offered(reason: str) -> str:
    """Return why no model can be picked from a list."""
    return f"Models cannot be offered here, but you can type one. {reason}"


def is_a_link(target: str) -> str:
    """Return why a file is not written through a link."""
    return f"its file is a link. Edit what it leads to: {target}"


def fields_left_out(keys: tuple[str, ...]) -> str:
    """Return which fields a profile had and will have no more."""
    return f"Left out from now on: {', '.join(keys)}"


def editor_opens(program: str) -> str:
    """Return what to do in an editor that is about to open."""
    return f"{program} opens: save and quit to go on. An empty text leaves the field out."


def editor_failed(program: str) -> str:
    """Return that a text was not written because the editor did not end well."""
    return f"{program} did not end well."


def unknown_profile(name: str, available: tuple[str, ...]) -> str:
    """Return why a task could not start with its profile."""
    return f'Unknown profile: "{name}". Available profiles: {", ".join(available) or "(none)"}'


def note_profile_left(name: str) -> str:
    """Return the note on a session that goes on without the profile it had."""
    return f'This session ran with the profile "{name}" before; this run has none. Name it again.'


def note_provider_alone(provider: str) -> str:
    """Return the note on a provider that pi will not use."""
    return f'pi ignores the provider "{provider}" without a model. Set `model` too.'


KEY_NEEDS_MODELS_JSON = (
    '"apiKey" reaches pi only as PI_API_KEY, since this provider has no variable of its own: let '
    'models.json say "apiKey": "$PI_API_KEY", or set "provider"'
)


def note_untrusted_profile(name: str, left_out: tuple[str, ...]) -> str:
    """Return the note on what a project's own profile may not decide."""
    return (
        f'The project\'s profile "{name}" may not set {", ".join(left_out)}: the project is not '
        "trusted. Trust it in pi (/trust), or with --trust-project, if you have read the file."
    )


# What is said of presets.

NO_PRESETS = (
    "No presets found. Add .md files to ~/.pi/agent/subagents/ or .pi/subagents/ of the project."
)
