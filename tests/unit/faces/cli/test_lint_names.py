"""`profile lint` and `preset lint` find tools, providers and models that pi does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.fakes.fake_pi_models import ModelsPlace, make_models_place
from tests.fakes.profile_home import (
    ProfileHome,
    make_preset_home,
    make_profile_home,
    write_preset,
    write_profile,
)

from pi_subagents.faces.cli import messages

if TYPE_CHECKING:
    from pathlib import Path

MODELS = (
    ("anthropic", "claude-sonnet-4-5", "Claude Sonnet 4.5"),
    ("openai", "gpt-5", "GPT-5"),
)


@pytest.fixture
def pi(tmp_path: Path) -> ModelsPlace:
    place = make_models_place(tmp_path / "models")
    place.has(*MODELS)
    return place


@pytest.fixture
def home(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pi: ModelsPlace,
) -> ProfileHome:
    made = make_profile_home(tmp_path, monkeypatch, capsys)
    monkeypatch.setenv("PI_SUBAGENTS_PI", str(pi.program))
    return made


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["tools: read, bsh"], 'warning: unknown tool "bsh" (did you mean "bash"?)'),
        (["tools: Read"], 'warning: unknown tool "Read" (did you mean "read"?)'),
        (["excludeTools: wrte"], 'warning: unknown tool "wrte" (did you mean "write"?)'),
        (
            ["tools: read, web_search"],
            'note: pi itself has no tool "web_search": an extension must provide it',
        ),
        (
            ["model: antropic/claude-sonnet-4-5"],
            (
                'warning: unknown model "antropic/claude-sonnet-4-5" '
                '(did you mean "anthropic/claude-sonnet-4-5"?)'
            ),
        ),
        (
            ["model: anthropic/claude-sonet-4-5:high"],
            (
                'warning: unknown model "anthropic/claude-sonet-4-5:high" '
                '(did you mean "anthropic/claude-sonnet-4-5"?)'
            ),
        ),
        (
            ["provider: antropic", "model: claude-sonnet-4-5"],
            'warning: unknown provider "antropic" (did you mean "anthropic"?)',
        ),
        (
            ["provider: mistral", "model: any"],
            (
                'note: pi lists no models of "mistral" here, so this one was not checked; '
                "is its key set?"
            ),
        ),
        (["model: sonnet"], ""),
        (["model: GPT-5:high"], ""),
        (["model: openai/gpt-*"], ""),
        (["provider: OpenAI", "model: gpt-5"], ""),
    ],
)
def test_what_pi_does_not_have_is_named_with_the_nearest(
    home: ProfileHome, lines: list[str], problem: str
) -> None:
    path = write_profile(home.user, "demo", *lines)
    wrong = sum(problem.startswith("warning") for _ in (1,))
    line = 4 if problem.startswith("note: pi lists") else 3
    told = f"{path}:{line}: {problem}\n" if problem else ""
    counted = f"1 profile, {wrong} problem{'' if wrong == 1 else 's'}\n"
    assert home.run("lint") == (0, told + counted, "")


def test_a_pi_that_cannot_be_asked_is_said_and_the_rest_is_checked(
    home: ProfileHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_profile(home.user, "demo", "model: m", "tools: bsh")
    monkeypatch.setenv("PI_SUBAGENTS_PI", str(home.root / "no-pi"))
    code, out, err = home.run("lint")
    assert (code, out.splitlines()[0]) == (
        0,
        f'{path}:4: warning: unknown tool "bsh" (did you mean "bash"?)',
    )
    assert err.startswith(messages.models_not_checked(""))


def test_presets_are_looked_at_too(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pi: ModelsPlace,
) -> None:
    home = make_preset_home(tmp_path, monkeypatch, capsys)
    monkeypatch.setenv("PI_SUBAGENTS_PI", str(pi.program))
    path = write_preset(home.user, "demo", "model: gpt-6", "tools: bsh")
    assert home.run("lint") == (
        0,
        (
            f'{path}:4: warning: unknown model "gpt-6" (did you mean "openai/gpt-5"?)\n'
            f'{path}:5: warning: unknown tool "bsh" (did you mean "bash"?)\n'
            "1 preset, 2 problems\n"
        ),
        "",
    )
