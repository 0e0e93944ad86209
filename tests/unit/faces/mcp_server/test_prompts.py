"""Prompts: every argument is used, and nothing in an argument is taken for ours."""

from __future__ import annotations

import re

import pytest

from pi_subagents.faces.mcp_server.prompts import PROMPTS, PromptDef, prompt_text
from pi_subagents.service.tools.registry import TOOLS

BRACES = re.compile(r"{(\w*)}")


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_a_prompt_uses_its_arguments_and_names_tools_that_exist(prompt: PromptDef) -> None:
    assert set(BRACES.findall(prompt.text)) == set(prompt.arguments)
    given = {name: f"<{{0}} {{{name}}} of {name}>" for name in prompt.arguments}
    text = prompt_text(prompt, given)
    assert all(value in text for value in given.values())
    named = set(re.findall(r"\b(?:\w+_subagents?\w*|background_\w+)\b", prompt.text))
    assert named
    assert named <= set(TOOLS)


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_an_argument_that_is_missing_is_named(prompt: PromptDef) -> None:
    first, *rest = prompt.arguments
    with pytest.raises(KeyError, match=first):
        prompt_text(prompt, dict.fromkeys(rest, "x"))
