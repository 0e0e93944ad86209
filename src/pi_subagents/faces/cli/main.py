"""
The command `subagents`: find the verb, load only that, turn errors into exit codes.

Exit codes: 0 all completed, 1 some task failed, 2 refused, 3 internal error, 130 interrupted.
"""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from io import StringIO, TextIOWrapper
from typing import NoReturn

import click

from pi_subagents._version import __version__
from pi_subagents.core.plain_text import printable
from pi_subagents.faces.cli.console import Console, Verbosity
from pi_subagents.faces.cli.suggesting import SuggestingGroup

EXIT_FAILED = 1
EXIT_REFUSED = 2
EXIT_INTERNAL = 3
EXIT_INTERRUPTED = 130
OTHERS = 0o077
# Modules are most of what a verb makes, and none of that is ever garbage.
GARBAGE_OBJECTS = 50_000
# What Python does by itself with characters that an encoding lacks: it fails.
FAILING = ("strict", "surrogateescape")
TELEMETRY = "pi_subagents.service.telemetry.switch"

# The verbs, each with its module and its line in --help.  Only the module of the verb that is used
# is imported; the command in it has the verb's name.
VERBS = {
    "demo": ("work.demo", "See it work: three tasks in parallel, no account needed."),
    "run": ("work.run", "Run prompts in parallel, each in its own sub-agent."),
    "resume": ("work.resume", "Go on with a run, from all it knows."),
    "runs": ("look.runs", "List the runs of this project."),
    "show": ("look.runs", "Show one run: answer, transcript, files."),
    "report": ("look.report", "Write what sub-agents did as one file to pass on."),
    "usage": ("look.usage", "Show what was spent, by day, project, profile or model."),
    "watch": ("look.watch", "Watch all runs live, in the terminal or a browser."),
    "sessions": ("look.sessions", "List the sessions of this project."),
    "output": ("look.sessions", "Print the final text of a session."),
    "session": ("look.sessions", "Print the whole transcript of a session."),
    "profile": ("definitions.profile", "Create, edit, list, show, check and delete profiles."),
    "preset": ("definitions.preset", "Add, list, show and check presets."),
    "models": ("work.models", "List the models that sub-agents can use here."),
    "engines": ("machine.engines", "List the kinds of sub-agents and what each can do."),
    "stop": ("look.runs", "Stop one run and its whole process tree."),
    "steer": ("look.sessions", "Send a message to a running sub-agent."),
    "answer": ("look.answer", "Answer what a sub-agent asks, or see what it asks."),
    "diff": ("work.changes", "Show what a run changed in its worktree."),
    "apply": ("work.changes", "Take the changes of runs into the checkout."),
    "discard": ("work.changes", "Throw away what a run changed in its worktree."),
    "background": ("work.background", "Start, list, wait for and stop background runs."),
    "tools": ("work.tools", "List the tools that hosts and `call` can use."),
    "call": ("work.tools", "Run a tool by name with JSON parameters."),
    "worker": ("cluster.worker", "Take runs of a cluster on this machine."),
    "mcp": ("machine.serve", "Serve the tools to an MCP host (Claude Code, Codex, ...)."),
    "bridge": ("machine.serve", "Serve pi's extension, which starts this itself."),
    "cluster": ("cluster.cluster", "Make and look after a cluster of workers."),
    "prune": ("look.prune", "Show old runs, or remove them with --yes."),
    "doctor": ("machine.doctor", "Check whether sub-agents can run here."),
    "setup": ("machine.setup", "Install the pinned pi that sub-agents run."),
    "pi": ("machine.pi", "Start the pi that sub-agents use: to log in, to trust a project."),
    "install": ("machine.install", "Add our MCP server to a host's configuration."),
    "uninstall": ("machine.install", "Remove our MCP server from a host's configuration."),
    "offline-model": ("machine.serve", "Serve the offline model on its own."),
    "path": ("machine.install_pi", "Print the path of the extension for pi, to try it."),
    "completion": ("machine.completion", "Print a completion script for your shell."),
}

HELP = """
Hand tasks to parallel sub-agents. Each one is a real pi process with its own context window,
supervised, recorded and stoppable.

\b
First steps:
  subagents setup                           install the pinned pi (once)
  subagents demo                            three tasks in parallel, no account needed
  subagents pi                              the pi they use; log in with /login
  subagents run "Explain src/" "List bugs"  two tasks with your own model
  subagents run --offline "Count the lines in README.md"

\b
Afterwards:
  subagents runs                            what ran, how it ended, how many tokens
  subagents show RUN                        one run: answer, transcript, files
  subagents stop RUN                        stop one from another terminal
  subagents resume RUN "Now the tests"      go on with a run that ended, from all it knows
  subagents steer RUN "Use the other file"  send one a message while it works
  subagents answer RUN "Yes"                answer what one asks
  subagents doctor                          what works here, and how to fix the rest
  subagents install HOST                    let Claude Code, Codex, Cursor ... delegate

Which model they use: that of a profile or --model, else the one set in pi (subagents pi).
"""


