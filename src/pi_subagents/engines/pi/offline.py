"""
How a child of pi gets the offline model: one that is served meanwhile, or one of its own.

The extension `offline_provider.mjs` teaches the model to pi; it has the same names as
`offline/provider.py`, and a test compares the two.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.engines.offline.provider import MODEL, PROVIDER, URL_VARIABLE
from pi_subagents.engines.pi.invocation import QUIET, ModelOverride

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from pi_subagents.core.offline.script import Script


def served_model(script: Script | None, resources: ExitStack) -> Callable[[str], ModelOverride]:
    """Serve the model while the resources are held; return how a run gets it, by its id."""
    from pi_subagents.engines.offline.conversations import EACH_PROMPT
    from pi_subagents.engines.offline.server import OfflineModel

    model = resources.enter_context(OfflineModel(script, keep_requests=0))
    # By the rules an answer depends on the prompt alone, so that children can be used again.
    return lambda run_id: ModelOverride(
        arguments=pi_arguments(),
        environment={URL_VARIABLE: model.url_for(run_id if script else EACH_PROMPT), **QUIET},
    )


def own_model() -> ModelOverride:
    """Let a run serve an offline model of its own."""
    from pi_subagents.engines.offline.serve import launcher_argv

    return ModelOverride(pi_arguments(), QUIET, launcher_argv())


def extension_path() -> Path:
    """Return the file to give to `pi -e`."""
    return Path(__file__).with_name("offline_provider.mjs")


def pi_arguments() -> tuple[str, ...]:
    """Return the arguments that make pi talk to the server named by URL_VARIABLE."""
    return ("-e", str(extension_path()), "--provider", PROVIDER, "--model", MODEL)
