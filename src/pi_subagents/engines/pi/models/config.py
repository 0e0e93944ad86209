"""
One short text for everything that decides which models a child has.

In: how the child would be started, and a secret.  Out: a digest that differs as soon as the
program, its options, pi's configuration, an extension or a key in the environment does.  Keys are
hashed with the secret and with all the rest, so nobody can find one out from the digest.
"""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pi_subagents.engines.pi.profile.providers import KEY_NAMES
from pi_subagents.engines.pi.skills.packages import resolved_path
from pi_subagents.engines.pi.versions import BUILTIN_PREFIX, traits_of
from pi_subagents.system.home import agent_dir, home_dir
from pi_subagents.system.safe_io import read_bounded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pi_subagents.engines.pi.versions import PiTraits

Fact = tuple[object, ...]

DIGEST_BYTES = 16
MAX_CONFIG_BYTES = 4 * 1024 * 1024
MAX_ENTRIES = 5_000
MAX_DEPTH = 16
# What pi keeps in its agent directory and, but for the first three, in a project's `.pi`.
CONFIG_NAMES = (
    "models.json",
    "models-store.json",
    "auth.json",
    "settings.json",
    "npm/package.json",
    "npm/node_modules/.package-lock.json",  # changes with every installation
    "git",
    "extensions",
)
_GOOGLE_LOGIN = ".config/gcloud/application_default_credentials.json"
# pi reads dozens of variables and extensions read others; all of them are called like these.
_TELLING = re.compile(
    r"(?:AWS|AZURE|CLOUDFLARE|GCLOUD|GOOGLE)_\w+|\w+_(?:KEY|TOKEN|SECRET|CREDENTIALS|URL|HOST)"
)
_PI_OWN = "PI_"  # about the session that calls us, not about models
_REFERENCE = re.compile(rb"\$\{?([A-Za-z_][A-Za-z0-9_]{0,199})")
_NOT_LOADED = frozenset({".git", "node_modules"})


@dataclass(frozen=True, slots=True)
class ChildSetup:
    """How a child would be started, as far as that decides its models."""

    pi_argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    trusted: bool
    arguments: tuple[str, ...] = ()
    traits: PiTraits = traits_of(None)


def models_digest(setup: ChildSetup, secret: bytes) -> str:
    """Return the digest; files that cannot be looked at count as absent."""
    seen = Tree()
    facts = (
        setup.pi_argv,
        setup.arguments,
        str(setup.cwd),
        setup.trusted,
        _variables(setup),
        [fact for path in _paths(setup) for fact in seen.facts(path)],
    )
    # ASCII: a lone surrogate in a path or variable is escaped, not an error.
    material = json.dumps(facts).encode("ascii")
    return blake2b(material, key=secret, digest_size=DIGEST_BYTES).hexdigest()


def config_bases(setup: ChildSetup) -> list[Path]:
    """Return the directories pi reads: its own, ours where that is another, a trusted project's."""
    pis = {name: value for name, value in setup.env.items() if name != "PI_AGENT_DIR"}
    own = [agent_dir(setup.env), agent_dir(pis)]
    return list(dict.fromkeys([*own, setup.cwd / ".pi"] if setup.trusted else own))


def _variables(setup: ChildSetup) -> list[tuple[str, str]]:
    """Return the variables that may hold a key or lead to a provider; pi takes empty for absent."""
    referred = {
        os.fsdecode(name)
        for base in config_bases(setup)
        for config in ("models.json", "auth.json", "settings.json")
        for name in _REFERENCE.findall(config_content(base / config))
    }
    return sorted(
        (name, value)
        for name, value in setup.env.items()
        if value
        and (name in referred or (_TELLING.fullmatch(name) and not name.startswith(_PI_OWN)))
    )


def _paths(setup: ChildSetup) -> Iterator[Path]:
    """Yield the program, what its options name, and all that pi is configured with."""
    yield from (Path(word) for word in setup.pi_argv if word.startswith("/"))
    yield from (resolved_path(word, setup.cwd, setup.env) for word in _words(setup.arguments))
    for base in config_bases(setup):
        yield from (base / name for name in CONFIG_NAMES)
        for entry in extension_entries(base):
            yield resolved_path(entry, base, setup.env)
    yield home_dir(setup.env) / _GOOGLE_LOGIN
    for login in _words([setup.env.get("GOOGLE_APPLICATION_CREDENTIALS", "")]):
        yield setup.cwd / login


def _words(words: Iterable[str]) -> list[str]:
    return [word for word in words if word and not word.startswith("-")]


def extension_entries(base: Path) -> list[str]:
    """Return what the settings of a directory name as extensions and packages, paths or not."""
    settings = config_object(base / "settings.json")
    lists = (settings.get(key) for key in ("extensions", "packages"))
    entries = [each for listed in lists if isinstance(listed, list) for each in listed]
    sources = [each.get("source") if isinstance(each, dict) else each for each in entries]
    named = (each for each in sources if isinstance(each, str))
    # Those that pi itself brings are switched on and off in the same list.
    return _words(each for each in named if not each.lstrip("+").startswith(BUILTIN_PREFIX))


def names_credentials(setup: ChildSetup) -> bool:
    """Return whether there is a login, a provider of the user's own, or a provider's variable."""
    if any(setup.env.get(name) for name in KEY_NAMES):
        return True
    bases = config_bases(setup)
    logins = (config_object(base / "auth.json") for base in bases)
    own = (config_object(base / "models.json").get("providers") for base in bases)
    return any(logins) or any(own)


def configured_providers(env: Mapping[str, str]) -> frozenset[str]:
    """Return the providers that the user's own models.json defines."""
    providers = config_object(agent_dir(env) / "models.json").get("providers")
    return frozenset(providers) if isinstance(providers, dict) else frozenset()


def config_object(path: Path) -> dict[str, object]:
    """Return the JSON object of a file of pi's configuration; an empty one where there is none."""
    with suppress(ValueError, RecursionError):
        content = json.loads(config_content(path))
        if isinstance(content, dict):
            return content
    return {}


def config_content(path: Path) -> bytes:
    """Return the content of a file of pi's configuration; nothing where it cannot be read."""
    with suppress(OSError, ValueError, RuntimeError):
        os.lstat(path)  # most are not there, which this says soonest
        # People keep configuration in dotfile repositories and link to it.
        return read_bounded(path.resolve(), MAX_CONFIG_BYTES)
    return b""


class Tree:
    """One look at any number of files and directories, with one limit on all of it."""

    def __init__(self) -> None:
        self._left = MAX_ENTRIES

    def facts(self, path: Path, depth: int = 0) -> Iterator[Fact]:
        """Yield what differs between two states of a file, or of a directory's files."""
        try:
            found = path.stat()
        except (OSError, ValueError):
            return
        if not stat.S_ISDIR(found.st_mode):
            # The time of the last change too: an old file can be put in place of a new one.
            yield str(path), found.st_size, found.st_mtime_ns, found.st_ctime_ns
        elif depth < MAX_DEPTH:
            yield (str(path),)
            for name in self._names(path):
                yield from self.facts(path / name, depth + 1)

    def _names(self, directory: Path) -> list[str]:
        try:
            with os.scandir(directory) as entries:
                names = [entry.name for entry in islice(entries, self._left)]
        except OSError:
            return []
        self._left -= len(names)
        return sorted(set(names) - _NOT_LOADED)
