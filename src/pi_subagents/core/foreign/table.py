"""Which programs' agents can be read, where their files are, and which parser reads each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.core.foreign.claude_code import parse_claude_code
from pi_subagents.core.foreign.codex import parse_codex
from pi_subagents.core.foreign.gemini import parse_gemini
from pi_subagents.core.foreign.names import CLAUDE_CODE, CODEX, GEMINI, OPENCODE
from pi_subagents.core.foreign.opencode import parse_opencode
from pi_subagents.core.value import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.foreign.agent import ForeignAgent


@value
class AgentFormat:
    """One program: its name, where its files are below a project and a home, who reads them."""

    title: str
    parse: Callable[[str, bytes], tuple[ForeignAgent, ...]]
    in_project: tuple[str, ...]
    in_home: tuple[str, ...]


FORMATS = {
    CLAUDE_CODE: AgentFormat(
        "Claude Code", parse_claude_code, (".claude/agents/*.md",), (".claude/agents/*.md",)
    ),
    OPENCODE: AgentFormat(
        "opencode",
        parse_opencode,
        (".opencode/agent/*.md", ".opencode/agents/*.md"),
        (".config/opencode/agent/*.md", ".config/opencode/agents/*.md"),
    ),
    CODEX: AgentFormat(
        "Codex",
        parse_codex,
        (".codex/agents/*.toml", ".codex/config.toml"),
        (".codex/agents/*.toml", ".codex/config.toml"),
    ),
    GEMINI: AgentFormat(
        "Gemini CLI", parse_gemini, (".gemini/agents/*.md",), (".gemini/agents/*.md",)
    ),
}
