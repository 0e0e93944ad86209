"""What every lane needs: a Ctrl+C that counts, the real pi found before HOME is moved, how long to look."""

import os
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from tests.fakes.forked import fork_if_wanted
from tests.property_examples import PROPERTY_EXAMPLES
from tests.which_pi import PI_UNDER_TEST, pi_for_tests

from pi_subagents.engines.pi.command import VARIABLE
from pi_subagents.system.home import project_root

# `cluster`: a real PostgreSQL with a cluster in it, started where a test asks for it.
pytest_plugins = ["tests.fakes.cluster_server"]
# Need a registry, and other people's programs, or minutes: `make e2e-mcp`, `e2e-acp`, `e2e-cluster`.
collect_ignore = ["e2e_mcp", "e2e_acp", "e2e_cluster"]
NO_PI = "no pi on this machine: `make test` installs the pinned one"


def pytest_configure(config: pytest.Config) -> None:
    """
    Hear signals, and keep the found pi in the variable that all children and test workers read.

    A shell starts what it runs in the background deaf to Ctrl+C, `nohup` to a hang-up, and every
    process a test starts would inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    fork_if_wanted()
    # No example has a deadline: how long it takes is the machine's affair.
    settings.register_profile("here", max_examples=PROPERTY_EXAMPLES, deadline=None)
    settings.load_profile("here")
    found = pi_for_tests(os.environ, Path.cwd())
    if found:
        os.environ[PI_UNDER_TEST] = os.environ[VARIABLE] = found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what makes tests fail that have nothing to do with it: all of them share one project."""
    within = Path(tempfile.gettempdir(), "any")
    if project_root(within) != within:
        terminalreporter.write_line(
            f"The temporary directory is in a project: remove `.git` and `.pi` of "
            f"{project_root(within)}, or set TMPDIR. Else tests of places without one fail."
        )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip, by name and with the reason, what needs a pi that is not there."""
    if VARIABLE not in os.environ:
        for item in items:
            if item.get_closest_marker("pi"):
                item.add_marker(pytest.mark.skip(reason=NO_PI))
