"""What `make check-shim` installs, whatever a registry has of pi's own packages."""

from __future__ import annotations

from typing import Any

import pytest
from scripts.shim_packages import available, newest, with_overrides

PI, AI, TUI, SCHEMA = (
    f"@earendil-works/{name}" for name in ("pi-coding-agent", "pi-ai", "pi-tui", "pi-schema")
)
WANTED = {"typescript": "5.9.3", PI: "1.5.0", TUI: "1.5.0"}
FULL: dict[str, Any] = {
    PI: ["1.4.0", "1.5.0", "1.6.0"],
    AI: ["1.5.0", "1.6.0-beta.1"],
    TUI: ["0.87.1", "1.5.0"],
    SCHEMA: "1.5.0",  # npm tells a single version so
    f"{PI}@1.5.0": {AI: "1.5.0", TUI: "^1.5.0", "undici": "8.12.3"},
    f"{AI}@1.5.0": {SCHEMA: "1.5.0", PI: "*"},
}


def test_a_registry_that_has_all_gives_the_exact_versions() -> None:
    found = available(WANTED, lambda name, _: FULL.get(name))
    assert found == dict.fromkeys((PI, AI, TUI, SCHEMA), "1.5.0")


def test_of_what_is_absent_the_newest_before_it_is_taken_and_the_rest_is_left_empty() -> None:
    partial = {**FULL, TUI: ["0.87.0", "0.87.1"], SCHEMA: None}
    found = available(WANTED, lambda name, _: partial.get(name))
    assert found == {PI: "1.5.0", AI: "1.5.0", TUI: "0.87.1", SCHEMA: None}
    made = with_overrides({"private": True, "devDependencies": WANTED}, found)
    assert made == {
        "private": True,
        "devDependencies": {
            "typescript": "5.9.3",
            PI: "1.5.0",
            AI: "1.5.0",
            TUI: "0.87.1",
            SCHEMA: "file:./stubs/pi-schema",
        },
        "overrides": {name: f"${name}" for name in (PI, AI, TUI, SCHEMA)},
    }


@pytest.mark.parametrize(
    ("versions", "limit", "expected"),
    [
        (["0.9.0", "0.10.0"], "1.5.0", "0.10.0"),
        (["1.5.1", "2.0.0"], "1.5.0", None),
        (["1.5.0-rc.1"], "1.5.0", None),
        (["1.9.0", "1.10.0"], "*", "1.10.0"),
        ([], "1.5.0", None),
    ],
)
def test_the_newest_up_to_a_version_is_released_and_no_newer(
    versions: list[str], limit: str, expected: str | None
) -> None:
    assert newest(versions, limit) == expected
