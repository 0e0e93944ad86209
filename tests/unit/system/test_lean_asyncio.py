"""asyncio without `ssl`: everything but TLS works, and `ssl` is there for whoever wants it."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
{before}
from pi_subagents.system.lean_asyncio import import_lean_asyncio
import_lean_asyncio()
loaded = "ssl" in sys.modules
import asyncio

async def main():
    process = await asyncio.create_subprocess_exec("echo", "hello", stdout=-1)
    said, _ = await process.communicate()
    import ssl
    return said, ssl.create_default_context() is not None

print(loaded, asyncio.run(main()))
"""


@pytest.mark.parametrize(
    ("before", "is_loaded"), [("", False), ("import ssl", True), ("import asyncio", True)]
)
def test_asyncio_works_and_ssl_is_imported_by_whoever_wants_it(
    before: str, is_loaded: bool
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout) == ("", f"{is_loaded} (b'hello\\n', True)\n")


def test_a_run_loads_no_tls_before_its_children_start() -> None:
    program = (
        "import sys\n"
        "from pi_subagents.system.lean_asyncio import import_lean_asyncio\n"
        "import_lean_asyncio()\n"
        "import pi_subagents.faces.cli.work.live, pi_subagents.runners.process\n"
        "import pi_subagents.engines.pi.engine\n"
        "print('ssl' in sys.modules, 'pi_subagents.engines.pi.install.node' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "False False\n"
