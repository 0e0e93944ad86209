"""`subagents offline-model`: serve the built-in model alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pi_subagents.faces.cli import options

if TYPE_CHECKING:
    from pi_subagents.faces.cli.console import Console


@click.command("offline-model")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Default: any free port.")
@click.option(
    "--script",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Answer with scripted turns from this JSON file.",
)
@options.json_option
@click.pass_obj
def command(console: Console, *, port: int, script: Path | None, as_json: bool) -> None:
    """
    Serve the offline model on loopback until Ctrl+C.

    It speaks the OpenAI chat-completions protocol, so that anything that can be pointed at a base
    URL can use it. It follows rules or a script; it is not a language model.
    """
    from pi_subagents.service.machine.offline_model import serve_offline_model

    chosen = options.offline_choice(offline=True, script=script)

    def ready(url: str, model: str) -> None:
        if as_json:
            console.json({"baseUrl": url, "model": model})
        else:
            console.answer(f"Serving model `{model}` at {url} (Ctrl+C ends it)")

    serve_offline_model(ready, port=port, script=None if isinstance(chosen, bool) else chosen)
