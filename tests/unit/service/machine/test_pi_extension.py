"""pi's settings name the extension no longer, also where no pi is left that could change them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pi_subagents.errors import PiNotFound
from pi_subagents.hosts.pi.extension import extension_dir
from pi_subagents.service.machine.pi_extension import PiExtension

if TYPE_CHECKING:
    from pathlib import Path


def test_without_any_pi_only_our_entries_go(tmp_path: Path) -> None:
    settings = tmp_path / ".pi" / "agent" / "settings.json"
    settings.parent.mkdir(parents=True)
    gone = str(tmp_path / "uninstalled" / "/".join(extension_dir().parts[-2:]))
    others = ["npm:somebody-elses", {"source": "./mine", "skills": ["a"]}]
    packages = [others[0], str(extension_dir()), others[1], {"source": gone}]
    settings.write_text(json.dumps({"theme": "dark", "packages": packages}, indent=4))
    env = {"HOME": str(tmp_path), "PATH": str(tmp_path), "PI_SUBAGENTS_DATA": str(tmp_path / "d")}
    extension = PiExtension(tmp_path, env, project=False)
    for asks_pi in (extension.install, extension.install_commands, extension.remove_commands):
        with pytest.raises(PiNotFound):
            asks_pi()
    assert extension.remove().changed
    assert json.loads(settings.read_text()) == {"theme": "dark", "packages": others}
    assert settings.read_text().startswith('{\n    "theme": "dark",\n')
    assert not extension.remove().changed
