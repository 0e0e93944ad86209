"""What is known of the limit of an account, by every process of a user."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

from pi_subagents.store.provider_limits import (
    DIRECTORY,
    FIRST_WAIT_S,
    LONGEST_WAIT_S,
    RECOVERY_S,
    KnownLimit,
    ProviderLimits,
)

if TYPE_CHECKING:
    from pathlib import Path

NOW, DAY = 1_000_000, 86_400_000
FIRST, LONGEST, RECOVERY = (
    round(each * 1000) for each in (FIRST_WAIT_S, LONGEST_WAIT_S, RECOVERY_S)
)


def test_a_limit_is_known_to_others_until_a_while_after_its_end(tmp_path: Path) -> None:
    assert ProviderLimits(tmp_path, "acme").note(NOW + 5000, NOW) == NOW + 5000
    other = ProviderLimits(tmp_path, "acme")
    ends = NOW + 5000 + RECOVERY
    assert [other.known(each) for each in (NOW, ends - 1, ends)] == [
        KnownLimit(NOW + 5000, 0, NOW), KnownLimit(NOW + 5000, 0, NOW), None,
    ]  # fmt: skip


def test_of_two_times_the_later_one_counts(tmp_path: Path) -> None:
    limits = ProviderLimits(tmp_path, "acme")
    assert [limits.note(NOW + more, NOW) for more in (5000, 3000, 9000)] == [
        NOW + 5000, NOW + 5000, NOW + 9000,
    ]  # fmt: skip


def test_other_accounts_and_providers_are_not_concerned(tmp_path: Path) -> None:
    ProviderLimits(tmp_path, "acme", "1").note(NOW + 5000, NOW)
    for provider, account in (("acme", ""), ("acme", "2"), ("other", "1")):
        assert ProviderLimits(tmp_path, provider, account).known(NOW) is None


def test_a_limit_of_unknown_length_takes_twice_as_long_each_time_up_to_a_bound(
    tmp_path: Path,
) -> None:
    limits, now, waits = ProviderLimits(tmp_path, "acme"), NOW, []
    for _ in range(9):
        until = limits.note(0, now)
        waits.append(until - now)
        assert limits.note(0, now + 1) == until, "several children meet the same limit"
        now = until + 1
    assert waits == [min(FIRST * 2**n, LONGEST) for n in range(9)]
    limits.answered(now)
    assert limits.note(0, now) == now + FIRST


def test_children_pass_the_gate_one_by_one_and_one_that_dies_opens_it(tmp_path: Path) -> None:
    limits = ProviderLimits(tmp_path, "acme")
    limits.note(NOW, NOW)
    gate = limits.gate()
    assert gate is not None
    assert ProviderLimits(tmp_path, "acme").gate() is None
    os.close(gate)  # as the kernel does for whoever dies
    again = limits.gate()
    assert again is not None
    os.close(again)


@pytest.mark.parametrize("far_ms", [DAY * 401, DAY * 10**6, 10**21])
def test_a_time_that_nobody_can_mean_is_not_believed(tmp_path: Path, far_ms: int) -> None:
    limits = ProviderLimits(tmp_path, "acme")
    limits.note(NOW, NOW)
    forged = {"until": NOW + far_ms, "strikes": 0, "notedAt": NOW}
    (tmp_path / DIRECTORY / "acme.json").write_text(json.dumps(forged))
    assert limits.known(NOW) is None


def test_what_was_noted_while_the_clock_was_ahead_counts_no_more_once_it_is_right(
    tmp_path: Path,
) -> None:
    limits, ahead = ProviderLimits(tmp_path, "acme"), NOW + DAY
    limits.note(ahead + 5000, ahead)
    assert limits.known(ahead - RECOVERY) is not None, "clocks are set back a little all the time"
    assert limits.known(NOW) is None
    assert limits.note(0, NOW) == NOW + FIRST


def test_a_limit_that_nobody_ends_for_weeks_is_still_asked_after_now_and_then(
    tmp_path: Path,
) -> None:
    limits = ProviderLimits(tmp_path, "acme")
    limits.note(0, NOW)
    file = tmp_path / DIRECTORY / "acme.json"
    file.write_text(json.dumps({"until": NOW, "strikes": 5000, "notedAt": NOW}))
    assert limits.note(0, NOW) == NOW + LONGEST


@pytest.mark.parametrize("content", ["", "nonsense", "[]", '{"until": null}', '{"until": 10e400}'])
def test_what_is_damaged_counts_as_nothing_and_is_written_anew(
    tmp_path: Path, content: str
) -> None:
    limits = ProviderLimits(tmp_path, "acme")
    limits.note(NOW, NOW)
    (tmp_path / DIRECTORY / "acme.json").write_text(content)
    assert limits.known(NOW) is None
    assert limits.note(NOW + 5000, NOW) == NOW + 5000
    assert limits.known(NOW) == KnownLimit(NOW + 5000, 0, NOW)


def test_its_files_are_private_and_in_their_directory_whatever_a_provider_is_called(
    tmp_path: Path,
) -> None:
    ProviderLimits(tmp_path, "../../etc/passwd\n", "ab12").note(NOW, NOW)
    directory = tmp_path / DIRECTORY
    assert {each.name for each in tmp_path.iterdir()} == {DIRECTORY}
    assert {each.name for each in directory.iterdir()} == {
        ".._.._etc_passwd_-ab12.json", ".._.._etc_passwd_-ab12.lock",
    }  # fmt: skip
    assert {stat.S_IMODE(each.stat().st_mode) for each in directory.iterdir()} == {0o600}


def test_without_a_place_for_it_a_limit_is_known_to_nobody_else_and_nobody_waits_at_a_gate(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").touch()
    limits = ProviderLimits(tmp_path / "file", "acme")
    assert (limits.note(NOW + 5, NOW), limits.note(0, NOW)) == (NOW + 5, NOW + FIRST)
    assert limits.known(NOW) is None
    limits.answered(NOW)
    gates = [limits.gate(), limits.gate()]
    assert None not in gates
    for gate in filter(None, gates):
        os.close(gate)
