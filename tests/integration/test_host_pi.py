"""Children of a pi run on that very pi, which says in its greeting what it runs in."""

from __future__ import annotations

import json
import shlex
from typing import TYPE_CHECKING, Any

import pytest
from tests.fakes.bridge_host import open_bridge
from tests.fakes.driver import FAKE_NODE, FAKE_PI_COMMAND
from tests.fakes.fake_node import write_script
from tests.fakes.preset_place import MODEL, PresetPlace

from pi_subagents.engines.pi import messages as pi_messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.fakes.bridge_host import BridgeHost
    from tests.fakes.driver import FakeProcess
    from tests.fakes.workplace import Workplace

DELEGATE = "delegate_to_subagents"


def compiled_pi(place: Workplace, name: str = "pi") -> Path:
    """Write a pi that is one program without a script, and on no PATH."""
    path = place.home / "opt" / name / "pi"
    return write_script(path, f'#!/bin/sh\nexec {FAKE_PI_COMMAND} "$@"\n')


def scripted_pi(place: Workplace, name: str) -> dict[str, str]:
    """Write a pi that Node runs; return what it says of itself.  Only such a child is shared."""
    package = place.home / "opt" / name
    script = write_script(package / "cli.js", f'#!/bin/sh\nexec {FAKE_PI_COMMAND} "$@"\n')
    manifest = {"name": "@earendil-works/pi-coding-agent", "version": "1.5.0"}
    (package / "package.json").write_text(json.dumps(manifest))
    return {"program": str(FAKE_NODE), "script": str(script), "piVersion": "1.5.0"}


def nothing_chosen(place: Workplace) -> dict[str, str]:
    return {name: value for name, value in place.env.items() if name != "PI_SUBAGENTS_PI"}


@pytest.fixture
async def host(place: Workplace) -> AsyncIterator[BridgeHost]:
    """Have a core for which nobody has chosen a pi."""
    async with open_bridge(place.project, nothing_chosen(place)) as made:
        yield made


def pi_of(place: Workplace, child: FakeProcess) -> Any:
    return json.loads((place.store.runs_dir / child.run_id / "meta.json").read_text())["pi"]


async def delegated(place: Workplace, host: BridgeHost, name: str) -> FakeProcess:
    """Let one task come and go, and its child wait for another."""
    asked = host.begin(name, DELEGATE, {"tasks": [{"name": name, "prompt": name}]})
    child = await place.child(name)
    await child.say("done")
    await child.settle()
    result = (await host.answer(asked))["result"]
    assert result["details"]["results"][0]["output"] == "done"
    return child


async def test_every_way_to_start_a_child_takes_the_hosts_own_pi(
    place: Workplace, host: BridgeHost
) -> None:
    here = PresetPlace(place)
    here.preset("scout", f"model: {MODEL}")
    own = {"program": str(compiled_pi(place)), "script": "/$bunfs/root/pi", "piVersion": "1.5.0"}
    await host.open(**own)
    expected = {"source": "host", "version": "1.5.0"}
    assert pi_of(place, await delegated(place, host, "one")) == expected
    # Without a list of the host's models that very pi is asked for them.
    asked = host.begin("c1", "subagent", {"preset": "scout", "task": "look"})
    looking = await place.child("look")
    assert pi_of(place, looking) == expected
    await looking.answer_and_exit("seen")
    await host.answer(asked)
    started = await host.call("background_agent", {"preset": "scout", "task": "dig"})
    digging = await place.child("dig")
    assert (started["isError"], pi_of(place, digging)) == (False, expected)
    await digging.answer_and_exit("found")
    await here.ended(started["details"]["runId"])
    assert host.all_told("notify") == []
    assert await host.bye() == 0


@pytest.mark.parametrize("version", ["0.87.1", "1.5.0"])
async def test_what_the_hosts_own_pi_knows_counts_for_its_profiles(
    place: Workplace, host: BridgeHost, version: str
) -> None:
    path = place.home / ".pi/agent/agent-profiles/reader.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text("---\nname: reader\nprovider: acme\n---\nRead.\n")
    await host.open(program=str(compiled_pi(place)), piVersion=version)
    said = await host.request("profile", line="lint", hasUI=True)
    refused = pi_messages.provider_needs_model(f"pi {version}") in said["text"]
    assert refused == (version == "1.5.0"), said


async def test_a_host_that_says_nothing_of_itself_is_served_as_before(host: BridgeHost) -> None:
    await host.open()
    answer = await host.call(DELEGATE, {"tasks": [{"name": "a", "prompt": "a"}]})
    assert answer["isError"]
    assert answer["content"][0]["text"].startswith("No pi found. ")


@pytest.mark.parametrize("chooser", ["environment", "settings"])
async def test_another_version_that_somebody_chose_is_said_once_in_a_session(
    place: Workplace, chooser: str
) -> None:
    package = place.home / "other" / "pi"
    script = write_script(package / "cli", f'#!/bin/sh\nexec {FAKE_PI_COMMAND} "$@"\n')
    manifest = {"name": "@earendil-works/pi-coding-agent", "version": "0.87.1"}
    (package / "package.json").write_text(json.dumps(manifest))
    env = nothing_chosen(place)
    if chooser == "environment":
        env["PI_SUBAGENTS_PI"] = shlex.quote(str(script))
    else:
        place.settings(pi_command=[str(script)])
    own = {"program": str(compiled_pi(place)), "script": None, "piVersion": "1.5.0"}
    async with open_bridge(place.project, env) as host:
        for session in ("s1", "s2"):
            await host.open(session=session, reason="new", **own)
            for name in ("one", "two"):
                child = await delegated(place, host, f"{session} {name}")
                assert pi_of(place, child) == {"source": chooser, "version": "0.87.1"}
        assert await host.bye() == 0
        by = {"environment": "PI_SUBAGENTS_PI", "settings": "the setting subagents.pi_command"}
        said = pi_messages.other_pi_than_the_host("0.87.1", by[chooser], "1.5.0")
        assert said == f"Sub-agents run on pi 0.87.1, from {by[chooser]}. You work in pi 1.5.0."
        note = {"message": said, "level": "warning"}
        assert host.all_told("notify") == [
            {"sessionId": session, **note} for session in ("s1", "s2")
        ]


async def test_a_child_that_waits_serves_no_other_pi(place: Workplace, host: BridgeHost) -> None:
    own, other = (scripted_pi(place, name) for name in "ab")
    await host.open(**own)
    first = await delegated(place, host, "one")
    await host.open(session="s2", **own)
    assert (await delegated(place, host, "two")).pid == first.pid
    await host.open(session="s3", **other)
    third = await delegated(place, host, "three")
    assert third.pid != first.pid
    assert await host.bye() == 0
