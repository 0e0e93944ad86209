"""
A profile as text: one line for lists, all of it for a person, and the file it is saved as.

In: a Profile.  Out: printable text in which an API key is masked, or Markdown that
`core/profile/profile.py` reads back as the same Profile.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import yaml

from pi_subagents.core.definitions.text import MAX_WIDTH, definition_detail
from pi_subagents.core.plain_text import one_line, printable
from pi_subagents.core.profile.permissions import Permissions, permissions_to_file
from pi_subagents.core.profile.profile import FIELDS, Profile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_SHORTEST_SHOWN_KEY = 14
_MAX_PREVIEW = 60  # characters of a prompt in a list
_DEFAULTS = {field.name: field.default for field in fields(Profile)}
_ODD_BREAKS = frozenset("\x85\u2028\u2029")  # YAML would turn some of them into line feeds


def profile_summary(profile: Profile) -> str:
    """Return the profile on one line, as the tool and the lists show it."""
    return ", ".join([one_line(f"profile: {profile.name}", MAX_WIDTH), *summary_parts(profile)])


def profile_line(profile: Profile) -> str:
    """Return what the profile is for, on one line: how its prompt begins, else what it sets."""
    prompt = profile.system_prompt.strip() or profile.append_system_prompt.strip()
    said = prompt.partition("\n")[0] or ", ".join(summary_parts(profile))
    return one_line(said, MAX_WIDTH)


def summary_parts(profile: Profile) -> list[str]:
    """Return what a profile sets, in a few words each."""
    texts = (
        ("engine", profile.engine),
        ("provider", profile.provider),
        ("model", profile.model),
        ("thinking", profile.thinking_level),
        ("custom-system-prompt", _preview(profile.system_prompt)),
        ("appended-system-prompt", _preview(profile.append_system_prompt)),
        ("budget", f"[{profile.budget}]" if profile.budget else ""),
        ("tools", "" if profile.tools is None else f"[{','.join(profile.tools)}]"),
    )
    parts = [f"{label}={text}" for label, text in texts if text]
    parts += ["no-tools"] * profile.no_tools
    parts += ["answers-by-schema"] * bool(profile.output_schema)
    parts += [f"mcp={profile.mcp}"] * bool(profile.mcp)
    parts += [f"questions={profile.questions}"] * bool(profile.questions)
    parts += [f"permissions=[{profile.permissions}]"] * bool(profile.permissions.restricted)
    lists = (
        ("exclude-tools", profile.exclude_tools),
        ("extensions", profile.extensions),
        ("suggested-skills", profile.suggested_skills),
        ("load-skills", profile.load_skills),
        ("extra-args", profile.extra_args),
    )
    parts += [f"{label}=[{','.join(items)}]" for label, items in lists if items]
    return [one_line(part, MAX_WIDTH) for part in parts]


def _preview(prompt: str) -> str:
    return f'"{one_line(prompt, _MAX_PREVIEW)}"' if prompt else ""


def profile_detail(profile: Profile) -> str:
    """Return every field that is set, one per line; the key is masked."""
    masked = {"apiKey": mask_key(printable(profile.api_key))}
    shown = [(key, masked.get(key, value)) for key, value in _set_fields(profile)]
    prompts = ("systemPrompt", "appendSystemPrompt")
    return definition_detail(f"Profile: {profile.name}", shown, prompts)


def mask_key(key: str) -> str:
    """Return enough of a key to tell it from others, and nothing of a short one."""
    return f"{key[:4]}****{key[-5:]}" if len(key) >= _SHORTEST_SHOWN_KEY else "****"


def profile_to_markdown(profile: Profile) -> str:
    """Return the file of a profile; what surrounds the system prompt is trimmed, as on reading."""
    content = {"name": profile.name, **dict(_set_fields(profile))}
    content.pop("systemPrompt", None)
    body = profile.system_prompt.strip()
    return f"---\n{fields_to_yaml(content)}---\n" + (f"\n{body}\n" if body else "")


def fields_to_yaml(fields: Mapping[str, object]) -> str:
    """Return lines of front matter that are read back as these fields."""
    content = {key: _as_yaml(value) for key, value in fields.items()}
    return yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf")
    )


def _as_yaml(given: object) -> object:
    if isinstance(given, Permissions):
        return permissions_to_file(given)
    return list(given) if isinstance(given, tuple) else given


def _set_fields(profile: Profile) -> Iterator[tuple[str, object]]:
    for key, name in FIELDS.items():
        value = getattr(profile, name)
        if name != "name" and value != _DEFAULTS[name]:
            yield key, value


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they read, and odd line breaks so that they survive."""


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    # As a block, a text that ends with blank lines would swallow those that follow it.
    is_odd = _ODD_BREAKS & set(text) or text == "\n" or text.endswith("\n\n")
    style = '"' if is_odd else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
