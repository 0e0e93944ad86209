"""Old runs go by hand or once a day, never one that is not over, and never somebody else's."""

import fcntl
import os
import re
import shutil
import time
from pathlib import Path

import pytest
from tests.e2e.command import subagents
from tests.e2e.conftest import Project

from pi_subagents import Task, delegate
from pi_subagents.core.offline.script import parse_script
from pi_subagents.core.run.result import RunResult
from pi_subagents.core.run.retention import APART_S, Watch
from pi_subagents.errors import RunNotFound
from pi_subagents.service.runs import Runs, look_now
from pi_subagents.store.retention import RetentionLooks, kept_run
from pi_subagents.store.run_dir import RunDir
from pi_subagents.store.run_records import directory_of
from pi_subagents.system.home import data_dir

A, B, C, D = (letter * 32 for letter in "abcd")
DAY_S = 86_400


def runs_of(project: Project) -> Runs:
    return Runs(project.path, project.env)


def make(project: Project, run_id: str, *, days_ago: float | None, known: bool = True) -> RunDir:
    """Make a run that ended so long ago, or has not ended; known to the index, or not."""
    runs = runs_of(project)
    runs.store.prepare()
    run = runs.store.run_dir(run_id)
    meta = {"runId": run_id, "sessionId": "5" * 16, "createdAt": 7, "name": run_id[:1], "task": "x"}
    os.close(run.begin(meta, b"x"))
    if days_ago is not None:
        run.write_result(
            RunResult(run_id=run_id, session_id="5" * 16, name="n", status="completed")
        )
        ended_s = time.time() - days_ago * DAY_S
        os.utime(run.result, (ended_s, ended_s))
    if known:
        runs.index.add([(run_id, "5" * 16, str(run.path), 7, False)])
    return run


def listing(project: Project) -> list[tuple[str, int]]:
    """Return everything in the project, with times: whatever changes shows."""
    return sorted(
        (str(path.relative_to(project.path)), path.lstat().st_mtime_ns)
        for path in project.path.rglob("*")
    )


def names(project: Project) -> set[str]:
    return {path.name for path in runs_of(project).store.runs_dir.iterdir()} - {
        ".gitignore",
        ".planned",
    }


def described(run: RunDir, reason: str) -> dict[str, object]:
    run_id, ended_ms, size = kept_run(run)
    return {"runId": run_id, "endedAt": ended_ms, "bytes": size, "reason": reason}


def test_a_dry_run_says_what_would_go_and_changes_nothing(project: Project) -> None:
    make(project, A, days_ago=45)
    make(project, B, days_ago=1)
    before = listing(project)
    ran = subagents(project, "prune")
    assert (ran.code, ran.err) == (0, "")
    assert re.fullmatch(
        r"RUN           ENDED       SIZE  WHY\n"
        r"aaaaaaaa    45d ago     \d\d KiB  too old\n"
        r"1 run \(\d\d KiB\) can be removed\.\n"
        r"Nothing was removed\. Add --yes to remove\.\n",
        ran.out,
    )
    assert listing(project) == before


def test_with_yes_they_go_and_the_index_forgets_them(project: Project) -> None:
    old, young = make(project, A, days_ago=45), make(project, B, days_ago=1)
    ran = subagents(project, "prune", "--yes")
    assert ran.code == 0
    assert re.fullmatch(r"Removed 1 run \(\d\d KiB\)\.", ran.out.splitlines()[-1])
    assert names(project) == {young.run_id}
    assert [each.run_id for each in runs_of(project).index.all()] == [young.run_id]
    with pytest.raises(RunNotFound):
        runs_of(project).find(old.run_id)
    assert subagents(project, "prune", "--yes").out == "Nothing to remove.\n"


def test_json_says_what_was_chosen_why_and_what_is_gone(project: Project) -> None:
    oldest, old = make(project, A, days_ago=45), make(project, B, days_ago=2)
    young = make(project, C, days_ago=1)
    room = str((kept_run(young)[2] + 1) / 1024 / 1024)
    chosen = [described(oldest, "age"), described(old, "space")]
    shown = subagents(project, "prune", "--json", "--megabytes", room)
    assert shown.json == {
        "schemaVersion": 1,
        "dryRun": True,
        "runs": chosen,
        "removed": [],
        "interruptedRemovals": 0,
    }
    done = subagents(project, "prune", "--json", "--megabytes", room, "--yes")
    assert done.json == {
        "schemaVersion": 1,
        "dryRun": False,
        "runs": chosen,
        "removed": [A, B],
        "interruptedRemovals": 0,
    }
    assert names(project) == {C}


def test_a_run_that_is_not_over_stays(project: Project) -> None:
    make(project, A, days_ago=None)
    running = make(project, B, days_ago=45)
    with running.desk.lock.open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = subagents(project, "prune", "--yes", "--days", "0.001", "--megabytes", "0.000001")
    assert (ran.code, ran.out) == (0, "Nothing to remove.\n")
    assert names(project) == {A, B}


def test_a_run_that_came_from_elsewhere_stays(project: Project) -> None:
    make(project, A, days_ago=45, known=False)
    before = listing(project)
    assert subagents(project, "prune", "--yes").out == "Nothing to remove.\n"
    assert listing(project) == before


def test_a_copy_of_a_run_is_not_the_run(project: Project) -> None:
    original = make(project, A, days_ago=45)
    copy = Project(project.path.parent / "copy", project.env)
    shutil.copytree(project.path, copy.path)
    assert subagents(copy, "prune", "--yes").out == "Nothing to remove.\n"
    assert names(copy) == {A}
    assert directory_of(runs_of(project).find(A)) == original


