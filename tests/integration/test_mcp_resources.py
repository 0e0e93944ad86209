"""What a host can read without a tool: sessions, profiles, presets; and what is not there."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError
from tests import tool_names
from tests.fakes import canary
from tests.fakes.mcp_host import in_process, tasks, value_of
from tests.fakes.preset_place import MODEL, PROMPT, PresetPlace

from pi_subagents.faces.mcp_server import messages
from pi_subagents.faces.mcp_server.prompts import PROMPTS

if TYPE_CHECKING:
    from mcp.client.client import Client
    from tests.fakes.workplace import Workplace

INVALID_PARAMS = -32602


@pytest.fixture
def here(place: Workplace) -> PresetPlace:
    made = PresetPlace(place)
    made.preset("scout", f"model: {MODEL}")
    return made


async def read(client: Client, uri: str) -> tuple[str, str | None]:
    (found,) = (await client.read_resource(uri)).contents
    assert str(found.uri) == uri
    return found.text, found.mime_type  # type: ignore[union-attr]  # all of ours are text


async def test_a_session_is_read_as_transcript_and_as_result(here: PresetPlace) -> None:
    async with in_process(here.work) as client:
        call = asyncio.create_task(client.call_tool(tool_names.DELEGATE, tasks("a")))
        child = await here.work.child("a")
        await child.tool("bash", {"command": "make test"})
        await child.answer_and_exit("half \ud83d a character")
        number = value_of(await call)["results"][0]["sessionId"]
        text, kind = await read(client, f"subagents://sessions/{number}")
        assert kind == "text/plain"
        assert "make test" in text
        assert "half \N{REPLACEMENT CHARACTER} a character" in text
        text, kind = await read(client, f"subagents://sessions/{number}/result")
        value = json.loads(text)
        assert value["usage"]["totalTokens"] > 0
        assert (kind, value) == (
            "application/json",
            {
                "model": "fake/fake-1",
                "usage": value["usage"],
                "sessionId": number,
                "status": "completed",
                "taskName": "a",
                "runCount": 1,
                "totalCharacters": 18,
                "text": "half \N{REPLACEMENT CHARACTER} a character",
            },
        )
        listed = {str(each.uri): each for each in (await client.list_resources()).resources}
    noted = listed[f"subagents://sessions/{number}"]
    assert (noted.name, noted.description, noted.mime_type) == (
        f"session {number}",
        "a: completed",
        "text/plain",
    )


async def test_profiles_and_presets_are_read_without_their_keys(here: PresetPlace) -> None:
    async with in_process(here.work) as client:
        profile, kind = await read(client, f"subagents://profiles/{canary.PROFILE}")
        assert ("anthropic" in profile, kind) == (True, "text/plain")
        assert canary.heard(profile) == []
        preset, _ = await read(client, "subagents://presets/scout")
        assert PROMPT in preset
        assert MODEL in preset
        listed = {str(each.uri): each for each in (await client.list_resources()).resources}
        assert list(listed) == [
            f"subagents://profiles/{canary.PROFILE}",
            "subagents://presets/scout",
        ]
        assert canary.heard(str(listed)) == []


@pytest.mark.parametrize(
    "uri",
    [
        "subagents://sessions/0000000000000000",
        "subagents://sessions/0000000000000000/result",
        "subagents://sessions/../../etc/passwd",
        "subagents://sessions/",
        "subagents://profiles/nobody",
        "subagents://profiles/%2e%2e%2fkeyed",
        "subagents://presets/nobody",
        "subagents://presets/scout/more",
        "subagents://",
        "file:///etc/passwd",
        "subagents:sessions/x",
        "",
    ],
)
async def test_where_there_is_nothing_the_error_says_so(here: PresetPlace, uri: str) -> None:
    async with in_process(here.work) as client:
        with pytest.raises(MCPError) as refused:
            await client.read_resource(uri)
    assert (refused.value.code, refused.value.message) == (
        INVALID_PARAMS,
        messages.unknown_resource(uri),
    )


@pytest.mark.parametrize(
    ("name", "given", "problem"),
    [
        ("nobody", {}, messages.unknown_prompt("nobody")),
        ("parallel-review", {}, messages.prompt_needs("parallel-review", "subject")),
        (
            "in-the-background",
            {"task": "t"},
            messages.prompt_needs("in-the-background", "preset"),
        ),
    ],
)
async def test_a_prompt_that_cannot_be_had_is_an_error(
    place: Workplace, name: str, given: dict[str, Any], problem: str
) -> None:
    async with in_process(place) as client:
        with pytest.raises(MCPError) as refused:
            await client.get_prompt(name, given)
    assert (refused.value.code, refused.value.message) == (INVALID_PARAMS, problem)


async def test_every_prompt_is_offered_with_what_it_needs(place: Workplace) -> None:
    async with in_process(place) as client:
        prompts = (await client.list_prompts()).prompts
    assert [
        (
            each.name,
            each.description,
            [(a.name, a.description, a.required) for a in each.arguments or ()],
        )
        for each in prompts
    ] == [
        (each.name, each.description, [(name, said, True) for name, said in each.arguments.items()])
        for each in PROMPTS
    ]


async def test_a_tool_that_nobody_has_is_an_error_of_the_protocol(place: Workplace) -> None:
    async with in_process(place) as client:
        with pytest.raises(MCPError) as refused:
            await client.call_tool("rm_rf", {})
    assert (refused.value.code, refused.value.message) == (
        INVALID_PARAMS,
        messages.unknown_tool("rm_rf"),
    )
