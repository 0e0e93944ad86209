from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_values, thoroughly

from pi_subagents.core.engine_values import Model, model_to_json
from pi_subagents.core.profile.profile import THINKING_LEVELS
from pi_subagents.engines.pi.models.names import (
    choose_model,
    models_named,
    parse_models,
    resolve_model,
    split_thinking,
)
from pi_subagents.errors import ModelAmbiguous, ModelNotAvailable, NoModelGiven, RequestError

SONNET = Model("anthropic", "claude-sonnet-4-5", "Claude Sonnet 4.5")
HAIKU = Model("anthropic", "claude-haiku-4-5")
GPT = Model("openai", "gpt-4o")
MINI = Model("openai", "gpt-4o-mini")
ROUTED = Model("openrouter", "openai/gpt-4o")
EXACTO = Model("openrouter", "z-ai/glm:exacto")
COPILOT = Model("github-copilot", "gpt-4o")
LOCAL = Model("ollama", "qwen:high")
SOME = (SONNET, HAIKU, GPT, MINI, ROUTED, EXACTO, LOCAL)


@pytest.mark.parametrize(
    ("requested", "resolved"),
    [
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("Anthropic/Claude-Sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("CLAUDE-SONNET-4-5", "anthropic/claude-sonnet-4-5"),
        (" gpt-4o-mini\n", "openai/gpt-4o-mini"),
        ("openai/gpt-4o", "openai/gpt-4o"),
        ("openrouter/openai/gpt-4o", "openrouter/openai/gpt-4o"),
        ("z-ai/glm:exacto", "openrouter/z-ai/glm:exacto"),
        ("openrouter/z-ai/glm:exacto", "openrouter/z-ai/glm:exacto"),
        ("claude-haiku-4-5:high", "anthropic/claude-haiku-4-5:high"),
        ("anthropic/claude-haiku-4-5:off", "anthropic/claude-haiku-4-5:off"),
        ("Z-AI/GLM:exacto:max", "openrouter/z-ai/glm:exacto:max"),
        ("qwen:high", "ollama/qwen:high"),
        ("qwen:high:low", "ollama/qwen:high:low"),
    ],
)
def test_a_name_means_one_model(requested: str, resolved: str) -> None:
    assert resolve_model(requested, SOME) == resolved


def test_a_model_of_the_named_provider_comes_before_an_id_that_looks_like_it() -> None:
    assert resolve_model("openai/gpt-4o:high", (ROUTED, GPT)) == "openai/gpt-4o:high"
    assert resolve_model("openai/gpt-4o:high", (ROUTED,)) == "openrouter/openai/gpt-4o:high"
    literal = Model("router", "openai/gpt-4o:high")
    assert resolve_model("openai/gpt-4o:high", (literal, GPT)) == "openai/gpt-4o:high"


def test_an_id_that_ends_like_a_thinking_level_is_looked_for_whole() -> None:
    models = (Model("p", "m"), Model("p", "m:high"))
    assert resolve_model("m:high", models) == "p/m:high"
    assert resolve_model("p/m:high", models) == "p/m:high"
    assert resolve_model("m:high:low", models) == "p/m:high:low"
    assert resolve_model("m:high", (Model("p", "m"), Model("q", "m:high"))) == "q/m:high"


def test_a_spelling_that_is_exact_comes_before_one_that_differs_in_case() -> None:
    models = (Model("p", "Big"), Model("p", "big"))
    assert resolve_model("big", models) == "p/big"
    assert resolve_model("p/Big", models) == "p/Big"
    with pytest.raises(ModelAmbiguous) as refusal:
        resolve_model("BIG", models)
    assert refusal.value.matches == ("p/Big", "p/big")


def test_an_id_of_several_providers_is_refused_with_their_names() -> None:
    with pytest.raises(ModelAmbiguous) as refusal:
        resolve_model("gpt-4o:high", (*SOME, COPILOT))
    assert str(refusal.value) == (
        'Model "gpt-4o:high" is ambiguous: openai/gpt-4o:high, github-copilot/gpt-4o:high. '
        "Name one of them."
    )
    assert resolve_model("github-copilot/gpt-4o", (*SOME, COPILOT)) == "github-copilot/gpt-4o"


def test_only_the_first_of_many_providers_are_named() -> None:
    models = [Model(f"p{i}", "m") for i in range(20)]
    with pytest.raises(ModelAmbiguous) as refusal:
        resolve_model("m", models)
    assert refusal.value.matches == tuple(f"p{i}/m" for i in range(8))


RENAMED = {"azure-openai-responses": "azure"}
AZURE = Model("azure", "gpt-4o")


@pytest.mark.parametrize(
    ("requested", "resolved"),
    [
        ("azure-openai-responses/gpt-4o", "azure/gpt-4o"),
        ("Azure-OpenAI-Responses/GPT-4o:high", "azure/gpt-4o:high"),
        ("azure/gpt-4o", "azure/gpt-4o"),
        ("openai/gpt-4o", "openai/gpt-4o"),
    ],
)
def test_a_provider_of_another_version_is_found_under_its_name_of_today(
    requested: str, resolved: str
) -> None:
    assert resolve_model(requested, (GPT, AZURE), RENAMED) == resolved
    chosen = choose_model(
        None, requested, (GPT, AZURE), preset_name="p", preset_path="p.md", renamed=RENAMED
    )
    assert chosen == (requested, resolved)


def test_a_provider_that_is_there_under_its_old_name_is_meant_by_it() -> None:
    own = Model("Azure-OpenAI-Responses", "gpt-4o")
    for name in ("azure-openai-responses/gpt-4o", "Azure-OpenAI-Responses/gpt-4o"):
        assert resolve_model(name, (AZURE, own), RENAMED) == own.reference


def test_where_no_provider_is_renamed_an_old_name_means_nothing() -> None:
    name = "azure-openai-responses/gpt-4o"
    assert refused(name, (AZURE,)) == (name, (), 1)


def test_a_model_that_is_listed_twice_is_one() -> None:
    assert resolve_model("gpt-4o", (GPT, GPT)) == "openai/gpt-4o"


def refused(requested: str, models: tuple[Model, ...] = SOME) -> tuple[str, tuple[str, ...], int]:
    with pytest.raises(ModelNotAvailable) as refusal:
        resolve_model(requested, models)
    return refusal.value.requested, refusal.value.suggestions, refusal.value.count


@pytest.mark.parametrize(
    ("requested", "suggestions"),
    [
        ("claude-sonet-4-5", ("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5")),
        ("anthropic/claude-sonnet-4-6:high", ("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5")),
        ("sonnet", ("anthropic/claude-sonnet-4-5",)),
        ("sonnet:high", ("anthropic/claude-sonnet-4-5",)),
        ("anthropic", ("anthropic/claude-sonnet-4-5", "anthropic/claude-haiku-4-5")),
        ("GPT-4", ("openai/gpt-4o", "openai/gpt-4o-mini", "openrouter/openai/gpt-4o")),
        ("zzz", ()),
        ("", ()),
    ],
)  # fmt: skip
def test_what_is_close_is_suggested_and_never_chosen(
    requested: str, suggestions: tuple[str, ...]
) -> None:
    assert refused(requested) == (requested, suggestions, 7)


def test_what_is_spelt_alike_is_suggested_before_what_contains_the_name() -> None:
    models = tuple(Model("p", each) for each in ("gpt-4o-mini-audio-preview", "gpt-4.0"))
    assert refused("gpt-4o", models)[1] == ("p/gpt-4.0", "p/gpt-4o-mini-audio-preview")


def test_no_more_than_three_models_are_suggested() -> None:
    models = tuple(Model("p", f"model-{number}") for number in range(9))
    assert refused("model", models)[1:] == (("p/model-8", "p/model-7", "p/model-6"), 9)


def test_an_unknown_level_is_part_of_the_name() -> None:
    assert refused("gpt-4o:highest") == ("gpt-4o:highest", ("openai/gpt-4o",), 7)


def test_the_refusal_says_what_there_is_and_how_to_see_it() -> None:
    with pytest.raises(ModelNotAvailable) as refusal:
        resolve_model("gpt-4", (GPT,))
    assert str(refusal.value) == (
        'Model "gpt-4" is not available (sub-agents can use 1 model here). '
        "Did you mean openai/gpt-4o? `subagents models` lists them."
    )
    with pytest.raises(ModelNotAvailable) as refusal:
        resolve_model("sonnet", ())
    assert str(refusal.value) == (
        'Model "sonnet" is not available (sub-agents can use 0 models here). '
        "`subagents models` lists them."
    )


def test_several_suggestions_are_joined() -> None:
    with pytest.raises(ModelNotAvailable, match=r"mean openai/gpt-4o or openai/gpt-4o-mini\?"):
        resolve_model("gpt-4", (GPT, MINI))


def test_a_long_or_hostile_name_is_shown_short_and_plain() -> None:
    shown, suggestions, _ = refused("\x1b[31mx\n" * 100_000)
    assert (len(shown), shown[:4], suggestions) == (200, "x x ", ())


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("m", ("m", "")),
        ("m:high", ("m", "high")),
        ("m:exacto", ("m:exacto", "")),
        ("m:High", ("m:High", "")),
        (":high", (":high", "")),
        ("m:", ("m:", "")),
        ("m:low:high", ("m:low", "high")),
    ],
)
def test_a_thinking_level_is_split_off_where_there_is_one(
    name: str, parts: tuple[str, str]
) -> None:
    assert split_thinking(name) == parts


