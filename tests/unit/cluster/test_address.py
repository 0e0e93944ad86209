"""The address of a cluster: understood as libpq does, shown without its password."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_subagents.cluster.address import cluster_address, parse_address
from pi_subagents.core.settings import Settings, parse_settings
from pi_subagents.errors.cluster import ClusterAddressInvalid, ClusterAddressMissing

SECRETS = st.text(
    st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters="\x7f"), min_size=4
).map(lambda text: f"canary{text}")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ci:x@db.example.org/agents", "db.example.org:5432/agents as ci"),
        ("postgres://ci@db.example.org:6000/agents?sslmode=require", "db.example.org:6000/agents as ci"),
        ("host=db.example.org dbname=agents user=ci password=x", "db.example.org:5432/agents as ci"),
        ("postgresql:///agents", "this machine/agents"),
        ("user=ci", "this machine/ci as ci"),
        ("postgresql://ci@one,two:7000/agents", "one,two:,7000/agents as ci"),
    ],
)  # fmt: skip
def test_an_address_is_shown_as_where_it_leads(text: str, shown: str) -> None:
    address = parse_address(text, {})
    assert (address.shown, str(address)) == (shown, shown)


@pytest.mark.parametrize("text", ["mysql://x/y", "nonsense", "host=", "postgresql://", "a=b", "\0"])
def test_what_is_no_address_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ClusterAddressInvalid) as found:
        parse_address(text, {})
    assert str(found.value).startswith("The address of the cluster is not one of PostgreSQL: it ")


@given(SECRETS)
def test_no_password_is_ever_in_what_is_shown(password: str) -> None:
    address = parse_address(f"postgresql://ci:{quote(password, safe='')}@db/agents", {})
    assert address.parameters("x")["password"] == password
    for text in (repr(address), str(address), f"{address}", address.shown, repr([address])):
        assert "canary" not in text


@given(st.text())
def test_any_text_is_an_address_or_is_refused(text: str) -> None:
    try:
        address = parse_address(f"canary{text}", {})
    except ClusterAddressInvalid as error:
        assert "canary" not in str(error)  # noqa: PT017 - either is right
    else:
        assert address.shown.isprintable()


def test_the_environment_comes_before_the_users_settings() -> None:
    settings = Settings(cluster="postgresql://a@db/of-settings")
    assert cluster_address(settings, {}).shown == "db:5432/of-settings as a"
    env = {"PI_SUBAGENTS_CLUSTER": "postgresql://a@db/of-environment"}
    assert cluster_address(settings, env).shown == "db:5432/of-environment as a"
    with pytest.raises(ClusterAddressMissing):
        cluster_address(Settings(), {})


def test_a_projects_settings_never_say_where_the_cluster_is() -> None:
    settings, problems = parse_settings(
        {"subagents": {}}, {"subagents": {"cluster": "postgresql://theirs/x"}}
    )
    assert settings.cluster == ""
    assert [problem.where for problem in problems] == ["project settings: subagents.cluster"]
