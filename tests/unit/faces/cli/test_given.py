from __future__ import annotations

import io
import math
import sys
from typing import TYPE_CHECKING

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.faces.cli import messages
from pi_subagents.faces.cli.console import Console
from pi_subagents.faces.cli.given import FiniteRange, text_or_typed
from pi_subagents.faces.cli.main import group, main

if TYPE_CHECKING:
    from pathlib import Path


@thoroughly
@given(texts | st.floats().map(str) | st.floats(0, 60).map(str))
def test_a_number_is_finite_and_in_its_range_or_refused(text: str) -> None:
    try:
        number = FiniteRange(0, 60).convert(text, None, None)
    except click.BadParameter:
        return
    assert math.isfinite(number)
    assert 0 <= number <= 60


@pytest.mark.parametrize("text", ["nan", "-nan", "inf", "1e999"])
def test_what_is_not_finite_is_refused_by_name(text: str) -> None:
    with pytest.raises(click.BadParameter) as refusal:
        FiniteRange(0).convert(text, None, None)
    assert refusal.value.message == f"'{text}' is not a finite number."


def commands_below(command: click.Command) -> list[click.Command]:
    if not isinstance(command, click.Group):
        return [command]
    context = click.Context(command)
    below = [command.get_command(context, name) for name in command.list_commands(context)]
    return [each for one in below if one for each in commands_below(one)]


def test_every_verb_reads_its_numbers_in_this_way() -> None:
    fractions = [
        (command.name, option.name, type(option.type))
        for command in commands_below(group)
        for option in command.params
        if isinstance(option.type, click.types.FloatParamType)
    ]
    assert [each for each in fractions if each[2] is not FiniteRange] == []
    assert len(fractions) > 5


@pytest.mark.parametrize(
    "arguments",
    [
        ["background", "wait", "--timeout", "nan"],
        ["background", "status", "--wait", "nan"],
        ["mcp", "--answer-within", "nan"],
        ["prune", "--days", "inf"],
    ],
    ids=" ".join,
)
def test_a_verb_refuses_what_is_not_finite(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert f"'{arguments[-1]}' is not a finite number." in capsys.readouterr().err


def stand_in_for_stdin(monkeypatch: pytest.MonkeyPatch, *, typed: bool) -> None:
    stdin = io.TextIOWrapper(io.BytesIO("Grüße".encode()))
    monkeypatch.setattr(stdin, "isatty", lambda: typed)
    monkeypatch.setattr(sys, "stdin", stdin)


@pytest.mark.parametrize("typed", [False, True])
def test_whoever_has_to_type_is_told_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: bool
) -> None:
    stand_in_for_stdin(monkeypatch, typed=typed)
    assert text_or_typed(Console(), "given", "JSON") == "given"
    assert capsys.readouterr() == ("", "")
    assert text_or_typed(Console(), "-", "JSON") == "Grüße"
    told = f"{messages.type_it('JSON')}\n" if typed else ""
    assert capsys.readouterr() == ("", told)
    assert messages.type_it("the message") == "Type the message, then press Ctrl+D."


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["call", "delegate_to_subagents", "-"], "the JSON"),
        (["steer", "nobody"], "the message"),
        (["background", "start", "no-such-preset", "-"], "the task"),
    ],
)
def test_a_verb_that_waits_for_a_text_says_so(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    what: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "PI_SUBAGENTS_DATA", "PI_CODING_AGENT_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    stand_in_for_stdin(monkeypatch, typed=True)
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith(f"{messages.type_it(what)}\n")
