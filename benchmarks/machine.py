"""The machine and the programs that figures were measured on, in plain words."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents import __version__
from pi_subagents.engines.pi.command import resolve_pi_command

if TYPE_CHECKING:
    from collections.abc import Mapping


def describe(env: Mapping[str, str], cwd: Path) -> dict[str, str]:
    """Return what a reader needs to judge the figures."""
    pi = resolve_pi_command(env, cwd, None)
    node = pi.argv[0] if Path(pi.argv[0]).name == "node" else "node"
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{_memory_gb():.0f} GB",
        "kernel": f"{platform.system()} {platform.release()}",
        "load before": ", ".join(f"{each:.1f}" for each in os.getloadavg()),
        "Python": platform.python_version(),
        "Node": _asked((node, "--version"), env) or "not found",
        "pi": pi.version or "unknown",
        "pi-subagents": __version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return platform.machine()
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, platform.machine())


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1024**3


def _asked(argv: tuple[str, ...], env: Mapping[str, str]) -> str:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, env=dict(env), check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
