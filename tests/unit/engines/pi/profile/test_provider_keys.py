from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.engines.pi.profile.providers import KEY_VARIABLES, KeyVariables, key_variables

OPENAI = KeyVariables("OPENAI_API_KEY")


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("openai", "", OPENAI),
        ("openai", "gpt-4o", OPENAI),
        ("OpenAI", "gpt-4o", OPENAI),
        ("", "openai/gpt-4o", OPENAI),
        ("", "OPENAI/gpt-4o:high", OPENAI),
        ("", "openrouter/openai/gpt-4o", KeyVariables("OPENROUTER_API_KEY")),
        ("openrouter", "openai/gpt-4o", KeyVariables("OPENROUTER_API_KEY")),
        ("my-proxy", "openai/gpt-4o", None),
        ("", "openai", None),
        ("", "gpt-4o", None),
        ("", "", None),
        ("", "/openai", None),
        ("openai-codex", "", None),
    ],
)
def test_the_provider_is_named_or_stands_before_the_model(
    provider: str, model: str, expected: KeyVariables | None
) -> None:
    assert key_variables(provider, model) == expected


def test_what_would_win_over_the_key_is_put_out_of_effect() -> None:
    assert key_variables("anthropic", "") == KeyVariables(
        set="ANTHROPIC_API_KEY", unset=("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN")
    )
    assert key_variables("amazon-bedrock", "") == KeyVariables(
        set="AWS_BEARER_TOKEN_BEDROCK", unset=("AWS_BEDROCK_SKIP_AUTH",)
    )


def test_no_variable_is_both_set_and_put_out_of_effect() -> None:
    assert {name: each for name, each in KEY_VARIABLES.items() if each.set in each.unset} == {}


names = st.sampled_from([*KEY_VARIABLES, "openai-codex"]) | texts


@thoroughly
@given(names, names, texts)
def test_any_names_give_a_line_of_the_table_or_none(provider: str, prefix: str, model: str) -> None:
    expected = KEY_VARIABLES.get((provider or prefix.partition("/")[0]).lower())
    assert key_variables(provider, f"{prefix}/{model}") == expected
