"""
The fields of a profile as options, so that a script needs no dialogue.

In: what was given on the command line.  Out: a profile with these fields and otherwise as it was.
A key comes from standard input or a hidden prompt, never from an argument.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pi_subagents.core.value import replace
from pi_subagents.faces.cli import completing
from pi_subagents.faces.cli.given import text_or_stdin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.faces.cli.options import Callback

STDIN = "-"
READS_STDIN = ("system_prompt", "append_system_prompt", "api_key")
MAX_TEXT_BYTES = 256 * 1024

# A field that is given takes these with it, unless they are given too.
ALTERNATIVES: Mapping[str, tuple[str, ...]] = {
    "no_tools": ("tools", "exclude_tools"),
    "tools": ("no_tools", "exclude_tools"),
    "exclude_tools": ("no_tools", "tools"),
    "no_skills": ("suggested_skills", "load_skills"),
    "suggested_skills": ("no_skills",),
    "load_skills": ("no_skills",),
}


def _one_of(choices: str) -> Callable[[click.Context, click.Parameter, str | None], str | None]:
    """Return a callback that accepts what a constant of the profile's module lists, or nothing."""

    def checked(_ctx: click.Context, _parameter: click.Parameter, given: str | None) -> str | None:
        from pi_subagents.core.profile import profile

        allowed = getattr(profile, choices)
        if given and given not in allowed:
            raise click.BadParameter(f"must be one of {', '.join(allowed)}.")
        return given

    return checked


def _budget(_ctx: click.Context, parameter: click.Parameter, given: str | None) -> str | None:
    from pi_subagents.core.definitions.definition import budget_field

    try:
        return budget_field(given) if given else given
    except TypeError as wrong:
        raise click.BadParameter(f"{wrong}.", param=parameter) from None


def _list_option(name: str, text: str) -> Callable[[Callback], Callback]:
    return click.option(name, multiple=True, metavar="LIST", help=text)


_OPTIONS = (
    click.option(
        "--engine",
        shell_complete=completing.engines,
        metavar="NAME",
        help="What kind of sub-agent; unset: as calls and settings say.",
    ),
    click.option("--provider", help="The provider, as pi calls it."),
    click.option("--model", help="The model: ID, PROVIDER/ID or ID:THINKING."),
    click.option(
        "--thinking",
        "thinking_level",
        callback=_one_of("THINKING_LEVELS"),
        metavar="LEVEL",
        help="off, minimal, low, medium, high, xhigh or max.",
    ),
    _list_option("--tools", "Allow only these tools, separated by commas."),
    _list_option("--exclude-tools", "Allow all tools but these."),
    click.option("--no-tools/--all-tools", default=None, help="Allow no tools, or all."),
    click.option(
        "--mcp",
        callback=_one_of("MCP_CHOICES"),
        metavar="WHICH",
        help="none or all of your MCP servers; unset: all, if a tool in --tools needs them.",
    ),
    _list_option("--extensions", "Load these extensions."),
    click.option(
        "--no-extensions/--found-extensions",
        default=None,
        help="Load no other extensions, or also those that pi finds.",
    ),
    _list_option("--suggested-skills", "Offer these skills to the model."),
    _list_option("--load-skills", "Put these skills into the system prompt."),
    click.option("--no-skills/--found-skills", default=None, help="No skills, or those pi finds."),
    click.option(
        "--no-context-files/--context-files",
        default=None,
        help="Leave out AGENTS.md and CLAUDE.md, or not.",
    ),
    click.option(
        "--isolation",
        callback=_one_of("ISOLATIONS"),
        metavar="HOW",
        help="fresh: a new process for every task; reuse: even if extensions are loaded.",
    ),
    click.option(
        "--budget",
        callback=_budget,
        metavar="AMOUNTS",
        help="What a run may use: 200k tokens, $0.50, 20 turns, or some of these.",
    ),
    click.option(
        "--workspace",
        callback=_one_of("WORKSPACES"),
        metavar="WHERE",
        help="shared, worktree or auto: where its tasks work; unset: as calls and settings say.",
    ),
    click.option(
        "--confine/--no-confine",
        default=None,
        help="Let it write in its workspace only, or wherever you may.",
    ),
    click.option("--check", metavar="COMMAND", help="Check its work with this, after the answer."),
    click.option(
        "--output-schema",
        metavar="JSON|@FILE",
        help="Answers have to fit this JSON Schema.",
    ),
    click.option(
        "--append-system-prompt",
        metavar="TEXT|@FILE|-",
        help="Add this to pi's system prompt; - reads standard input.",
    ),
    click.option(
        "--system-prompt",
        metavar="TEXT|@FILE|-",
        help="Use this in place of pi's system prompt.",
    ),
    click.option(
        "--extra-args",
        multiple=True,
        metavar="ITEM",
        help="A further argument of pi, as --extra-args=--verbose; once for each.",
    ),
    click.option(
        "--api-key-stdin",
        is_flag=True,
        help="Read the API key from standard input, hidden on a terminal; an empty one removes it.",
    ),
)


def field_options(command: Callback) -> Callback:
    """Add an option for every field; an empty value leaves the field out."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def is_any_given(given: Mapping[str, Any]) -> bool:
    """Return whether some field was given as an option."""
    return bool(_given(given))


def with_fields(profile: Profile, given: Mapping[str, Any]) -> Profile:
    """Return the profile with the fields that were given."""
    fields = _given(given)
    if [fields.get(name) for name in READS_STDIN].count(STDIN) > 1:
        raise click.UsageError("Only one option can read standard input.")
    values: dict[str, Any] = {name: _value(name, text) for name, text in fields.items()}
    return replace(profile, **_taken_along(profile, values), **values)


def _given(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given, by the names that a profile's fields have."""
    fields = {name: value for name, value in given.items() if value not in (None, ())}
    if fields.pop("api_key_stdin"):
        fields["api_key"] = STDIN
    return fields


def _taken_along(profile: Profile, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that those given make void."""
    unset = type(profile)("")
    void = {
        other
        for name, value in values.items()
        if value or name == "no_tools"  # --all-tools lifts every restriction
        for other in ALTERNATIVES.get(name, ())
    }
    return {name: getattr(unset, name) for name in void - values.keys()}


def _value(name: str, given: Any) -> object:
    from pi_subagents.core.definitions.definition import arguments_field, items_field

    if name == "api_key":
        return _key()
    if name in ("system_prompt", "append_system_prompt"):
        return _text(given)
    if name == "output_schema":
        return _schema(_text(given))
    if name == "extra_args":
        return arguments_field(list(given))  # a comma belongs to its item
    if isinstance(given, tuple):
        items = items_field(",".join(given))
        return items or None if name in ("tools", "exclude_tools") else items
    return given


def _text(given: str) -> str:
    """Return the text, or that of a file or of standard input, without the last line's end."""
    if not given.startswith("@"):
        return text_or_stdin(given).removesuffix("\n")
    from pi_subagents.service.definitions.files import field_text

    path = Path(given[1:])
    try:
        return field_text(path, MAX_TEXT_BYTES).removesuffix("\n")
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise click.UsageError(f"{path} cannot be read: {reason}") from error


def _schema(text: str) -> str:
    from pi_subagents.core.definitions.definition import schema_field

    try:
        return schema_field(text)
    except TypeError as wrong:
        raise click.UsageError(f"--output-schema {wrong}") from wrong


def _key() -> str:
    if sys.stdin.isatty():
        from getpass import getpass

        return getpass("API key: ").strip()
    return sys.stdin.readline(MAX_TEXT_BYTES).strip()
