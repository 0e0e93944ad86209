"""
The bundles that a snapshot travels in: a chain of commits, each of them on the one before.

In: a list as it travels, from anywhere.  Out: a chain of Bundle values; ValueError, with the
reason, for anything else.  Only the first is whole, the last one is the snapshot itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_subagents.core.value import as_dict, value

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BUNDLES = 32
MAX_BUNDLE_BYTES = 256 * 1024 * 1024
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@value
class Bundle:
    """What one bundle holds: a commit, without what the commit that it is based on has."""

    commit: str
    base: str  # empty: there is nothing that it leaves out
    digest: str  # sha256 of its file
    size: int  # of its file, in bytes


def bundles_to_json(chain: Sequence[Bundle]) -> list[dict[str, object]]:
    """Return a chain as it travels."""
    return [as_dict(bundle) for bundle in chain]


def bundles_from_json(content: object) -> tuple[Bundle, ...]:
    """Return a chain; ValueError where it is none."""
    if not isinstance(content, list) or not 1 <= len(content) <= MAX_BUNDLES:
        raise ValueError(f"bundles: must be a list of 1 to {MAX_BUNDLES}")
    chain = tuple(_bundle(index, each) for index, each in enumerate(content))
    for before, after in zip(("", *(bundle.commit for bundle in chain)), chain, strict=False):
        if after.base != before:
            raise ValueError("bundles: each has to be based on the one before")
    return chain


def _bundle(index: int, content: object) -> Bundle:
    where = f"bundles[{index}]"
    if not isinstance(content, dict) or content.keys() != set(Bundle.__match_args__):
        raise ValueError(f"{where}: must be an object with {', '.join(Bundle.__match_args__)}")
    for name, form in (("commit", _COMMIT), ("base", _COMMIT), ("digest", _DIGEST)):
        text = content[name]
        if name == "base" and text == "":
            continue
        if not isinstance(text, str) or not form.fullmatch(text):
            raise ValueError(f"{where}.{name}: not a name that git or a hash gives")
    size = content["size"]
    if type(size) is not int or not 0 < size <= MAX_BUNDLE_BYTES:
        raise ValueError(f"{where}.size: must be between 1 and {MAX_BUNDLE_BYTES} bytes")
    return Bundle(**content)
