from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import thoroughly

from pi_subagents.core.cluster.order import (
    BUNDLE,
    FORMAT,
    SHARED_PATH,
    TravelFile,
    TravelOrder,
    TravelSkill,
    TravelWork,
    TravelWorkspace,
)
from pi_subagents.core.cluster.order_json import order_from_bytes, order_to_bytes
from pi_subagents.core.profile.permissions import Permissions
from pi_subagents.core.profile.profile import Profile
from pi_subagents.core.run.spec import CheckOrder, ResumeOrder, RunLimits
from pi_subagents.core.workspace.bundle import Bundle
from pi_subagents.errors import OrderRefused

RUN, SESSION, DIGEST, COMMIT = "a" * 32, "b" * 16, "c" * 64, "d" * 40
PLAIN = TravelOrder(RUN, SESSION, TravelWork("task-1", "Say hello."))
FULL = TravelOrder(
    RUN,
    SESSION,
    TravelWork(
        "Über die Tests",
        "before\n\nFix it.",
        task="Fix it.",
        engine="acp:codex",
        profile=Profile(
            "fixer",
            provider="anthropic",
            model="opus",
            system_prompt="You fix.\n",
            tools=(),
            exclude_tools=("bash",),
            no_skills=True,
            confine=True,
            questions="ask",
            permissions=Permissions(execute="ask", fetch="deny"),
        ),
        skills=(
            TravelSkill("tidy", (TravelFile("SKILL.md", "# Tidy"), TravelFile("a/b.txt", ""))),
        ),
        schema='{"type":"string"}',
        check=CheckOrder("make test", 3),
        trusted=True,
        offline=True,
        script='{"default":[]}',
        notes=("one", "two"),
    ),
    limits=RunLimits(
        timeout_s=600.0,
        looping_tool_count=0,
        budgets={"task": {"tokens": 1000, "cost": 0.5}},
        prices={"a/b": (1.0, 2.0, 0.1, 1.25)},
        answer_within_s=60,
    ),
    resume=ResumeOrder("native", model="opus"),
    session=DIGEST,
    workspace=TravelWorkspace(
        BUNDLE, (Bundle(COMMIT, "", DIGEST, 100),), prefix="sub/dir", max_bytes=1000, keep=True
    ),
    attached=False,
    made_by="0.1.0",
)


@pytest.mark.parametrize("order", [PLAIN, FULL], ids=["plain", "full"])
def test_an_order_arrives_as_it_was_sent(order: TravelOrder) -> None:
    assert order_from_bytes(order_to_bytes(order)) == order


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
names = st.from_regex(r"[a-z0-9_-]{1,12}", fullmatch=True)
profiles = st.builds(
    Profile,
    texts,
    model=texts,
    system_prompt=texts,
    append_system_prompt=texts,
    tools=st.none() | st.lists(texts, max_size=3).map(tuple),
    exclude_tools=st.none() | st.lists(texts, max_size=3).map(tuple),
    load_skills=st.lists(texts, max_size=3).map(tuple),
    no_tools=st.booleans(),
    thinking_level=st.sampled_from(["", "off", "max"]),
    permissions=st.builds(Permissions, read=st.sampled_from(["allow", "ask", "deny"])),
)
works = st.builds(
    TravelWork,
    texts.filter(bool),
    texts.filter(bool),
    task=texts,
    engine=st.sampled_from(["", "pi", "acp:codex"]),
    profile=st.none() | profiles,
    skills=st.dictionaries(names, st.dictionaries(names, texts, max_size=3), max_size=3).map(
        lambda skills: tuple(
            TravelSkill(name, tuple(TravelFile(*each) for each in files.items()))
            for name, files in skills.items()
        )
    ),
    check=st.builds(CheckOrder, texts, st.integers(0, 5)),
    notes=st.lists(texts, max_size=3).map(tuple),
    trusted=st.booleans(),
)
orders = st.builds(
    TravelOrder,
    st.just(RUN),
    st.just(SESSION),
    works,
    limits=st.builds(
        RunLimits,
        timeout_s=st.none() | st.floats(0, 86_400),
        wrap_up_s=st.floats(0, 3600),
        max_run_bytes=st.integers(0, 10**9),
        budgets=st.dictionaries(texts, st.just({"turns": 3}), max_size=2),
    ),
    attached=st.booleans(),
)


@thoroughly
@given(orders)
def test_any_order_arrives_as_it_was_sent(order: TravelOrder) -> None:
    assert order_from_bytes(order_to_bytes(order)) == order


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=10,
)
KEYS = sorted({*TravelOrder.__match_args__, *TravelWork.__match_args__, "runId", "madeBy"})


@thoroughly
@given(key=st.sampled_from(KEYS), other=anything, in_work=st.booleans())
def test_whatever_a_member_is_the_order_is_read_or_refused(
    key: str, other: object, *, in_work: bool
) -> None:
    changed = json.loads(order_to_bytes(FULL))
    (changed["work"] if in_work else changed)[key] = other
    try:
        read = order_from_bytes(json.dumps(changed).encode())
    except OrderRefused:
        return
    assert order_from_bytes(order_to_bytes(read)) == read


@thoroughly
@given(st.binary(max_size=60) | anything.map(lambda each: json.dumps(each).encode()))
def test_bytes_that_are_no_order_are_refused(content: bytes) -> None:
    with pytest.raises(OrderRefused):
        order_from_bytes(content)


