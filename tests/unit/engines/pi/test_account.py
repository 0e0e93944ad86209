"""Which account pays for a child: a limit of one is none of another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.settings import Settings
from pi_subagents.engines.base import CallPlace
from pi_subagents.engines.pi.account import account_of

if TYPE_CHECKING:
    from pathlib import Path

    from pi_subagents.core.value import JsonObject

ACME: JsonObject = {"baseUrl": "http://127.0.0.1:1", "apiKey": "one"}


def account(home: Path, profile: Profile | None = None, **env: str) -> tuple[str, str]:
    place = CallPlace(home, {"HOME": str(home), **env}, Settings(), lambda _: False)
    argv = ("pi", "--provider", "anthropic" if profile is None else profile.provider)
    return account_of(profile or Profile(""), argv, place, home, trusted=False)


def stores(home: Path, name: str, content: JsonObject) -> None:
    directory = home / ".pi" / "agent"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(json.dumps(content))


def test_a_key_is_an_account_and_is_not_given_away(tmp_path: Path) -> None:
    one, two = (account(tmp_path, ANTHROPIC_API_KEY=key) for key in ("one", "two"))
    assert one != two != account(tmp_path)
    assert one == account(tmp_path, ANTHROPIC_API_KEY="one")
    provider, mark = one
    assert (provider, len(mark), "one" in mark) == ("anthropic", 8, False)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"type": "api_key", "key": "one"}, {"type": "api_key", "key": "two"}),
        ({"type": "oauth", "accountId": "one"}, {"type": "oauth", "accountId": "two"}),
    ],
)
def test_what_pi_has_stored_is_another_account_once_it_is_changed(
    tmp_path: Path, first: JsonObject, second: JsonObject
) -> None:
    stores(tmp_path, "auth.json", {"anthropic": first})
    one = account(tmp_path)
    assert account(tmp_path, ANTHROPIC_API_KEY="given") == one, "what is stored counts before it"
    stores(tmp_path, "auth.json", {"anthropic": second})
    assert account(tmp_path) != one


def test_a_login_stays_the_same_account_when_its_tokens_are_renewed(tmp_path: Path) -> None:
    accounts = set()
    for token in ("one", "two"):
        login = {"type": "oauth", "access": token, "refresh": token, "expires": 1}
        stores(tmp_path, "auth.json", {"anthropic": login})
        accounts.add(account(tmp_path, ANTHROPIC_API_KEY=token))
    assert len(accounts) == 1


def test_a_provider_of_the_users_own_has_the_account_of_its_key(tmp_path: Path) -> None:
    acme, seen = Profile("", provider="acme"), []
    for key, value in (("one", ""), ("two", ""), ("$ACME", "one"), ("${ACME}", "two")):
        stores(tmp_path, "models.json", {"providers": {"acme": {**ACME, "apiKey": key}}})
        seen.append(account(tmp_path, acme, ACME=value))
    assert len(set(seen)) == 4


@pytest.mark.parametrize("odd", [[], {"acme": 1}, {"providers": []}, {"providers": {"acme": 7}}])
def test_files_in_another_form_tell_no_account(tmp_path: Path, odd: JsonObject) -> None:
    acme = Profile("", provider="acme")
    plain = account(tmp_path, acme)
    stores(tmp_path, "models.json", odd)
    stores(tmp_path, "auth.json", odd)
    assert account(tmp_path, acme) == plain
