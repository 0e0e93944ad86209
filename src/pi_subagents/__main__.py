"""Run the command as `python -m pi_subagents`, for where no script of it was installed."""

from __future__ import annotations

from pi_subagents.faces.cli.main import main

if __name__ == "__main__":
    main()
