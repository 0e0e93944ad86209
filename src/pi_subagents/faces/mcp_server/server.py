"""
The server as the protocol's own library wants it: tools, resources, prompts.

In: how to delegate, and how long a host waits.  Out: an SDK server, for any transport.  The person
in front of a host can be asked where the host shows questions (the protocol's elicitation).  Only a
yes or no that was chosen counts: a host that declines or dismisses a question, with or without
showing it, said neither.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from pi_subagents._version import __version__
from pi_subagents.core.session.retrieval import in_one_text
from pi_subagents.faces.mcp_server import messages, resources
from pi_subagents.faces.mcp_server.calls import Person
from pi_subagents.faces.mcp_server.prompts import prompt_text, prompts_for
from pi_subagents.service.tools.offer import RETURNED, instructions
from pi_subagents.service.tools.outputs import sendable, structured
from pi_subagents.service.tools.registry import find_tool
from pi_subagents.view.answers import all_failed

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.types import (
        CallToolRequestParams,
        GetPromptRequestParams,
        PaginatedRequestParams,
        ReadResourceRequestParams,
    )

    from pi_subagents.faces.mcp_server.calls import McpCalls
    from pi_subagents.service.call import Options
    from pi_subagents.service.questions.people import PutQuestion
    from pi_subagents.service.tools.offer import Offer

    Context = ServerRequestContext[Any]
    Page = PaginatedRequestParams | None


_FIELD, _ANSWER = "use", "answer"
_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {_FIELD: {"type": "boolean", "title": messages.ASK_TITLE}},
    "required": [_FIELD],
}


def tool_list(offer: Offer) -> list[Tool]:
    """Return the tools on offer, with what a host may show of them."""
    return [
        Tool(
            name=tool.name,
            description=tool.description,
            input_schema=dict(tool.parameters),
            output_schema=dict(RETURNED),
            annotations=ToolAnnotations(
                read_only_hint=tool.effect == "reads",
                destructive_hint=tool.effect != "reads",
                idempotent_hint=tool.effect != "acts",
                open_world_hint=tool.effect == "acts",
            ),
        )
        for tool in offer.tools
    ]


def person_at(context: Context) -> Person | None:
    """Return how to ask the person in front of the host that made a call; None if it cannot."""
    session = context.session
    can_show = ClientCapabilities(elicitation=ElicitationCapability())
    if not (session.can_send_request and session.check_client_capability(can_show)):
        return None

    async def ask(question: str) -> bool | None:
        said = await session.elicit_form(question, _FORM, context.request_id)
        chosen = (said.content or {}).get(_FIELD) if said.action == "accept" else None
        return chosen if isinstance(chosen, bool) else None

    async def put(question: PutQuestion) -> str | None:
        answer: dict[str, Any] = {"type": "string", "title": messages.ANSWER_TITLE}
        if question.options:
            answer["enum"] = list(question.options)
        form = {"type": "object", "properties": {_ANSWER: answer}, "required": [_ANSWER]}
        asked = messages.asked_by(question.name, question.text, question.problem)
        said = await session.elicit_form(asked, form, context.request_id)
        chosen = (said.content or {}).get(_ANSWER) if said.action == "accept" else None
        return chosen if isinstance(chosen, str) and chosen.strip() else None

    return Person(ask, put)


def build_server(calls: McpCalls, options: Options) -> Server[Any]:
    """Return the server; the calls are its memory, and the caller's to close."""

    async def list_tools(_context: Context, _page: Page) -> ListToolsResult:
        return ListToolsResult(tools=tool_list(calls.offer))

    async def call_tool(context: Context, asked: CallToolRequestParams) -> CallToolResult:
        if asked.name not in calls.offer.names:
            raise MCPError(INVALID_PARAMS, messages.unknown_tool(asked.name))
        tool = find_tool(asked.name)

        async def report(elapsed_s: float, line: str) -> None:
            await context.session.report_progress(elapsed_s, None, line or None)

        arguments = asked.arguments or {}
        answer = sendable(await calls.answer(tool, arguments, report, person_at(context)))
        refused = bool(answer["isError"])
        failed = refused or (tool.live is not None and all_failed(answer))
        value = None if refused else structured(tool, answer)
        if tool.reading is not None:
            answer = in_one_text(answer)
        content = answer["content"]
        assert isinstance(content, list)
        return CallToolResult(
            content=[TextContent(type="text", text=block["text"]) for block in content],
            structured_content=value,
            is_error=failed,
        )

    async def list_resources(_context: Context, _page: Page) -> ListResourcesResult:
        found = [
            Resource(
                uri=resources.SCHEME + entry.address,
                name=sendable(entry.name),
                description=sendable(entry.description),
                mime_type=entry.mime_type,
            )
            for entry in await asyncio.to_thread(resources.listed, options)
        ]
        return ListResourcesResult(resources=found)

    async def list_templates(_context: Context, _page: Page) -> ListResourceTemplatesResult:
        found = [
            ResourceTemplate(
                uri_template=resources.SCHEME + entry.address,
                name=entry.name,
                description=entry.description,
                mime_type=entry.mime_type,
            )
            for entry in resources.TEMPLATES
        ]
        return ListResourceTemplatesResult(resource_templates=found)

    async def read_resource(
        _context: Context, asked: ReadResourceRequestParams
    ) -> ReadResourceResult:
        found = await resources.read(asked.uri, options)
        if found is None:
            raise MCPError(INVALID_PARAMS, messages.unknown_resource(asked.uri))
        text, mime_type = found
        contents = TextResourceContents(uri=asked.uri, mime_type=mime_type, text=sendable(text))
        return ReadResourceResult(contents=[contents])

    async def list_prompts(_context: Context, _page: Page) -> ListPromptsResult:
        found = [
            Prompt(
                name=prompt.name,
                title=prompt.title,
                description=prompt.description,
                arguments=[
                    PromptArgument(name=name, description=said, required=True)
                    for name, said in prompt.arguments.items()
                ],
            )
            for prompt in prompts_for(calls.offer.names)
        ]
        return ListPromptsResult(prompts=found)

    async def get_prompt(_context: Context, asked: GetPromptRequestParams) -> GetPromptResult:
        known = prompts_for(calls.offer.names)
        prompt = next((each for each in known if each.name == asked.name), None)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, messages.unknown_prompt(asked.name))
        try:
            text = prompt_text(prompt, asked.arguments or {})
        except KeyError as missing:
            problem = messages.prompt_needs(asked.name, str(missing.args[0]))
            raise MCPError(INVALID_PARAMS, problem) from missing
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=prompt.description, messages=[message])

    return Server(
        "subagents",
        version=__version__,
        title="Sub-agents",
        instructions=instructions(calls.offer.tools),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )
