"""What is not ours in the page is what its authors published, and says under which licence."""

from __future__ import annotations

import json
from hashlib import sha256
from importlib import resources

FOLDER = resources.files("pi_subagents.faces.watch").joinpath("page")


def test_every_file_of_somebody_else_is_as_it_was_published() -> None:
    known = json.loads(FOLDER.joinpath("vendored.json").read_text("utf-8"))
    for each in known:
        content = FOLDER.joinpath(each["file"]).read_bytes()
        assert sha256(content).hexdigest() == each["sha256"]
        assert f"{each['package']} v{each['version']}".encode() in content[:200]
        assert each["license"] in FOLDER.joinpath(each["licenseFile"]).read_text("utf-8")
    assert [each["file"] for each in known] == ["marked.esm.js"]
