"""The other way to install pi, for a registry that lacks some of its packages: the real one works."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

import pytest
from tests.e2e.pi_under_test import TRAITS

from pi_subagents import Task
from pi_subagents.core.run import events as ev
from pi_subagents.engines.pi.install import npm
from pi_subagents.engines.pi.install.managed import install_managed_pi
from pi_subagents.engines.pi.install.npm import LOADED_PACKAGES, PACKAGE, from_tarball
from pi_subagents.service.runs import Runs
from pi_subagents.store.tails import journal_entries

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Project

    from pi_subagents.core.engine_values import SetupProgress

pytestmark = [
    pytest.mark.pi,
    pytest.mark.skipif(
        not TRAITS.self_contained, reason=f"{TRAITS.shown} cannot be installed by itself"
    ),
]


async def test_the_published_package_alone_and_what_it_loads_make_a_pi_that_works(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(npm, "ways_to_install", lambda _: (from_tarball,))
    steps: list[SetupProgress] = []
    pi = install_managed_pi(
        os.environ,
        data_dir=tmp_path / "data",
        report=steps.append,
        version=TRAITS.version,
        cwd=tmp_path,
    )
    modules = pi.directory / "node_modules"
    packages = {manifest.parent for manifest in modules.glob("*/package.json")}
    packages |= {manifest.parent for manifest in modules.glob("@*/*/package.json")}
    assert {path.relative_to(modules).as_posix() for path in packages} == {
        PACKAGE,
        *LOADED_PACKAGES,
    }
    assert f"fetching pi {pi.version} by itself" in {each.step for each in steps}

    # Set-up's own proof loads an extension, which needs one of the packages; a script needs another.
    directory = project.agent_dir / "agent-profiles"
    directory.mkdir(exist_ok=True)
    (directory / "coder.md").write_text("---\nname: coder\ntools: bash, codemode\n---\n")
    project.profile = "coder"
    project.env["PI_SUBAGENTS_PI"] = shlex.join(pi.argv)
    script = [
        {"toolCalls": [{"name": "codemode", "arguments": {"code": "return 6 * 7;"}}]},
        {"text": "Done."},
    ]
    (result,) = (await project.delegate(Task("script", "Go."), script=script)).results
    assert (result.status, result.output) == ("completed", "Done.")
    run_dir = Runs(project.path, project.env).store.run_dir(result.run_id)
    events = (entry.event for entry in journal_entries(run_dir))
    (called,) = [each for each in events if isinstance(each, ev.ToolFinished)]
    assert (called.name, called.failed, "42" in called.text) == ("codemode", False, True)
