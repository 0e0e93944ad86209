"""What `engines/pi` says to people."""

from __future__ import annotations


def pi_is_newer(pi: str, tested: str) -> str:
    """Return the note on a pi that nobody has tried with us yet; said once for each version."""
    return (
        f"{pi} is newer than the newest that pi-subagents was tested with ({tested}). "
        "It is used all the same; if something looks wrong, `subagents setup` installs that one."
    )


def other_pi_than_the_host(used: str, chosen_by: str, host: str) -> str:
    """Return that sub-agents run on another pi than the one that delegates, and who chose it."""
    return f"Sub-agents run on pi {used}, from {chosen_by}. You work in pi {host}."


def note_unknown_tools(kind: str, names: tuple[str, ...]) -> str:
    """Return the note on names, in a profile or preset, that no tool is known by."""
    return (
        f"The {kind} names unknown tools: {', '.join(names)}. "
        "pi ignores them in silence unless an extension of the sub-agent provides them."
    )


def note_renamed_provider(name: str, today: str, pi: str) -> str:
    """Return the note on a provider that is called otherwise in this version."""
    return f'{pi} calls the provider "{name}" "{today}"; that name was used.'


STEER_JSON_MODE = (
    "The sub-agent was started in JSON mode, which takes no messages. Set `subagents.child_mode` "
    'to "rpc" in pi\'s settings and delegate again.'
)

NO_RUN_STARTED = (
    "pi took the prompt but began no work on it; an extension may have handled it instead"
)
ASKED_TOO_EARLY = (
    "an extension asked a question while pi started, and pi takes no answers then; keep that "
    'extension from sub-agents, or set `subagents.child_mode` to "json" in pi\'s settings'
)
ORDERS_NOT_TAKEN = "the extension of pi-subagents in the child did not take its orders"
SESSION_NOT_OPENED = "the child did not open a new session in time"
SESSION_REFUSED = "an extension of the child did not let it begin a new session"


NO_QUESTIONS_IN_JSON_MODE = (
    'nobody can be asked where `subagents.child_mode` is "json" in pi\'s settings'
)
REFUSED_BUT_ASKS = "somebody is to be asked about calls, and no question may be asked"


def note_dialog(method: str, title: str) -> str:
    """Return the note on a question nobody could answer."""
    about = f' ("{title}")' if title else ""
    return f"An extension of the sub-agent asked a question ({method}{about}); it was dismissed."


def note_dialog_too_early(method: str, title: str) -> str:
    """Return the note on a question at a time when pi takes no answers."""
    about = f' ("{title}")' if title else ""
    return (
        f"An extension of the sub-agent asked a question ({method}{about}) outside of its task, "
        "where nobody can answer it; it was dismissed."
    )


def steer_refused_by_child(reason: str) -> str:
    """Return why pi itself did not take a message."""
    return f"pi refused the message: {reason}"


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


def preset_tool_refused(preset: str, why: str) -> str:
    """Return why no call may use a preset, for the sake of its tools."""
    return f'Preset "{preset}" cannot be used because of "tools": {why}.'


