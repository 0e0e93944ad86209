from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import texts, thoroughly

from pi_subagents.faces.watch.web_guard import Admitted, PageGuard

GUARD = PageGuard(8080, "secret")
HOST = {"Host": "127.0.0.1:8080"}
OURS = {**HOST, "Origin": "http://127.0.0.1:8080"}


def test_the_address_has_the_token() -> None:
    assert GUARD.address == "http://127.0.0.1:8080/secret/"


@pytest.mark.parametrize(
    ("method", "target", "headers", "asked"),
    [
        ("GET", "/secret/", HOST, Admitted(("",), {})),
        ("GET", "/secret/events?words=a+b&which=active&which=all", OURS,
         Admitted(("events",), {"words": "a b", "which": "all"})),
        ("GET", "/secret/", {**HOST, "Sec-Fetch-Site": "none"}, Admitted(("",), {})),
        ("POST", "/secret/stop/1", OURS, Admitted(("stop", "1"), {})),
    ],
)  # fmt: skip
def test_the_page_gets_what_it_asks_for(
    method: str, target: str, headers: dict[str, str], asked: Admitted
) -> None:
    assert GUARD.admit(method, target, headers) == asked


@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("GET", "/", HOST),
        ("GET", "/secret", HOST),
        ("GET", "/wrong/", HOST),
        ("GET", "/secret2/", HOST),
        ("GET", "/?token=secret", HOST),
        ("GET", "//secret/", HOST),
        ("GET", "/secret/", {}),
        ("GET", "/secret/", {"Host": "localhost:8080"}),
        ("GET", "/secret/", {"Host": "127.0.0.1"}),
        ("GET", "/secret/", {"Host": "127.0.0.1:8081"}),
        ("GET", "/secret/", {"Host": "evil.test:8080"}),
        ("GET", "/secret/", {**HOST, "Origin": "http://evil.test"}),
        ("GET", "/secret/", {**HOST, "Origin": "null"}),
        ("GET", "/secret/", {**HOST, "Origin": "https://127.0.0.1:8080"}),
        ("GET", "/secret/", {**HOST, "Sec-Fetch-Site": "cross-site"}),
        ("POST", "/secret/stop/1", HOST),
        ("POST", "/secret/stop/1", {**HOST, "Origin": "http://127.0.0.1:9"}),
        ("GET", "http://[/secret/", HOST),
        ("GET", "/secret/?a&b&c&d&e&f&g&h&i&j=1", HOST),
    ],
)
def test_everything_else_gets_nothing(method: str, target: str, headers: dict[str, str]) -> None:
    assert GUARD.admit(method, target, headers) is None


@given(texts, texts, st.dictionaries(st.sampled_from(["Host", "Origin"]), texts))
@thoroughly
def test_no_request_without_the_token_is_admitted(
    method: str, target: str, headers: dict[str, str]
) -> None:
    assert GUARD.admit(method, target, {**HOST, **headers}) is None
