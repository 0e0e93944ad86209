"""
Which tools of ours a child gets by an MCP server of its own, and how that server is started.

In: the request for a child.  Out: the names of the tools, and the server as the Agent Client
Protocol names one in `session/new`; nothing where nothing is wanted.  The server asks the run's
supervisor for what differs between runs, so its command holds no secret: only where the desk is.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.core.own_tools import ASK_TOOL, SUBMIT_TOOL
from pi_subagents.core.profile.profile import ASK_SOMEBODY

if TYPE_CHECKING:
    from pi_subagents.core.value import JsonObject
    from pi_subagents.engines.base import ChildRequest

SERVER = "subagents"  # what agents put before the names of its tools
_PACKAGE_ROOT = str(Path(__file__).resolve().parents[3])
# Isolated and without site-packages, like a supervisor: it has to be there at once.
_BOOT = (
    "import gc, sys; gc.disable(); sys.path.insert(0, sys.argv[1]); "
    "from pi_subagents.engines.own_tools.server import main; gc.enable(); main(sys.argv[2])"
)


def own_tools(request: ChildRequest) -> tuple[str, ...]:
    """Return the tools that the run wants its child to have, as far as its profile has room."""
    profile = request.profile
    if not request.orders_file or profile.no_tools or profile.tools == ():
        return ()
    wanted = {
        SUBMIT_TOOL: request.schema is not None,
        ASK_TOOL: profile.questions == ASK_SOMEBODY,
    }
    left_out = profile.exclude_tools or ()
    return tuple(name for name, is_wanted in wanted.items() if is_wanted and name not in left_out)


def own_server(request: ChildRequest) -> JsonObject:
    """Return the server with them, as `session/new` takes it."""
    desk = str(Path(request.orders_file).parent)
    return {
        "name": SERVER,
        "command": sys.executable,
        "args": ["-I", "-S", "-c", _BOOT, _PACKAGE_ROOT, desk],
        "env": [],
    }