def no_known_tool(profile: str, names: tuple[str, ...]) -> str:
    """Return why a profile's list of allowed tools cannot be meant."""
    who = f'Profile "{profile}"' if profile else "The task"
    return (
        f"{who} allows only tools that do not exist: {', '.join(names)}. "
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
    if not profile:  # the task says so itself
        return f"{field}: {why}."
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

SUGGESTED_BUT_NO_SKILLS = "--no-skills would override --skill flags"
LOADED_BUT_NO_SKILLS = "--no-skills disables skill discovery"
ALLOWED_AND_EXCLUDED = "use one of them"


def fields_conflict(name: str, fields: tuple[str, str], why: str) -> str:
    """Return why a profile is refused whose fields contradict each other."""
    both = " and ".join(f'"{field}"' for field in fields)
    return f'Profile "{name}" has both {both} set. These are mutually exclusive — {why}.'


# What is said of the profile a task names.


def note_provider_alone(provider: str) -> str:
    """Return the note on a provider that pi will not use."""
    return f'pi ignores the provider "{provider}" without a model. Set `model` too.'


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

# Why a pi command is unusable: the reasons of PiCommandUnusable.

COMMAND_EMPTY = "is empty"
COMMAND_NOT_ON_PATH = "is not on PATH"
COMMAND_INSIDE_CWD = "is on PATH only inside the working directory, which is never used"
COMMAND_RELATIVE = "is a relative path; give an absolute one, or a name on PATH"
COMMAND_NOT_RUNNABLE = "is not an executable file"


def command_not_parsed(problem: str) -> str:
    """Return why a command line cannot be split into words."""
    return f"cannot be split into words ({problem})"


def command_needs_node(minimum: str) -> str:
    """Return why a pi on PATH would crash at once."""
    return (
        f"needs Node {minimum} or newer, and there is none. Run `subagents setup`: it fetches one."
    )


# Why pi did not list its models: the reasons of ModelsUnknown.

MODELS_IN_UNKNOWN_FORM = "its answer has an unknown form"


def pi_gave_no_answer(limit_s: float) -> str:
    """Return that pi was asked and did not answer in time."""
    return f"it gave no answer within {limit_s:g} s"


def pi_wrote_too_much(limit: int) -> str:
    """Return that pi was asked and wrote more than an answer can have."""
    return f"it wrote more than {limit // 1024 // 1024} MiB"


def pi_ended_unasked(exit_code: int) -> str:
    """Return that pi was asked and ended without an answer."""
    how = f"was ended by signal {-exit_code}" if exit_code < 0 else f"exited with code {exit_code}"
    return f"it {how}"


# What can be wrong with a skill, or with a package that may hold some.

SKILL_NEEDS_DESCRIPTION = "has no description and is not used"
SKILL_NAME_TAKEN = "is not used: the skill of this name is in"
SKILL_SEARCH_CUT = "holds more than is searched for skills; some may be missing"
PACKAGE_NOT_HERE = "is not installed; its skills are not known"

# The progress of an installation of pi, and the reasons of InstallFailed.

ANOTHER_WAY = "did not work, taking the published package by itself"
PACKAGE_NAMES_NOTHING = "its package.json does not say what it depends on"
PI_LOADED_NO_EXTENSION = "it started, but did not load an extension"


def pi_is_another(version: str) -> str:
    """Return that pi works, but is of another version than asked for."""
    return f"it started, but is pi {version}"


# What a profile or preset names that is not there.


def tool_mistyped(name: str, meant: str) -> str:
    """Return that pi has no such tool, and which was probably meant."""
    return f'unknown tool "{name}" (did you mean "{meant}"?)'


def tool_of_an_extension(name: str) -> str:
    """Return that only an extension can have such a tool."""
    return f'pi itself has no tool "{name}": an extension must provide it'


def provider_unknown(name: str, meant: str) -> str:
    """Return that pi has no such provider, and which was probably meant."""
    return f'unknown provider "{name}"' + (f' (did you mean "{meant}"?)' if meant else "")


def model_unknown(name: str, meant: str) -> str:
    """Return that pi has no such model, and which was probably meant."""
    return f'unknown model "{name}"' + (f' (did you mean "{meant}"?)' if meant else "")


def no_models_of(provider: str) -> str:
    """Return that nothing is known about the models of a provider."""
    return f'pi lists no models of "{provider}" here, so this one was not checked; is its key set?'


# Sessions that are gone on with: why one cannot be, and what its model reads.

SESSION_IS_EMPTY = "nothing was said in it"
SESSION_IS_DAMAGED = "its file is damaged, or of another version of pi"
CALL_WAS_CUT_SHORT = (
    "The run ended before this tool call did. Its result is unknown; it may have had effects."
)
