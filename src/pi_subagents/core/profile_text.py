"""
A profile as text: one line for lists, all of it for a person, and the file it is saved as.

In: a Profile.  Out: printable text in which an API key is masked, or Markdown that
`core/profile.py` reads back as the same Profile.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import yaml

from pi_subagents import profile_messages
from pi_subagents.core.plain_text import one_line, printable, shortened
from pi_subagents.core.profile import FIELDS, Profile

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHORTEST_SHOWN_KEY = 14
_MAX_WIDTH = 500
_MAX_PROMPT_LINES = 20
_KEY_WIDTH = 18
_DEFAULTS = {field.name: field.default for field in fields(Profile)}
_ODD_BREAKS = frozenset("\x85\u2028\u2029")  # YAML would turn some of them into line feeds


def profile_summary(profile: Profile) -> str:
    """Return the profile on one line, as the tool and the lists show it."""
    parts = [f"profile: {profile.name}"]
    if profile.provider and not profile.model:
        parts.append(f"provider={profile.provider}")
    if profile.model:
        parts.append(f"model={profile.model}")
    if profile.thinking_level:
        parts.append(f"thinking={profile.thinking_level}")
    if profile.system_prompt:
        parts.append("custom-system-prompt")
    if profile.append_system_prompt:
        parts.append("appended-system-prompt")
    if profile.tools is not None:
        parts.append(f"tools=[{','.join(profile.tools)}]")
    if profile.no_tools:
        parts.append("no-tools")
    lists = (
        ("exclude-tools", profile.exclude_tools),
        ("extensions", profile.extensions),
        ("suggested-skills", profile.suggested_skills),
        ("load-skills", profile.load_skills),
        ("extra-args", profile.extra_args),
    )
    parts += [f"{label}=[{','.join(items)}]" for label, items in lists if items]
    return ", ".join(one_line(part, _MAX_WIDTH) for part in parts)


def profile_detail(profile: Profile) -> str:
    """Return every field that is set, one per line; the key is masked."""
    lines = [f"Profile: {one_line(profile.name, _MAX_WIDTH)}"]
    for key, value in _set_fields(profile):
        first, *more = _shown(key, value)
        lines.append(f"  {key + ':':<{_KEY_WIDTH}} {first}")
        lines += [" " * (_KEY_WIDTH + 3) + line if line else "" for line in more]
    return "\n".join(lines)


def mask_key(key: str) -> str:
    """Return enough of a key to tell it from others, and nothing of a short one."""
    return f"{key[:4]}****{key[-5:]}" if len(key) >= _SHORTEST_SHOWN_KEY else "****"


def profile_to_markdown(profile: Profile) -> str:
    """Return the file of a profile; what surrounds the system prompt is trimmed, as on reading."""
    content: dict[str, object] = {"name": profile.name}
    for key, value in _set_fields(profile):
        if key != "systemPrompt":
            content[key] = list(value) if isinstance(value, tuple) else value
    front = yaml.dump(
        content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf")
    )
    body = profile.system_prompt.strip()
    return f"---\n{front}---\n" + (f"\n{body}\n" if body else "")


def _set_fields(profile: Profile) -> Iterator[tuple[str, object]]:
    for key, name in FIELDS.items():
        value = getattr(profile, name)
        if name != "name" and value != _DEFAULTS[name]:
            yield key, value


def _shown(key: str, value: object) -> list[str]:
    """Return a value in lines for a person; only prompts have more than one."""
    if isinstance(value, tuple):
        return [one_line(f"[{', '.join(value)}]", _MAX_WIDTH)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    text = str(value)
    if key == "apiKey":
        return [one_line(mask_key(printable(text)), _MAX_WIDTH)]
    if key not in ("systemPrompt", "appendSystemPrompt"):
        return [one_line(text, _MAX_WIDTH)]
    lines = printable(text).strip().split("\n")
    more = len(lines) - _MAX_PROMPT_LINES
    kept = [shortened(line.rstrip(), _MAX_WIDTH) for line in lines[:_MAX_PROMPT_LINES]]
    return [*kept, profile_messages.more_lines(more)] if more > 0 else kept


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as they read, and odd line breaks so that they survive."""


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = '"' if _ODD_BREAKS & set(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
