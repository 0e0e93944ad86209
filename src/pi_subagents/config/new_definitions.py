"""
Write a new profile or preset: a template that we ship, or what was made of another file.

In: a kind, a name, the text of a file and the directory it goes to.  Out: the path of a private
file, written whole; DefinitionExists where something is there and may not be replaced.  Templates
are files beside this one; none of them is loaded by itself.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.config import messages
from pi_subagents.config.definition_dir import MAX_BYTES, SUFFIX
from pi_subagents.config.preset_files import invalidate_presets_cache
from pi_subagents.config.profile_files import invalidate_profiles_cache
from pi_subagents.core.definitions.found import PROFILE
from pi_subagents.core.definitions.frontmatter import parse_frontmatter
from pi_subagents.core.preset.preset import parse_preset
from pi_subagents.core.profile.profile import parse_profile
from pi_subagents.core.profile.text import fields_to_yaml
from pi_subagents.errors import DefinitionExists, DefinitionNotSaved, FrontmatterError
from pi_subagents.system.safe_io import make_private_dirs, replace_file, write_once

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEMPLATES = Path(__file__).parent / "templates"
_FENCE = "---\n"


def template_text(kind: str, template: str, name: str, more: Mapping[str, str]) -> str:
    """Return the file of a template under another name, with further fields behind it."""
    text = (_TEMPLATES / kind / f"{template}{SUFFIX}").read_text("utf-8")
    fields = fields_to_yaml({"name": name, **more})
    return text.replace(f"{_FENCE}name: {template}\n", f"{_FENCE}{fields}", 1)


def save_definition(
    kind: str, name: str, text: str, directory: Path, *, replace: bool = False
) -> Path:
    """Write a file that will be read as this very name, and return its path."""
    path = directory / f"{name}{SUFFIX}"
    data = text.encode("utf-8", "replace")
    if not _is_readable(kind, name, text) or len(data) > MAX_BYTES:
        raise DefinitionNotSaved(kind, name, messages.NOT_READ_BACK)
    if path.is_symlink():
        raise DefinitionNotSaved(kind, name, messages.is_a_link(os.path.realpath(path)))
    try:
        make_private_dirs(directory)
        if replace:
            replace_file(path, data)
        elif not write_once(path, data):
            raise DefinitionExists(kind, name, str(path))
    except OSError as error:
        raise DefinitionNotSaved(kind, name, error.strerror or str(error)) from error
    finally:
        invalidate_profiles_cache()
        invalidate_presets_cache()
    return path


def _is_readable(kind: str, name: str, text: str) -> bool:
    parse = parse_profile if kind == PROFILE else parse_preset
    try:
        found, _ = parse("", parse_frontmatter(text))
    except FrontmatterError:
        return False
    return found is not None and found.name == name
