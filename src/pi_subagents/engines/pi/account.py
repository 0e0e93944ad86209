"""
The account that pays for a child: its provider, and which of the user's accounts there.

In: a profile, the command line that it comes to, where the child is to work.  Out: the provider's
name, empty where only pi knows it, and a mark that tells accounts apart and gives nothing away.
"""

from __future__ import annotations

import hashlib
import re
from itertools import pairwise
from typing import TYPE_CHECKING

from pi_subagents.engines.pi.models.config import config_object
from pi_subagents.engines.pi.profile.providers import key_variables
from pi_subagents.system.home import PROJECT_DIR, agent_dir

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pi_subagents.core.profile.profile import Profile
    from pi_subagents.engines.base import CallPlace

_MARK = 8  # characters
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")


def account_of(
    profile: Profile, argv: tuple[str, ...], place: CallPlace, cwd: Path, *, trusted: bool
) -> tuple[str, str]:
    """Return provider and account; the last provider of a command line counts."""
    named = [word for option, word in pairwise(argv) if option == "--provider"]
    before_model = profile.model.partition("/")[0] if "/" in profile.model else ""
    places = ([cwd / PROJECT_DIR] if trusted else []) + [agent_dir(place.env)]
    defaults = (config_object(each / "settings.json").get("defaultProvider") for each in places)
    found = (*named[-1:], before_model, *defaults)
    provider = next((each for each in found if isinstance(each, str) and each), "")
    variables = key_variables(provider, "")
    given = profile.api_key or (place.env.get(variables.set, "") if variables else "")
    stored = _stored(agent_dir(place.env), provider, place.env)
    known_by = stored or (f"key {given}" if given else f"login {places[-1]}")
    return provider, hashlib.sha256(known_by.encode("utf-8", "replace")).hexdigest()[:_MARK]


def _stored(directory: Path, provider: str, env: Mapping[str, str]) -> str:
    """
    Return what tells the account that pi has stored, which counts before every key that is given.

    Tokens of a login change all the time: where it does not name its account, nothing tells it.
    """
    login = _object_at(config_object(directory / "auth.json"), provider)
    if name := login.get("key") or login.get("accountId"):
        return f"stored {name}"
    if login:
        return f"login {directory}"
    providers = _object_at(config_object(directory / "models.json"), "providers")
    key = _object_at(providers, provider).get("apiKey")
    values = [env.get(name, "") for name in _VARIABLE.findall(key)] if isinstance(key, str) else []
    return " ".join(["configured", str(key), *values]) if key else ""


def _object_at(found: Mapping[str, object], key: str) -> Mapping[str, object]:
    inner = found.get(key)
    return inner if isinstance(inner, dict) else {}