def test_a_project_seen_through_a_link_has_the_same_runs(project: Project) -> None:
    make(project, A, days_ago=45)
    link = project.path.parent / "link"
    link.symlink_to(project.path)
    removals = Runs(link, project.env).choose_removals()
    assert [removal.run_id for removal in removals] == [A]


def test_where_the_index_cannot_be_used_our_seal_still_tells_our_runs(project: Project) -> None:
    runs = runs_of(project)
    make(project, A, days_ago=45, known=False)
    sealed = make(project, B, days_ago=45, known=False)
    meta = {**sealed.read_meta(), "seal": runs.index.seal(sealed)}
    sealed.write_meta(meta)
    index = Path(project.env["XDG_DATA_HOME"]) / "pi-subagents" / "index.sqlite3"
    index.unlink(missing_ok=True)
    index.mkdir()
    assert [removal.run_id for removal in runs.choose_removals()] == [B]


def test_a_link_in_the_place_of_a_run_is_left_alone(project: Project, tmp_path: Path) -> None:
    run = make(project, A, days_ago=45)
    run.path.rename(tmp_path / "elsewhere")
    run.path.symlink_to(tmp_path / "elsewhere")
    assert subagents(project, "prune", "--yes").out == "Nothing to remove.\n"
    assert run.path.is_symlink()
    assert (tmp_path / "elsewhere" / "result.json").is_file()


def test_what_an_interrupted_removal_left_is_told_and_finished(project: Project) -> None:
    run = make(project, A, days_ago=1)
    remnant = run.path.rename(run.path.with_name(f".removing-{A}"))
    told = subagents(project, "prune")
    assert told.out == (
        "1 interrupted removal was not finished.\nNothing was removed. Add --yes to remove.\n"
    )
    assert remnant.is_dir()
    done = subagents(project, "prune", "--yes", "--json")
    assert (done.json["interruptedRemovals"], names(project)) == (1, set())


@pytest.mark.parametrize("limit", ["nan", "inf", "-1", "many"])
@pytest.mark.parametrize("option", ["--days", "--megabytes"])
def test_a_limit_that_is_no_number_is_refused(project: Project, option: str, limit: str) -> None:
    make(project, A, days_ago=45)
    ran = subagents(project, "prune", "--yes", option, limit)
    assert (ran.code, names(project)) == (2, {A})


def test_zero_does_not_limit(project: Project) -> None:
    make(project, A, days_ago=450)
    ran = subagents(project, "prune", "--yes", "--days", "0", "--megabytes", "0")
    assert (ran.out, names(project)) == ("Nothing to remove.\n", {A})


def test_the_global_settings_give_the_limits(project: Project) -> None:
    make(project, A, days_ago=3)
    (project.agent_dir / "settings.json").write_text('{"subagents": {"retention_days": 2}}')
    assert [removal.reason for removal in runs_of(project).choose_removals()] == ["age"]


def seen_a_day_ago(project: Project) -> None:
    """Let it be known that the time of day was about this one a day ago."""
    looks, look = RetentionLooks(data_dir(project.env)), look_now()
    assert looks.keep(runs_of(project).store.runs_dir, Watch(look.now_ms, APART_S, look))


def test_tidying_happens_by_itself_and_once_a_day(project: Project) -> None:
    runs = runs_of(project)
    mark = runs.store.runs_dir / ".tidied"
    make(project, A, days_ago=45)
    remnant = make(project, B, days_ago=1)
    remnant.path.rename(remnant.path.with_name(f".removing-{B}"))
    seen_a_day_ago(project)
    assert [each.run_id for each in runs.keep_tidy()] == [A]
    assert names(project) == {".tidied"}

    make(project, C, days_ago=45)
    seen_a_day_ago(project)
    assert runs.keep_tidy() == []
    assert names(project) == {".tidied", C}

    yesterday = time.time() - DAY_S - 1
    os.utime(mark, (yesterday, yesterday))
    assert [each.run_id for each in runs.keep_tidy()] == [C]
    assert names(project) == {".tidied"}


def test_for_its_age_nothing_goes_at_the_first_look(project: Project) -> None:
    runs = runs_of(project)
    make(project, A, days_ago=45)
    assert runs.keep_tidy() == []
    assert names(project) == {".tidied", A}
    assert [each.run_id for each in runs.choose_removals()] == [A]  # for `prune`


def test_tidying_where_nothing_was_ever_run_makes_nothing(project: Project) -> None:
    before = listing(project)
    runs_of(project).keep_tidy()
    assert listing(project) == before


@pytest.mark.pi
async def test_a_delegation_tidies_and_keeps_its_own_runs(project: Project) -> None:
    make(project, A, days_ago=45)
    make(project, D, days_ago=45, known=False)
    seen_a_day_ago(project)
    notices: list[str] = []
    delegation = await delegate(
        [Task("one", "x")],
        cwd=project.path,
        env=project.env,
        offline=parse_script([{"text": "fine"}]),
        on_notice=notices.append,
    )
    assert "Removed 1 run of this project older than 30 days (subagents.retention_days)." in notices
    (result,) = delegation.results
    assert result.status == "completed"
    assert names(project) == {".tidied", D, result.run_id}
    run = runs_of(project).store.run_dir(result.run_id)
    old_s = time.time() - 45 * DAY_S
    os.utime(run.result, (old_s, old_s))
    assert [each.run_id for each in runs_of(project).choose_removals()] == [result.run_id]
