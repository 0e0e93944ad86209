"""
Run the command, as `subagents` or `python -m pi_subagents`.

Nothing is imported before main(): a Ctrl+C while it still loads ends it without a word.
"""

from __future__ import annotations

import signal


def main() -> None:
    """Load the command and run it."""
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # in the background not
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pi_subagents.faces.cli.main import main as command

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command()


if __name__ == "__main__":
    main()
