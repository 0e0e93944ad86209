"""
The providers of pi: the environment variables of their API keys, and their names by version.

In: a profile.  Out: the variable that the real pi reads for a key, and those that would win over
it; None where pi reads none, or the names do not show the provider.  A key that pi itself has
stored for the provider (`auth.json`, `models.json`) wins over them all.  And: the name to use in
this pi, where other versions call the provider otherwise.  A provider that the user's own
models.json defines keeps its name: the caller looks there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.value import replace, value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.pi.versions import PiTraits


@value
class KeyVariables:
    """The variable to set, and those to set to nothing: pi takes an empty one for absent."""

    set: str
    unset: tuple[str, ...] = ()


# By provider, under every name it has in a version of pi that we know (tests/e2e checks it).  A
# provider that one can only log in to has no line.
KEY_VARIABLES: Mapping[str, KeyVariables] = {
    "amazon-bedrock": KeyVariables("AWS_BEARER_TOKEN_BEDROCK", ("AWS_BEDROCK_SKIP_AUTH",)),
    "ant-ling": KeyVariables("ANT_LING_API_KEY"),
    "anthropic": KeyVariables(
        "ANTHROPIC_API_KEY", ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN")
    ),
    "azure": KeyVariables("AZURE_OPENAI_API_KEY"),
    "azure-openai-responses": KeyVariables("AZURE_OPENAI_API_KEY"),
    "baseten": KeyVariables("BASETEN_API_KEY"),
    "cerebras": KeyVariables("CEREBRAS_API_KEY"),
    "cloudflare-ai-gateway": KeyVariables("CLOUDFLARE_API_KEY"),
    "cloudflare-workers-ai": KeyVariables("CLOUDFLARE_API_KEY"),
    "deepseek": KeyVariables("DEEPSEEK_API_KEY"),
    "fireworks": KeyVariables("FIREWORKS_API_KEY"),
    "github-copilot": KeyVariables("COPILOT_GITHUB_TOKEN"),
    "google": KeyVariables("GEMINI_API_KEY"),
    "google-vertex": KeyVariables("GOOGLE_CLOUD_API_KEY"),
    "groq": KeyVariables("GROQ_API_KEY"),
    "huggingface": KeyVariables("HF_TOKEN"),
    "kimi-coding": KeyVariables("KIMI_API_KEY"),
    "meta": KeyVariables("META_API_KEY"),
    "minimax": KeyVariables("MINIMAX_API_KEY"),
    "minimax-cn": KeyVariables("MINIMAX_CN_API_KEY"),
    "mistral": KeyVariables("MISTRAL_API_KEY"),
    "moonshotai": KeyVariables("MOONSHOT_API_KEY"),
    "moonshotai-cn": KeyVariables("MOONSHOT_API_KEY"),
    "nvidia": KeyVariables("NVIDIA_API_KEY"),
    "openai": KeyVariables("OPENAI_API_KEY"),
    "opencode": KeyVariables("OPENCODE_API_KEY"),
    "opencode-go": KeyVariables("OPENCODE_API_KEY"),
    "openrouter": KeyVariables("OPENROUTER_API_KEY"),
    "qwen-token-plan": KeyVariables("QWEN_TOKEN_PLAN_API_KEY"),
    "qwen-token-plan-cn": KeyVariables("QWEN_TOKEN_PLAN_CN_API_KEY"),
    "qwen-token-plan-individual": KeyVariables("QWEN_TOKEN_PLAN_API_KEY"),
    "radius": KeyVariables("RADIUS_API_KEY"),
    "together": KeyVariables("TOGETHER_API_KEY"),
    "typesafe": KeyVariables("TYPESAFE_API_KEY"),
    "vercel-ai-gateway": KeyVariables("AI_GATEWAY_API_KEY"),
    "xai": KeyVariables("XAI_API_KEY"),
    "xiaomi": KeyVariables("XIAOMI_API_KEY"),
    "xiaomi-token-plan-ams": KeyVariables("XIAOMI_TOKEN_PLAN_AMS_API_KEY"),
    "xiaomi-token-plan-cn": KeyVariables("XIAOMI_TOKEN_PLAN_CN_API_KEY"),
    "xiaomi-token-plan-sgp": KeyVariables("XIAOMI_TOKEN_PLAN_SGP_API_KEY"),
    "zai": KeyVariables("ZAI_API_KEY"),
    "zai-coding-cn": KeyVariables("ZAI_CODING_CN_API_KEY"),
}


# All variables that a key may be in.
KEY_NAMES = frozenset(name for each in KEY_VARIABLES.values() for name in (each.set, *each.unset))
KNOWN_PROVIDERS = frozenset(KEY_VARIABLES)


def key_variables(provider: str, model: str) -> KeyVariables | None:
    """Return the variables of a provider, given by name or as `provider/` before the model."""
    named = _provider_name(provider, model).lower()  # pi does not mind case either
    return KEY_VARIABLES.get(named)


def renamed_provider(profile: Profile, traits: PiTraits) -> tuple[str, str] | None:
    """Return the provider's name in the profile and its name here, where they differ."""
    name = _provider_name(profile.provider, profile.model)
    today = traits.renamed_providers.get(name.lower())
    return (name, today) if today else None


def with_provider(profile: Profile, name: str, today: str) -> Profile:
    """Return the profile with a provider's name replaced wherever it stands."""
    model = profile.model
    prefix, slash, rest = model.partition("/")
    if slash and prefix.lower() == name.lower():
        model = f"{today}/{rest}"
    return replace(profile, provider=today if profile.provider else "", model=model)


def _provider_name(provider: str, model: str) -> str:
    prefix, slash, _ = model.partition("/")
    return provider or (prefix if slash else "")
