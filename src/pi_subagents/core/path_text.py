"""
Write paths as a person in the working directory would: relative or from `~`, where that is shorter.

In: a path or a command line, the working directory, the home directory.  Out: the same, shorter
or unchanged.  Only text is looked at; a path with `..` or empty parts in it stays as it is.
"""

from __future__ import annotations

import re

# A bare or quoted absolute path; what is glued to a word before it (`-I/usr`, `s/a/b/`) is none.
_ABSOLUTE = re.compile(r"(?<![\w.~/$*}\])-])/(?:\\.|[^\s'\"`;&|<>()\\:])*")


def shorten_path(path: str, cwd: str, home: str) -> str:
    """Return the shortest of the path, its form from `~` and its form from `cwd`."""
    if not path.startswith("/") or _unclear(path):
        return path
    forms = (path, _from_home(path, home), _from_cwd(path, cwd))
    return min(forms, key=len)  # the first of equally short ones


def shorten_paths_in_text(text: str, cwd: str, home: str) -> str:
    """Return the text with every absolute path in it shortened."""
    return _ABSOLUTE.sub(lambda found: shorten_path(found.group(), cwd, home), text)


def _unclear(path: str) -> bool:
    parts = path.removesuffix("/").split("/")[1:]
    return any(part in ("", ".", "..") for part in parts)


def _from_home(path: str, home: str) -> str:
    home = home.rstrip("/")
    if home and (path == home or path.startswith(home + "/")):
        return "~" + path[len(home) :]
    return path


def _from_cwd(path: str, cwd: str) -> str:
    here = [part for part in cwd.split("/") if part]
    there = path.removesuffix("/").split("/")[1:]
    if not here:  # in the root directory every path would lose its `/`
        return path
    common = 0
    for mine, its in zip(here, there, strict=False):
        if mine != its:
            break
        common += 1
    relative = "/".join([".."] * (len(here) - common) + there[common:]) or "."
    return relative + "/" * path.endswith("/")
