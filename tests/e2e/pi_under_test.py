"""What the pi under test has: tests that need more than an old one say so by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi_subagents.engines.pi.command import VARIABLE, parse_command
from pi_subagents.engines.pi.installed_version import find_version
from pi_subagents.engines.pi.versions import TESTED_VERSIONS, traits_of

_COMMAND = parse_command(os.environ.get(VARIABLE, ""), os.environ)
TRAITS = traits_of(find_version(_COMMAND, os.environ, Path.cwd()) if _COMMAND else None)

needs_mcp = pytest.mark.skipif(
    not TRAITS.has_mcp, reason=f"{TRAITS.shown} has no MCP and no codemode"
)
# Both came with the same version.
needs_early_sessions = pytest.mark.skipif(
    not TRAITS.has_mcp, reason=f"{TRAITS.shown} writes a session with the first answer only"
)
# The doctor has something to say of others.
needs_tested_version = pytest.mark.skipif(
    TRAITS.version not in TESTED_VERSIONS, reason=f"{TRAITS.shown} is none of the tested versions"
)
needs_no_mcp = pytest.mark.skipif(TRAITS.has_mcp, reason=f"{TRAITS.shown} has MCP")