# Choosing


def choose(call: str | None, preset: str | None) -> tuple[str, str]:
    return choose_model(call, preset, SOME, preset_name="scout", preset_path="/p/scout.md")


def test_the_call_counts_before_the_preset() -> None:
    assert choose("gpt-4o-mini", "nonsense") == ("gpt-4o-mini", "openai/gpt-4o-mini")


@pytest.mark.parametrize("call", [None, "", " \n"])
def test_without_a_model_in_the_call_the_preset_counts(call: str | None) -> None:
    assert choose(call, "Claude-Haiku-4-5:low") == (
        "Claude-Haiku-4-5:low",
        "anthropic/claude-haiku-4-5:low",
    )


@pytest.mark.parametrize(("call", "preset"), [("nonsense", "gpt-4o"), (None, "nonsense")])
def test_a_model_that_is_not_there_is_refused_whoever_named_it(
    call: str | None, preset: str
) -> None:
    with pytest.raises(ModelNotAvailable, match="nonsense"):
        choose(call, preset)


@pytest.mark.parametrize("nothing", [None, "", "  "])
def test_with_no_model_at_all_it_is_said_where_to_set_one(nothing: str | None) -> None:
    with pytest.raises(NoModelGiven) as refusal:
        choose(nothing, nothing)
    assert str(refusal.value) == (
        'no model resolved for preset "scout": give `model` in the call, or set `model:` '
        "in /p/scout.md"
    )


