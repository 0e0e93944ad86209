"""
Messages are a contract: those that seeds and users rely on are said here once more.

The others are compared, to the character, with the page that is made of them: docs/errors.md.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING

import pytest
from scripts import update_docs
from scripts.errors_page import message_modules, messages_of

from pi_subagents import errors
from pi_subagents.config import messages as config_messages
from pi_subagents.core import messages as core_messages
from pi_subagents.service import messages as service_messages
from pi_subagents.store import messages as store_messages
from pi_subagents.supervisor import messages as supervisor_messages

if TYPE_CHECKING:
    from collections.abc import Callable

CLASSES = {
    name: value
    for name, value in vars(errors).items()
    if inspect.isclass(value) and issubclass(value, Exception)
}
WORDS = {
    message.name: getattr(module, message.name)
    for module in message_modules(update_docs.PACKAGE)
    for message in messages_of(module)
}


def drawn_tree() -> dict[str, str]:
    """Return child -> parent, as the docstring of errors.py draws it."""
    tree: dict[str, str] = {}
    path: list[str] = []
    lines = (errors.__doc__ or "").split("\n")
    drawing = lines[lines.index("SubagentsError") :]
    for line in drawing[: drawing.index("")]:
        name = line.split()[0]
        depth = (len(line) - len(line.lstrip())) // 2
        path[depth:] = [name]
        tree[name] = path[-2] if depth else "Exception"
    return tree


def test_the_tree_in_the_docstring_is_the_tree_in_the_code() -> None:
    assert drawn_tree() == {name: cls.__bases__[0].__name__ for name, cls in CLASSES.items()}


def test_every_exception_says_in_one_line_what_it_is() -> None:
    for name, cls in CLASSES.items():
        assert re.fullmatch(r"[^\n]+\.", (cls.__doc__ or "").strip()), name


EXAMPLES: dict[str, tuple[Exception, str]] = {
    "InvalidRequest": (
        errors.InvalidRequest("tasks[0].name", "must not be empty"),
        "tasks[0].name: must not be empty",
    ),
    "CwdNotAbsolute": (errors.CwdNotAbsolute("src"), "cwd must be an absolute path"),
    "CwdHasParentSegments": (
        errors.CwdHasParentSegments("/a/../b"), "cwd must not contain '..' path segments",
    ),
    "ProfileNotFound": (
        errors.ProfileNotFound("x", ("a", "b")), 'Profile "x" not found. Available: a, b',
    ),
    "ProfileNameInvalid": (
        errors.ProfileNameInvalid("../x"),
        ("'../x' cannot be the name of a profile: 1 to 64 letters, digits, hyphens and "
        "underscores."),
    ),
    "UnknownPreset": (
        errors.UnknownPreset("x", ("a", "b")), 'Unknown preset: "x". Available presets: a, b',
    ),
    "DefinitionNotUsed": (errors.DefinitionNotUsed("Not this one."), "Not this one."),
    "PresetNameInvalid": (
        errors.PresetNameInvalid("../x"),
        ("'../x' cannot be the name of a preset: 1 to 64 letters, digits, hyphens and "
        "underscores."),
    ),
    "UnknownTool": (
        errors.UnknownTool("x", ("a", "b")), 'Unknown tool: "x". Available tools: a, b',
    ),
    "NestedDelegation": (
        errors.NestedDelegation(),
        ("This process is itself a sub-agent (PI_SUBAGENTS_CHILD=1), and sub-agents may not delegate "
        "further. Do the work here, or hand it back to the main agent."),
    ),
    "PlatformNotSupported": (
        errors.PlatformNotSupported("Windows"),
        ("pi-subagents needs the processes of a POSIX system and does not run on Windows. Use it "
        "inside WSL (Windows Subsystem for Linux)."),
    ),
    "PiNotFound": (
        errors.PiNotFound("1.5.0"),
        ("No pi found. Run `subagents setup`: it installs pi 1.5.0, and Node if needed, into your "
        "data directory."),
    ),
    "PiCommandUnusable": (
        errors.PiCommandUnusable("environment", "PI_SUBAGENTS_PI", "pi -x", "is not on PATH"),
        "The pi command from PI_SUBAGENTS_PI cannot be run: 'pi' is not on PATH",
    ),
    "NodeNotFound": (
        errors.NodeNotFound("22.19", "v20.1.0", "no network"),
        ("pi needs Node 22.19 or newer (on PATH: v20.1.0), and fetching one did not work. Install "
        "Node 22.19 or newer, or `pip install 'pi-subagents[node]'`, then run `subagents setup` "
        "again. What went wrong: no network"),
    ),
    "InstallFailed": (
        errors.InstallFailed("fetching pi", 7, ("line 1", "line 2")),
        ("Set-up failed while fetching pi (exit code 7). Nothing half-installed was left behind. Check the "
        "network, the registry or proxy settings and the free disk space, then run `subagents "
        "setup` again.\n  line 1\n  line 2"),
    ),
    "RunsAtWork": (
        errors.RunsAtWork(2),
        ("2 sub-agents are at work. Wait for them, or stop them in `subagents watch`, then try "
        "again. Nothing was removed."),
    ),
    "NoMoreProcesses": (
        errors.NoMoreProcesses("no thread"),
        ("No more processes or threads may be started here (no thread). End some, or raise the "
        "limit: `ulimit -u` shows it."),
    ),
    "PortUnavailable": (
        errors.PortUnavailable(80, "taken"), "Cannot listen on port 80 of loopback: taken",
    ),
    "TmuxNotFound": (
        errors.TmuxNotFound(),
        ("The tmux runner is chosen, but no tmux was found on PATH. Install it (`apt-get install "
        'tmux`), or set `subagents.runner` to "process", or pass `--runner process`: that needs no '
        "tmux."),
    ),
    "TmuxTooOld": (
        errors.TmuxTooOld("tmux 2.8", "3.0"),
        ("The tmux runner needs tmux 3.0 or newer, and this is tmux 2.8. Install a newer one "
        '(`apt-get install tmux`), or set `subagents.runner` to "process", or pass `--runner '
        "process`: that needs no tmux."),
    ),
    "RuntimeDirUnusable": (
        errors.RuntimeDirUnusable(("/a", "/b")),
        ("The tmux runner needs a short path to a directory that is yours alone, and none of these "
        'is: /a, /b. Set XDG_RUNTIME_DIR to such a directory, or set `subagents.runner` to "process", '
        "or pass `--runner process`."),
    ),
    "RunNotFound": (
        errors.RunNotFound("abcd", "/runs"),
        'Run "abcd" not found in /runs. `subagents runs` lists what is there.',
    ),
    "RunAmbiguous": (
        errors.RunAmbiguous("ab", (("abc", "running, 3s ago: count"), ("abd", "")), 3),
        ('"ab" could be any of these runs. Say which, by its id:\n'
        "  abc  running, 3s ago: count\n  abd\n  and 1 more"),
    ),
    "RunUnreadable": (
        errors.RunUnreadable("abcd", "no meta"), 'Run "abcd" cannot be read: no meta',
    ),
    "RunNotActive": (
        errors.RunNotActive("abcd", "completed"),
        'Run "abcd" is not running (status: completed); nothing to stop.',
    ),
    "RunNotListening": (
        errors.RunNotListening("abcd"),
        ('Run "abcd" is still running and cannot be stopped from here. Press Ctrl+C where it was '
        "started, or kill it with everything it started: subagents stop --force abcd"),
    ),
    "RunNotAnswering": (
        errors.RunNotAnswering("abcd"),
        ('Run "abcd" is still running: its supervisor is suspended or hangs. Kill it with '
        "everything it started: subagents stop --force abcd"),
    ),
    "RunNotEnded": (
        errors.RunNotEnded("abcd", 30),
        ('Run "abcd" was asked to stop and has not ended after 30 s. Kill it with everything it '
        "started: subagents stop --force abcd"),
    ),
    "SessionNotFound": (
        errors.SessionNotFound("c4d5"),
        'Session "c4d5" not found. The session may have expired or the ID is incorrect.',
    ),
    "StoreUnwritable": (
        errors.StoreUnwritable("/runs", "read-only"), "Cannot keep runs in /runs: read-only",
    ),
    "OfflineScriptError": (
        errors.OfflineScriptError("turns[0]", "must be an object"),
        "Offline model script: turns[0]: must be an object",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_message_of_every_exception(name: str) -> None:
    error, message = EXAMPLES[name]
    assert (type(error), str(error)) == (CLASSES[name], message)


def ended(**facts: object) -> str:
    whole = {"exit_code": 7, "signal_name": "", "has_spoken": False, "error_tail": "", **facts}
    return core_messages.child_ended_early(**whole)  # type: ignore[arg-type]  # fields by name, of many types


TEXTS: list[tuple[Callable[..., str], str, str]] = [
    (core_messages.timed_out, core_messages.timed_out(300),
     "Timed out after 300s. Consider resuming with a longer timeout."),
    (core_messages.timed_out, core_messages.timed_out(1.5),
     "Timed out after 1.5s. Consider resuming with a longer timeout."),
    (service_messages.cwd_missing, service_messages.cwd_missing("/x"),
     "cwd does not exist or is not a directory: /x"),
    (core_messages.child_stopped_with, core_messages.child_stopped_with("aborted"),
     "Sub-agent stopped without an answer (stop reason: aborted)"),
    (core_messages.child_stopped_with, core_messages.child_stopped_with(""),
     "Sub-agent stopped without an answer (stop reason: none)"),
    (core_messages.child_ended_early, ended(), "Sub-agent exited with code 7 without an answer"),
    (core_messages.child_ended_early, ended(signal_name="SIGKILL", has_spoken=True, error_tail="why"),
     "Sub-agent was killed by SIGKILL before it finished: why"),
    (core_messages.note_exit_after_answer, core_messages.note_exit_after_answer(7, ""),
     "The process ended with exit code 7 after it had answered."),
    (core_messages.note_exit_after_answer, core_messages.note_exit_after_answer(137, "SIGKILL"),
     "The process ended with SIGKILL after it had answered."),
    (supervisor_messages.note_line_skipped, supervisor_messages.note_line_skipped(9, 8),
     "A line of 9 bytes was skipped: the limit is 8 bytes."),
    (store_messages.note_log_cut, store_messages.note_log_cut("stdout.log", 8),
     "stdout.log reached its limit of 8 bytes; what followed was not kept."),
    (store_messages.note_log_unwritable, store_messages.note_log_unwritable("stdout.log", "why"),
     "stdout.log could not be written (why); what followed was not kept."),
    (core_messages.wrong_task_count, core_messages.wrong_task_count(16, 17), "must hold 1 to 16 tasks, not 17"),
    (core_messages.wrong_length, core_messages.wrong_length(200), "must have 1 to 200 characters"),
    (core_messages.wrong_timeout, core_messages.wrong_timeout(1.0, 86_400.0), "must be 1 to 86400 seconds"),
    (core_messages.unknown_field, core_messages.unknown_field("x", ("a", "b")),
     'unknown field "x"; known: a, b'),
    (core_messages.setting_of_wrong_type, core_messages.setting_of_wrong_type("a number", "str"),
     "should be a number, is str; ignored"),
    (core_messages.file_unusable, core_messages.file_unusable("why"), "cannot be used: why"),
    (config_messages.file_not_found, config_messages.file_not_found("a"), "[file not found: a]"),
    (config_messages.file_unreadable, config_messages.file_unreadable("a"), "[could not read file: a]"),
    (config_messages.file_too_large, config_messages.file_too_large("a", 1500 * 1024, 1024 * 1024),
     "[file too large: a (1500KB, limit 1024KB)]"),
    (supervisor_messages.supervisor_failed, supervisor_messages.supervisor_failed("why"),
     "Internal error in the supervisor: why"),
    (core_messages.internal_error, core_messages.internal_error(ValueError("why")),
     "internal error, please report it: ValueError: why"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), [row[1:] for row in TEXTS])
def test_messages_made_of_data(text: str, message: str) -> None:
    assert text == message


def test_the_messages_of_the_seeds_are_contract() -> None:
    assert (
        core_messages.SPAWN_FAILED, core_messages.LOOP_DETECTED, core_messages.INTERRUPTED, core_messages.NO_TEXT_OUTPUT,
    ) == (
        "Failed to spawn sub-agent process",
        "Loop detected: sub-agent is repeating the same tool calls",
        "Session was interrupted (main agent session ended unexpectedly)",
        "(no text output from sub-agent)",
    )  # fmt: skip


def test_every_message_function_states_its_purpose() -> None:
    for name, value in WORDS.items():
        if inspect.isfunction(value):
            assert (value.__doc__ or "").startswith("Return "), name


def test_no_two_constants_say_the_same() -> None:
    texts = [value for name, value in WORDS.items() if name.isupper() and isinstance(value, str)]
    assert len(texts) == len(set(texts))
