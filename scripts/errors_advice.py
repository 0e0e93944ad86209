# ruff: noqa: INP001 - scripts are files, not a package
"""
What to do about a message, for docs/errors.md: where neither its words nor its docstring say it.

In: nothing.  Out: advice by the name of an exception or message; a test proves that each exists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

ADVICE: Mapping[str, str] = {
    # Exceptions
    "InvalidRequest": (
        "`{where}` is the place in the parameters, such as `tasks[0].name`; `{problem}` is one of "
        "the texts below."
    ),
    "PatternRefused": (
        "Write it as Python's `re` takes it; one that repeats what is repeated already, such as "
        "`(a+)+`, may take forever. Without `regex` the text is looked for as it is."
    ),
    "CwdNotAbsolute": (
        "Give the whole path, or leave `cwd` out: a task then works where the call was made."
    ),
    "CwdHasParentSegments": "Give the path without `..`, as `realpath` prints it.",
    "ResumeNotFound": (
        "`subagents sessions` lists the sessions of this project. Runs are removed after a while "
        "([settings](settings.md)): then give the task anew, without `resume`."
    ),
    "ResumeStillRunning": (
        "Wait with `get_subagent_output` and its `waitSeconds`, or stop the run with `subagents "
        "stop`."
    ),
    "ResumedTwice": "Put what both should do into one prompt.",
    "ProfileRefused": (
        "The message names the profile and the fields: remove one of them from its file, then make "
        "the call again."
    ),
    "ExtraArgRefused": (
        "Correct `extraArgs` in the profile's file. The reasons are listed under "
        "[profiles, presets and skills](#profiles-presets-and-skills)."
    ),
    "TaskFileUnusable": (
        "The file holds what `delegate_to_subagents` takes, or a list of tasks, as JSON or YAML "
        "([tools.md](tools.md))."
    ),
    "UnknownTool": "`subagents tools` lists them with their parameters.",
    "NestedDelegation": "If this is not a sub-agent at all, the variable was inherited: unset it.",
    "PiNotFound": "`subagents doctor` shows where pi was looked for.",
    "PiCommandUnusable": (
        "Correct the variable or setting that is named, or remove it: then the pi on PATH or the "
        "installed one is used. The reasons are listed below."
    ),
    "InstallFailed": (
        "The last lines of the installer follow the message. `subagents doctor` tells what else "
        "is in the way."
    ),
    "PortUnavailable": "Choose another with `--port`, or 0 for any that is free.",
    "RunNotFound": (
        "The first characters of an id are enough, and so are the name of a task in this project "
        "and `last`. A run may have been removed since."
    ),
    "RunAmbiguous": "Give one of the ids that are listed.",
    "RunUnreadable": "Its directory was damaged or only half removed. Other runs are not affected.",
    "RunNotActive": "`subagents show` tells how it ended.",
    "RunNotListening": (
        "The file system of the data directory has no sockets, or `control` was removed from the "
        "run's desk. A background run ends by itself, at the latest with its time-out."
    ),
    "RunNotAnswering": (
        "Its supervisor was halted (SIGSTOP, a debugger), or the machine is too busy for an answer "
        "within five seconds. What it was told it does when it goes on."
    ),
    "RunNotEnded": "Something of it cannot be ended: a process that waits for a disk, for example.",
    "StoreUnwritable": "Check the free disk space and the permissions of that directory.",
    "SessionNotFound": "`subagents sessions` lists the sessions of this project.",
    "ProfileExists": (
        "Change it with `subagents profile edit`, delete it first, or give `--scope project` to "
        "put one of this project in front of a global one."
    ),
    "ProfileNotSaved": "What was there before is unchanged.",
    "ProfileNotRemoved": "Its file is unchanged.",
    "UnknownSkills": (
        "Correct the name in the profile, or install the skill where pi looks for it. Other tasks "
        "of the call go on."
    ),
    "SkillUnreadable": (
        "Check the file's permissions and its front matter. Other tasks of the call go on."
    ),
    "FrontmatterError": "`{line}` is a line of that file; `{problem}` is one of the texts below.",
    "OfflineScriptError": (
        "`{where}` is the place in the script; [offline-model.md](offline-model.md) has the format."
    ),
    # Profiles
    "TOOLS_EMPTY": "This is allowed; leave the field out to give the sub-agent its usual tools.",
    "NOT_READ_BACK": "Nothing was written.",
    "NO_PRESETS": "What `subagents preset list` says; [presets](presets.md) are optional.",
    "NO_PROFILES": "What `list_subagent_profiles` says; profiles are optional.",
    # Outcomes
    "SPAWN_FAILED": (
        "pi could not be started: it is missing, not executable, or the task's directory "
        "vanished. A note of the result has the system's reason; `subagents doctor` checks the "
        "rest."
    ),
    "LOOP_DETECTED": (
        "The child made the same call, with the same arguments, `looping_tool_count` times in a "
        "row ([settings](settings.md)) and was ended. Look at what it did with "
        "`get_subagent_session` and give a clearer task; if the repetition is meant, raise the "
        "number."
    ),
    "INTERRUPTED": (
        "The caller, or the supervisor, went away before the answer. What was done until then is "
        "kept: resume the session, or give the task anew."
    ),
    "NO_TEXT_OUTPUT": (
        "The sub-agent said nothing in words. `get_subagent_session` shows what it did."
    ),
    "STOPPED_ON_REQUEST": "Somebody asked for the stop: Ctrl+C, `subagents stop`, or the host.",
    "CHILD_REPORTED_ERROR": (
        "`subagents show` has the rest of what pi said, also on standard error."
    ),
    "timed_out": (
        "The session can be resumed with a larger `timeout`; nothing that was done is lost."
    ),
    "unknown_profile": (
        "Correct the name, or look at the notes of the result: a profile whose file is broken is "
        "not available, and they say why. Other tasks of the call go on."
    ),
    "cwd_missing": "Other tasks of the call go on.",
    "child_stopped_with": "`subagents show` tells what happened before.",
    "child_ended_early": (
        "What follows the colon is the end of the child's standard error; all of it is in "
        "`stderr.log` of the run directory."
    ),
    "supervisor_failed": "Please report it, with `subagents doctor --report`.",
    # Notes
    "NOTE_NO_SUPERVISOR": (
        "It was killed, or the machine went down; the result was written later by whoever found "
        "the run."
    ),
    "NOTE_HAD_ANSWERED": "The answer is in the result and can be used.",
    "NOTE_OUTPUT_CUT": "Free some space and resume the session, or give the task anew.",
    "NOTE_PROCESSES_LEFT": (
        "Look for them with `ps`; their environment holds the run's id as `PI_SUBAGENTS_RUN`."
    ),
    "NOTE_FORCED": "The answer counts; something the sub-agent started kept it from exiting.",
    "NOTE_LENGTH": "Resume the session and ask for the rest, or for less.",
    "NOTE_EMPTY_ANSWER": "Look at what it did, then resume the session and ask for its answer.",
    "note_exit_after_answer": "The answer counts.",
    "note_line_skipped": "The rest of the output was read as usual.",
    "note_log_cut": (
        "The result is not affected. `max_run_megabytes` sets the limit ([settings](settings.md))."
    ),
    "note_log_unwritable": "The result is not affected. Free some space, if that is the reason.",
    "note_untrusted": "The task went on without them.",
    # Placeholders
    "file_not_found": (
        "The path is relative to the task's `cwd`. The task goes on without the file."
    ),
    "file_unreadable": (
        "It may be a directory, a device, not text, or not permitted. The task goes on without it."
    ),
    "file_too_large": (
        "Let the sub-agent read the file itself, or bring along an extract. The task goes on "
        "without it."
    ),
    # Everything else
    "internal_error": "The command ends with exit code 3.",
    "index_unusable": (
        "Check the free space and permissions of the data directory; `subagents doctor --reindex` "
        "enters the runs afterwards."
    ),
}
