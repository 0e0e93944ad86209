"""
The tools as the extension in pi registers them, before the core runs.

In: nothing but the definitions.  Out: the content of `pi_extension/tools.json`, which is written by
`scripts/update_docs.py`.  Which models there are only pi knows: `model` stays a plain string.
"""

from __future__ import annotations

from pi_subagents.core import tool_defs

# Those of the second system are of no use without a model.
NEED_MODELS = (
    tool_defs.SUBAGENT,
    tool_defs.BACKGROUND,
    tool_defs.BACKGROUND_STATUS,
    tool_defs.BACKGROUND_STOP,
)


def tools_to_json() -> dict[str, object]:
    """Return every tool, in the order in which hosts list them."""
    return {
        "tools": [
            {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
                "needsModels": tool.name in NEED_MODELS,
            }
            for tool in tool_defs.TOOLS
        ]
    }
