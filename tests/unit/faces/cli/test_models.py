from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_pi_models import ModelsPlace, make_models_place

from pi_subagents.core.messages import NOTE_NO_MODEL
from pi_subagents.faces.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

ELSEWHERE = (
    "PI_AGENT_DIR",
    "PI_CODING_AGENT_DIR",
    "PI_SUBAGENTS_CHILD",
    "XDG_DATA_HOME",
    "COLUMNS",
)


@dataclass
class Asker:
    """Where `subagents models` is asked."""

    place: ModelsPlace
    capsys: pytest.CaptureFixture[str]

    def ask(self, *arguments: str) -> tuple[object, str, str]:
        with pytest.raises(SystemExit) as stop:
            main(["models", *arguments])
        return (stop.value.code, *self.capsys.readouterr())


@pytest.fixture
def asker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Asker:
    place = make_models_place(tmp_path.resolve())
    for name in ELSEWHERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", place.env["HOME"])
    monkeypatch.setenv("PI_SUBAGENTS_DATA", str(place.root / "data"))
    monkeypatch.setenv("PI_SUBAGENTS_PI", str(place.program))
    monkeypatch.chdir(place.project)
    return Asker(place, capsys)


def test_models_are_listed_by_the_names_that_presets_use(asker: Asker) -> None:
    assert asker.ask() == (
        0, "acme/big    Big One\nacme/small\n", "2 models, asked pi just now.\n",
    )  # fmt: skip


def test_a_name_that_says_no_more_than_the_id_is_left_out(asker: Asker) -> None:
    asker.place.has(("acme", "big", "Big\x1b[2J One"), ("other", "same", "same"))
    assert asker.ask()[1] == "acme/big    Big One\nother/same\n"


def test_a_list_that_was_kept_is_told_as_such(asker: Asker) -> None:
    asker.ask()
    code, out, err = asker.ask()
    assert (code, out) == (0, "acme/big    Big One\nacme/small\n")
    assert err.startswith("2 models, asked pi ")
    assert err.endswith("s ago; --refresh asks again.\n")
    assert len(asker.place.starts()) == 1


def test_a_refresh_asks_pi(asker: Asker) -> None:
    asker.ask()
    asker.place.has(("acme", "new", ""))
    assert asker.ask("--refresh") == (0, "acme/new\n", "1 model, asked pi just now.\n")


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [("BIG", 1), ("acme/", 2), ("one", 1), ("big one", 1), ("zzz", 0)],
)
def test_a_pattern_keeps_models_whose_id_or_name_has_it(
    asker: Asker, pattern: str, lines: int
) -> None:
    code, out, err = asker.ask(pattern)
    count = "2 models" if lines == 2 else f"{lines} of 2 models"
    assert (code, len(out.splitlines()), err) == (0, lines, f"{count}, asked pi just now.\n")


def test_json_tells_all_parts_and_whether_they_were_kept(asker: Asker) -> None:
    for cached in (False, True):
        code, out, err = asker.ask("--json", "big")
        assert (code, json.loads(out), err) == (
            0,
            {
                "schemaVersion": 1,
                "total": 2,
                "cached": cached,
                "models": [{"provider": "acme", "id": "big", "name": "Big One"}],
            },
            "",
        )


def test_without_models_it_is_said_how_to_get_some(asker: Asker) -> None:
    asker.place.has()
    assert asker.ask() == (0, f"{NOTE_NO_MODEL}\n", "")
    assert json.loads(asker.ask("--json")[1])["models"] == []


def test_a_pi_that_fails_is_an_error_with_its_words(asker: Asker) -> None:
    asker.place.behave("fails")
    assert asker.ask() == (
        2,
        "",
        (
            "Error: pi did not say which models it has: it exited with code 3. `subagents doctor` "
            "looks closer.\n  Error: extension is broken\n  Hint: fix it\n"
        ),
    )


@pytest.mark.parametrize("trusted", [True, False])
def test_pi_is_asked_with_the_trust_the_project_has(asker: Asker, trusted: bool) -> None:
    decisions = json.dumps({str(asker.place.project): trusted})
    (asker.place.agent_dir / "trust.json").write_text(decisions)
    asker.ask()
    (start,) = asker.place.starts()
    assert start["argv"][3] == ("--approve" if trusted else "--no-approve")