def refusal(path: str, other: object) -> tuple[str, str]:
    """Return why the full order is refused with another value at that path."""
    content = json.loads(order_to_bytes(FULL))
    *above, last = path.split(".")
    place = content
    for key in above:
        place = place[int(key)] if isinstance(place, list) else place[key]
    place[last] = other
    with pytest.raises(OrderRefused) as refused:
        order_from_bytes(json.dumps(content).encode())
    return refused.value.where, refused.value.problem


LEADS_ELSEWHERE = "is no path below its directory"


@pytest.mark.parametrize(
    ("path", "other", "where", "problem"),
    [
        ("v", FORMAT + 1, "order", "is of another version of pi-subagents"),
        ("environment", {"KEY": "x"}, "order", "has an unknown field, 'environment'"),
        ("argv", ["sh"], "order", "has an unknown field, 'argv'"),
        ("runId", "../../etc", "order.runId", "does not have the form it must have"),
        ("runId", "", "order.runId", "is missing"),
        ("sessionId", "g" * 16, "order.sessionId", "does not have the form it must have"),
        ("work.name", "n" * 201, "order.work.name", "is too large: 201, of at most 200"),
        ("work.prompt", "nul \0", "order.work.prompt", "has characters that cannot be stored"),
        ("work.prompt", "\ud800", "order.work.prompt", "has characters that cannot be stored"),
        ("work.engine", "../sh", "order.work.engine", "does not have the form it must have"),
        ("work.trusted", 1, "order.work.trusted", "is neither true nor false"),
        ("work.schema", "{", "order.work.schema", "is no JSON text"),
        ("work.profile.apiKey", "k", "order.work.profile", "has an unknown field, 'apiKey'"),
        ("work.profile.extensions", ["/x.ts"], "order.work.profile", "has an unknown field, 'extensions'"),
        ("work.profile.extraArgs", ["-e"], "order.work.profile", "has an unknown field, 'extraArgs'"),
        ("work.profile.tools", "bash", "order.work.profile.tools", "is no list of at most 1000"),
        ("work.profile.mcp", "some", "order.work.profile.mcp", "is none of the words it may be"),
        (
            "work.profile.permissions.execute", "perhaps",
            "order.work.profile.permissions", "is none of the words it may be",
        ),
        ("work.skills.0.name", "../tidy", "order.work.skills[0].name", LEADS_ELSEWHERE),
        ("work.skills.0.name", "..", "order.work.skills[0].name", LEADS_ELSEWHERE),
        ("work.skills.0.files.0.path", "../x", "order.work.skills[0].files[0].path", LEADS_ELSEWHERE),
        ("work.skills.0.files.0.path", "/etc/x", "order.work.skills[0].files[0].path", LEADS_ELSEWHERE),
        ("work.skills.0.files.0.path", "a/./b", "order.work.skills[0].files[0].path", LEADS_ELSEWHERE),
        ("work.skills.0.files.0.path", "a\nb", "order.work.skills[0].files[0].path", LEADS_ELSEWHERE),
        ("work.skills.0.files.0.path", "a/b.txt", "order.work.skills[0].files", "has one name twice"),
        ("work.skills.0.files.0.path", "a", "order.work.skills[0].files", "has one name twice"),
        ("limits.timeoutS", -1, "order.limits.timeoutS", "is not between 0 and 86400"),
        ("limits.timeoutS", float("inf"), "order.limits.timeoutS", "is not between 0 and 86400"),
        ("limits.maxRunBytes", 1.5, "order.limits.maxRunBytes", "is no whole number"),
        ("limits.maxChildren", 9, "order.limits", "has an unknown field, 'maxChildren'"),
        ("limits.budgets", {"x": {"gold": 1}}, "order.limits.budgets.x", "has an unknown field, 'gold'"),
        (
            "limits.prices", {"m": [1]},
            "order.limits.prices.m", "needs four amounts: input, output, cache reads, cache writes",
        ),
        ("work.check.rounds", 99, "order.work.check.rounds", "is not between 0 and 5"),
        ("workspace.prefix", "../..", "order.workspace.prefix", LEADS_ELSEWHERE),
        (
            "workspace.packs", [], "order.workspace", "does not fit the kind of workspace",
        ),
        (
            "workspace.packs", [{}],
            "order.workspace.packs",
            "cannot be opened (bundles[0]: must be an object with commit, base, digest, size)",
        ),
        ("workspace.kind", "home", "order.workspace.kind", "is none of the words it may be"),
        ("workspace.kind", "none", "order.workspace", "does not fit the kind of workspace"),
        ("workspace.kind", SHARED_PATH, "order.workspace", "does not fit the kind of workspace"),
        ("workspace.path", "../x", "order.workspace.path", "is no absolute path"),
        ("resume.how", "telepathy", "order.resume.how", "is none of the words it may be"),
        ("work.offline", False, "order.work.script", "is there for a model that is not the offline one"),
    ],
)  # fmt: skip
def test_an_order_that_is_not_quite_ours_is_refused_by_place(
    path: str, other: object, where: str, problem: str
) -> None:
    assert refusal(path, other) == (where, problem)


def test_an_order_that_is_too_large_is_refused_before_it_is_read() -> None:
    with pytest.raises(OrderRefused, match=r"is too large: 8,388,609, of at most 8,388,608"):
        order_from_bytes(b" " * (8 * 1024 * 1024 + 1))
