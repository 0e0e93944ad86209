"""
Put together a report of a call or a session, without secrets, and keep it as a file.

In: what somebody calls the work.  Out: a WorkReport.  Every text is redacted as it was read, before
anything is cut or put together: by the caller's variables and the keys of profiles, and by form.
A file is written whole or not at all, and only over a report.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from pi_subagents._version import __version__
from pi_subagents.config.profile_files import load_profiles
from pi_subagents.core.redaction import Redactor
from pi_subagents.core.run import events as ev
from pi_subagents.core.value import replace
from pi_subagents.errors import (
    ChangesUnavailable,
    ReportNotWritten,
    RunNotFound,
    RunUnreadable,
)
from pi_subagents.service.finding import find_run, newest_known
from pi_subagents.service.run_contents import task_of
from pi_subagents.service.runs import Runs
from pi_subagents.service.workspaces.taking import see_changes
from pi_subagents.store.recovery import liveness_of
from pi_subagents.store.run_records import directory_of, load_record
from pi_subagents.store.run_store import RUN_ID_BEGINNING
from pi_subagents.store.tails import journal_entries
from pi_subagents.system.home import home_dir
from pi_subagents.system.safe_io import replace_file
from pi_subagents.view.report.report import KIND, MAX_PATCH, ReportedRun, WorkReport
from pi_subagents.view.timeline import bar_of, timelines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pi_subagents.core.run.record import RunRecord
    from pi_subagents.store.run_dir import RunDir

_SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASS(?!PORT)|CREDENTIAL|AUTH(?!OR)|COOKIE|WEBHOOK|_DSN$|_PAT$|DATABASE_URL",
    re.IGNORECASE,
)
LEAST_LINE = 16  # characters of a line of a secret that has several
LOOK_BYTES = 4096


def make_report(
    wanted: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> WorkReport:
    """Return the report of a call or a session; RunNotFound, RunAmbiguous where there is none."""
    cwd, env = cwd or Path.cwd(), os.environ if env is None else env
    runs = Runs(cwd, env)
    found, problems = _loaded(_meant(runs, wanted))
    if not found:
        raise RunNotFound(wanted, str(runs.store.runs_dir))
    now_ms, redactor = time.time_ns() // 1_000_000, redactor_for(cwd, env)
    reported = tuple(_reported(runs, record, redactor, now_ms) for record in found)
    return WorkReport(
        reported,
        tuple(timelines(run.bar for run in reported)),
        now_ms,
        f"pi-subagents {__version__}",
        tuple(map(redactor.text, problems)),
    )


def redactor_for(cwd: Path, env: Mapping[str, str]) -> Redactor:
    """Return what takes out the secrets of this caller, and the name of his home."""
    secrets = [value for name, value in env.items() if _SECRET_NAME.search(name)]
    with suppress(OSError):
        profiles = load_profiles(cwd, env)
        loaded = (*profiles.by_name.values(), *profiles.overridden)
        secrets += [each.profile.api_key for each in loaded]
    home = str(home_dir(env))
    places = {form: "~" for form in (home, os.path.realpath(home)) if form != "/"}
    return Redactor((form for each in secrets for form in _forms(each)), places)


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret in the forms in which it is written down; a path is none."""
    secret = secret.strip()
    if os.path.isabs(secret) or secret.isdecimal():  # noqa: PTH117 - a text that may be anything
        return
    yield from (secret, quote(secret, safe=""), json.dumps(secret)[1:-1])
    if "\n" in secret:
        yield from (line for line in secret.splitlines() if len(line) >= LEAST_LINE)


def _meant(runs: Runs, wanted: str) -> list[RunDir]:
    """Return the runs of a call or a session, oldest first; a run stands for its call."""
    try:
        one = find_run(runs, wanted)
    except RunNotFound:
        if not RUN_ID_BEGINNING.fullmatch(wanted):
            raise
        known = list(newest_known(runs))
        calls = {each.meta.call_id for each in known if each.meta.call_id.startswith(wanted)}
        if len(calls) != 1:
            raise
        return _of_call(known, calls.pop())
    if one.session_id.startswith(wanted) and not one.run_id.startswith(wanted):
        return runs.of_session(one.session_id)
    place = Path(one.meta.project or one.meta.cwd)
    beside = Runs(place, runs.env) if place.is_dir() else runs
    return _of_call(newest_known(beside), one.meta.call_id) or [directory_of(one)]


def _of_call(known: Iterable[RunRecord], call_id: str) -> list[RunDir]:
    """Return the runs of a call; none where that is not known."""
    found = [each for each in known if call_id and each.meta.call_id == call_id]
    found.sort(key=lambda each: (each.meta.created_at_ms, each.run_id))
    return [directory_of(each) for each in found]


def _loaded(run_dirs: list[RunDir]) -> tuple[list[RunRecord], list[str]]:
    found, problems = [], []
    for run_dir in run_dirs:
        try:
            found.append(load_record(run_dir, liveness_of(run_dir)))
        except RunUnreadable as error:
            problems.append(str(error))
    return found, problems


def _reported(runs: Runs, record: RunRecord, redactor: Redactor, now_ms: int) -> ReportedRun:
    task, patch = redactor.text(task_of(record)), redactor.text(_patch(runs, record))
    entries = (
        replace(entry, event=redactor.anything(_without_words(entry.event)))
        for entry in journal_entries(directory_of(record))
    )
    redacted: RunRecord = redactor.anything(record)
    return ReportedRun(
        redacted,
        task,
        bar_of(redacted, entries, now_ms),
        patch[:MAX_PATCH],
        max(len(patch) - MAX_PATCH, 0),
    )


def _without_words(event: ev.Event) -> ev.Event:
    """Return what a timeline needs of an event: what was said, and what tools put out, is long."""
    match event:
        case ev.AssistantMessage():
            return replace(event, text="")
        case ev.ToolFinished(failed=False):
            return replace(event, text="")
        case _:
            return event


def _patch(runs: Runs, record: RunRecord) -> str:
    """Return what a run changed in a worktree of its own, as far as that is still there."""
    if not (record.result and record.result.changes):
        return ""
    with suppress(ChangesUnavailable, RunNotFound):
        return see_changes(runs, record.run_id).patch.decode("utf-8", "replace")
    return ""


def keep_report(path: Path, text: str) -> None:
    """Write a report to a file, which may be there if it is one; ReportNotWritten otherwise."""
    try:
        if os.path.lexists(path) and not _is_report(path):
            raise ReportNotWritten(str(path), "it exists and is no report; choose another name")
        replace_file(path, text.encode("utf-8", "replace"))
    except OSError as error:
        raise ReportNotWritten(str(path), error.strerror or str(error)) from error


def _is_report(path: Path) -> bool:
    """Return whether a file is one of ours."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return KIND.encode() in file.read(LOOK_BYTES)