class LazyGroup(SuggestingGroup):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order a newcomer meets them."""
        del ctx
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and return the command."""
        del ctx
        if cmd_name not in VERBS:
            return None
        module, short_help = VERBS[cmd_name]
        verbs = import_module(f"{__package__}.{module}")
        command = getattr(verbs, cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        command.short_help = short_help
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of verbs, without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, short_help) for name, (_, short_help) in VERBS.items()])


@click.group(cls=LazyGroup, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-q", "--quiet", is_flag=True, help="Print answers and errors only.")
@click.option("-v", "--verbose", is_flag=True, help="Show more progress: tool results, ids, paths.")
@click.version_option(__version__, prog_name="subagents")
@click.pass_context
def group(ctx: click.Context, *, quiet: bool, verbose: bool) -> None:
    """Keep what every verb needs."""
    if quiet and verbose:
        raise click.UsageError("--quiet and --verbose cannot be used together.")
    level = Verbosity.QUIET if quiet else Verbosity.VERBOSE if verbose else Verbosity.NORMAL
    ctx.obj = Console(level)


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit; every error is one line on standard error, never a traceback."""
    from pi_subagents.core.messages import internal_error
    from pi_subagents.errors import SubagentsError

    gc.set_threshold(GARBAGE_OBJECTS)
    _open_what_is_closed()
    # A umask that takes rights from the owner (277) would leave directories nobody can write to.
    os.umask(os.umask(OTHERS) & OTHERS)
    _say_what_can_be_said()
    try:
        _refuse_windows()
        code = group.main(args=arguments, prog_name="subagents", standalone_mode=False)
        _leave(code if isinstance(code, int) else 0, at_once=arguments is None)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(EXIT_REFUSED)
    except click.ClickException as error:
        shown = StringIO()
        error.show(shown)
        _report(shown.getvalue().rstrip("\n"))
        sys.exit(EXIT_REFUSED)
    except (click.Abort, KeyboardInterrupt):
        _report("Interrupted.")
        sys.exit(EXIT_INTERRUPTED)
    except SubagentsError as error:
        _report(f"Error: {error}")
        sys.exit(EXIT_REFUSED)
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nothing is left to say to it.
        sys.stdout = None
        sys.exit(EXIT_FAILED)
    except Exception as error:  # noqa: BLE001 - the outer edge of this face
        refused = _refused_by_machine(error)
        _report(f"Error: {refused or internal_error(error)}")
        sys.exit(EXIT_REFUSED if refused else EXIT_INTERNAL)


def _open_what_is_closed() -> None:
    """Let what a shell closed (`>&-`) lead nowhere, before a file of ours takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - for as long as we live


def _refused_by_machine(error: Exception) -> str:
    """Return what every verb needs and lacks here, if that is why it failed."""
    from pi_subagents import errors
    from pi_subagents.faces.cli import messages

    if isinstance(error, OSError) and _was_answering(error):
        return str(errors.AnswerNotWritten(error.strerror or str(error)))
    if isinstance(error, FileNotFoundError):
        try:
            os.getcwd()  # noqa: PTH109 - nothing else is needed of it
        except OSError:
            return messages.CWD_GONE
    return ""


def _was_answering(error: OSError) -> bool:
    """Return whether it came from standard output, to which nothing but `click.echo` writes."""
    at = error.__traceback__
    while at is not None and at.tb_frame.f_code is not click.echo.__code__:
        at = at.tb_next
    return at is not None


def _say_what_can_be_said() -> None:
    """Let no answer fail on a character that standard output cannot encode."""
    out = sys.stdout  # standard error never fails
    if isinstance(out, TextIOWrapper) and out.encoding != "utf-8" and out.errors in FAILING:
        out.reconfigure(errors="replace")


def _leave(code: int, *, at_once: bool) -> NoReturn:
    """Exit; a process of our own without Python's tidying, which takes longer than many a verb."""
    if at_once:
        sys.stdout.flush()
        with suppress(OSError):
            sys.stderr.flush()
        if telemetry := sys.modules.get(TELEMETRY):  # only calls load it
            telemetry.flush_telemetry()
        os._exit(code)
    sys.exit(code)


def _report(text: str) -> None:
    """Print how it ended, if anybody can read it; it may quote a name that somebody else chose."""
    Console().beside(printable(text))


def _refuse_windows() -> None:
    """Refuse before any verb imports what only POSIX has."""
    if sys.platform == "win32":
        from pi_subagents.errors import PlatformNotSupported

        raise PlatformNotSupported("Windows")
