"""After an update of the package pi shows, once, what the new release changed."""

from __future__ import annotations

import json
import shutil
import sys
from typing import TYPE_CHECKING

import pytest
from scripts import update_docs
from tests.e2e.pi_under_test import TRAITS
from tests.fakes.main_pi import main_pi
from tests.fakes.pi_screen import pi_screen

from pi_subagents.hosts.pi.extension import extension_dir

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Project

pytestmark = [
    pytest.mark.pi,
    # Both came with the same version.
    pytest.mark.skipif(
        not TRAITS.has_slashed_providers, reason=f"{TRAITS.shown} shows no updates of packages"
    ),
]

CHANGELOG = "## [Unreleased]: 9.2.0\n\n- Not yet.\n\n## [9.1.0]\n\n### Added\n\n- A new colour.\n"


def release(folder: Path, version: str, changelog: str) -> None:
    """Make the package the one of a release."""
    path = folder / "package.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": version}))
    (folder / "CHANGELOG.md").write_text(update_docs.pi_changelog(changelog))


def test_what_a_release_changed_is_shown_at_the_first_start_after_it(
    project: Project, tmp_path: Path
) -> None:
    folder = tmp_path / "package"
    shutil.copytree(extension_dir(), folder)
    with main_pi(project, {"text": "unused"}) as host:
        host.env["PI_SUBAGENTS_CORE"] = f"{sys.executable} -P -m pi_subagents"
        host.loading = ()
        settings = project.agent_dir / "settings.json"
        content = {**json.loads(settings.read_text()), "packages": [str(folder)]}
        settings.write_text(json.dumps(content))
        for version, changelog, is_shown in (
            ("9.0.0", "", False),
            ("9.1.0", CHANGELOG, True),
            ("9.1.0", CHANGELOG, False),
        ):
            release(folder, version, changelog)
            with pi_screen(host) as screen:
                shown = screen.shown()
            heard = ["Extension Updates" in shown, "A new colour." in shown, "Not yet." in shown]
            assert heard == [is_shown, is_shown, False], shown