# Reading


def test_models_are_read_as_pi_tells_them() -> None:
    heard = [
        {"id": "gpt-4o", "provider": "openai", "name": "GPT-4o", "cost": {"input": 1}},
        {"id": "gpt-4o", "provider": "openai", "name": "GPT-4o"},
        {"id": "bare", "provider": "p"},
        {"id": "odd", "provider": "p", "name": 7},
    ]
    assert parse_models(heard) == (
        Model("openai", "gpt-4o", "GPT-4o"), Model("p", "bare"), Model("p", "odd"),
    )  # fmt: skip


@pytest.mark.parametrize(
    "entry",
    [
        None, 7, "openai/gpt-4o", [], {},
        {"id": "m"}, {"provider": "p"}, {"id": "", "provider": "p"}, {"id": "m", "provider": ""},
        {"id": 7, "provider": "p"}, {"id": "m", "provider": None},
        {"id": "m\n", "provider": "p"}, {"id": "\x1b[31m", "provider": "p"},
        {"id": " m", "provider": "p"}, {"id": "m\udfff", "provider": "p"},
        {"id": "m" * 513, "provider": "p"},
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_named_is_left_out(entry: object) -> None:
    assert parse_models([entry, model_to_json(GPT)]) == (GPT,)


def test_full_names_are_read_in_their_order_and_once() -> None:
    names = ["acme/big", "hub/acme/big:free", "acme/big", "nothing", "/x", "acme/", " /y"]
    found = (Model("acme", "big"), Model("hub", "acme/big:free"))
    assert models_named(names) == found
    assert tuple(model.reference for model in found) == ("acme/big", "hub/acme/big:free")


def test_a_name_for_people_is_one_plain_line() -> None:
    (model,) = parse_models([{"id": "m", "provider": "p", "name": "\x1b[2JBig\n One" + "x" * 999}])
    assert (model.name[:8], len(model.name)) == ("Big Onex", 200)


@given(json_values)
@thoroughly
def test_any_json_gives_models_that_read_back(value: object) -> None:
    models = parse_models(value)
    assert parse_models([model_to_json(model) for model in models]) == models


words = st.text("aA:/b-", min_size=1, max_size=4) | st.sampled_from(["m:high", "a/m", "M", "x:off"])
providers = st.sampled_from(["p", "P", "a", "q"])
models = st.lists(st.builds(Model, providers, words), max_size=5)
requests = words | st.builds("{}/{}".format, providers, words)
suffixes = st.sampled_from(["", *(f":{level}" for level in THINKING_LEVELS)])


def outcome(requested: str, available: list[Model]) -> str | RequestError:
    try:
        return resolve_model(requested, available)
    except RequestError as refusal:
        return refusal


@given(st.builds("{}{}".format, requests, suffixes), models)
@thoroughly
def test_what_is_resolved_names_an_available_model_and_means_itself(
    requested: str, available: list[Model]
) -> None:
    references = {model.reference for model in available}
    match outcome(requested, available):
        case ModelNotAvailable() as refusal:
            assert set(refusal.suggestions) <= references
            assert len(refusal.suggestions) <= 3
        case ModelAmbiguous() as refusal:
            assert len(refusal.matches) > 1
        case str() as resolved:
            assert resolved in references or split_thinking(resolved)[0] in references
            assert outcome(resolved, available) == resolved
            # Nothing fuzzy: it ends like what was asked for, but for case.
            assert resolved.lower().endswith(requested.lower())


@given(models, suffixes, st.data())
@thoroughly
def test_every_model_can_be_had_by_its_full_name(
    available: list[Model], suffix: str, data: st.DataObject
) -> None:
    if available:
        model = data.draw(st.sampled_from(available))
        assert resolve_model(model.reference + suffix, available) == model.reference + suffix
