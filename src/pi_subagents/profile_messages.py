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


def tool_signed(name: str) -> str:
    """Return why a name with a sign before it is refused."""
    return (
        f'"{name}" is not the name of a tool. Newer pis read + and - as changes of their default '
        "tools. Write the names of the tools alone"
    )


def tool_pattern(name: str) -> str:
    """Return why a pattern of tools is refused."""
    return (
        f'"{name}" may stand for any tool. Write each name; a pattern is only taken for the tools '
        "of MCP servers, such as mcp__github__*"
    )


def no_patterns(name: str, pi: str) -> str:
    """Return why even a pattern of a server's tools is refused."""
    return f'"{name}" is a pattern, and {pi} knows none. Write each name, or use a newer pi'


def field_refused(profile: str, field: str, why: str) -> str:
    """Return why no call may use a profile, for the sake of one of its fields."""
    return f'Profile "{profile}" cannot be used because of "{field}": {why}.'


def needs_newer_pi(pi: str, since: str) -> str:
    """Return that a field asks for what this pi does not have."""
    return f"{pi} cannot do that; pi {since} or newer can"


def no_mcp_but_tools(name: str) -> str:
    """Return why a profile without MCP servers cannot allow the tool of one."""
    return f'it is "none", but "tools" names {name}, a tool of an MCP server'


def provider_needs_model(pi: str) -> str:
    """Return why a provider cannot stand alone."""
    return f'{pi} takes a provider only together with a model. Set "model" too'


def preset_tool_refused(preset: str, why: str) -> str:
    """Return why no call may use a preset, for the sake of its tools."""
    return f'Preset "{preset}" cannot be used because of "tools": {why}.'


NO_BUILTIN_EXTENSIONS = (
    '"noExtensions" also leaves out what pi brings as extensions: MCP servers, codemode, tool '
    "search, the models of llama.cpp, and models that other extensions provide. To keep one, name "
    'it: "extensions": builtin:llama.cpp'
)
MCP_OUT_OF_REACH = (
    'MCP servers are started, but the sub-agent can reach none of their tools: allow "codemode", '
    '"tool_search" or names that begin with mcp__'
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


def wrong_mcp(choices: tuple[str, ...]) -> str:
    """Return what a profile may say of MCP servers."""
    return f'"mcp" must be one of {", ".join(choices)}; no MCP server is used'


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


def note_renamed_provider(name: str, today: str, pi: str) -> str:
    """Return the note on a provider that is called otherwise in this version."""
    return f'{pi} calls the provider "{name}" "{today}"; that name was used.'


def note_extra_words(words: tuple[str, ...]) -> str:
    """Return the note on items of `extraArgs` that pi cannot take for options."""
    listed = ", ".join(f'"{word}"' for word in words)
    belong, it = ("belongs", "it") if len(words) == 1 else ("belong", "them")
    return (
        f"extraArgs: {listed} {belong} to no option. pi takes {it} for more of the prompt "
        '(child_mode "json") or for nothing ("rpc").'
    )


KEY_NEEDS_MODELS_JSON = (
    '"apiKey" reaches pi only as PI_API_KEY, since this provider has no variable of its own: let '
    'models.json say "apiKey": "$PI_API_KEY", or set "provider"'
)


# Definitions of projects that are not trusted (subagents.project_definitions)

FOREIGN_DENIED = 'subagents.project_definitions is "deny"'
ASK_TITLE = "Sub-agents: a definition of this project"
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


def ask_foreign(kind: str, name: str, path: str) -> str:
    """Return the question whether a definition may be used."""
    return (
        f'The {kind} "{name}" is this project\'s own, and the project is not trusted. It may '
        f"choose model, tools and prompt: {path}. Use it?"
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
