from __future__ import annotations

import pytest

from pi_subagents.engines.pi.rpc import GUARD, compose_prompt


@pytest.mark.parametrize(
    "prompt", ["Look.", "--approve", "@notes.txt", "-p", "", " a /b", "a\n/reload", "\\/x", GUARD]
)
def test_a_prompt_is_left_as_it_is(prompt: str) -> None:
    assert compose_prompt(prompt) == prompt


@pytest.mark.parametrize(
    "prompt", ["/reload", "/skill:x", "/", " /reload", "\n\t/reload", "\ufeff/reload", "\u00a0/x"]
)
def test_a_prompt_that_pi_would_take_for_a_command_is_guarded(prompt: str) -> None:
    assert compose_prompt(prompt) == GUARD + prompt
