from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from pi_subagents.supervisor.admission.slots import Slot
from pi_subagents.system.slots import acquire_slot

if TYPE_CHECKING:
    from pathlib import Path


def test_there_are_as_many_places_as_said_and_each_has_one_holder(tmp_path: Path) -> None:
    places = str(tmp_path / "slots")
    first, second = acquire_slot(places, 2), acquire_slot(places, 2)
    assert first is not None
    assert second is not None
    assert acquire_slot(places, 2) is None
    os.close(first)  # as the kernel does for whoever dies
    third = acquire_slot(places, 2)
    assert third is not None
    os.close(second)
    os.close(third)
    assert stat.S_IMODE((tmp_path / "slots").stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "slots").iterdir()} == {0o600}


def test_a_place_is_waited_for_until_there_is_one_or_nobody_wants_to_wait(tmp_path: Path) -> None:
    places = str(tmp_path / "slots")
    held = acquire_slot(places, 1)
    assert held is not None
    slot = Slot(places, 1)
    assert not slot.acquire(lambda _: False)
    slot.release()  # there is nothing to leave

    def give_back(_: float) -> bool:
        os.close(held)
        return True

    assert slot.acquire(give_back)
    assert acquire_slot(places, 1) is None
    slot.release()
    slot.release()
    again = Slot(places, 1)
    assert again.acquire(lambda _: False), "it was given back, once"
    again.release()


def test_without_a_limit_or_a_place_to_count_nobody_waits(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for directory, most in ((tmp_path / "slots", 0), (tmp_path / "file" / "slots", 1), ("", 1)):
        slot = Slot(str(directory), most)
        assert slot.acquire(lambda _: False)
        slot.release()
    assert not (tmp_path / "slots").exists()
