"""
Serve the offline model alone, for whatever can be pointed at a base URL.

In: a port and perhaps a script.  Out: nothing; who waits for it is told the address and the name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.engines.offline.provider import MODEL
from pi_subagents.engines.offline.serve import serve_forever
from pi_subagents.errors import PortUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable

    from pi_subagents.core.offline.script import Script


def serve_offline_model(
    ready: Callable[[str, str], None], *, port: int, script: Script | None
) -> None:
    """Serve until interrupted; `ready` gets the base address and the model's name."""
    try:
        serve_forever(lambda url: ready(url, MODEL), port=port, script=script)
    except OSError as error:
        raise PortUnavailable(port, str(error)) from error
