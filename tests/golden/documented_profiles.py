"""The example profiles of the documentation, file by file, as the values they must be read as."""

from __future__ import annotations

from pathlib import Path

from pi_subagents.core.profile.profile import Profile

PLACE = Path(__file__).parent / "profiles"
_REVIEW = """You are an expert code reviewer. Analyze code for:

1. **Bugs** — logic errors, race conditions, edge cases
2. **Security** — injection, auth issues, data leaks
3. **Performance** — unnecessary allocations, inefficient algorithms
4. **Maintainability** — clarity, naming, structure

Be thorough but concise. Report findings in order of severity."""

PROFILES = (
    Profile(
        "code-reviewer",
        provider="anthropic",
        model="claude-sonnet-4-5",
        thinking_level="high",
        tools=("read", "bash", "grep", "edit", "write"),
        system_prompt=_REVIEW,
    ),
    Profile("fast", model="anthropic/claude-sonnet-4-5"),
    Profile(
        "fast-worker",
        provider="dashscope",
        model="qwen3.5-plus",
        thinking_level="off",
        append_system_prompt=(
            "Be concise. Skip explanations unless explicitly asked. "
            "Return only code or direct answers."
        ),
        no_extensions=True,
    ),
    Profile(
        "my-profile",
        provider="anthropic",
        model="claude-sonnet-4-5",
        thinking_level="high",
        tools=("read", "bash", "grep"),
        no_extensions=True,
        system_prompt=(
            "You are an expert code reviewer. Focus on bugs, security issues, and\n"
            "performance. Be thorough but concise in your feedback."
        ),
    ),
    Profile(
        "read-only-worker",
        provider="zai",
        model="glm-5.1",
        thinking_level="medium",
        exclude_tools=("write", "edit", "bash"),
        system_prompt=(
            "You are a read-only analyst. You can read files and search but cannot modify anything."
        ),
    ),
    Profile(
        "research-budget",
        provider="openai",
        model="gpt-4o-mini",
        api_key="sk-proj-abc123def456ghi789",
        append_system_prompt=(
            "You are a research assistant. Use web search to find current information. "
            "Cite your sources."
        ),
        extensions=("/path/to/web-search-extension.js",),
    ),
    Profile(
        "reviewer",
        provider="anthropic",
        model="claude-sonnet-4-5",
        thinking_level="high",
        tools=("read", "bash", "grep"),
        no_extensions=True,
        api_key="sk-test-abc123",
        extra_args=("--verbose",),
        system_prompt="You are a code reviewer.",
    ),
    Profile(
        "sandbox",
        model="openai/gpt-4o",
        no_tools=True,
        no_extensions=True,
        no_skills=True,
        no_context_files=True,
        system_prompt=(
            "You are in a restricted environment with no tool access. Answer questions using your "
            "training knowledge only. If you need to read files or run commands, explain what you "
            "would do but cannot execute it."
        ),
    ),
    Profile(
        "skillful-reviewer",
        provider="anthropic",
        model="claude-sonnet-4-5",
        thinking_level="high",
        suggested_skills=("workflow-generation", "code-review"),
        system_prompt="You are a code reviewer with access to specialized skills.",
    ),
    Profile(
        "workflow-builder",
        provider="anthropic",
        model="claude-sonnet-4-5",
        load_skills=("workflow-generation",),
        append_system_prompt="Always validate workflows before saving.",
        system_prompt="You are a workflow construction specialist.",
    ),
)
