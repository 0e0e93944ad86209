"""
Check what children run: Node, pi and its models, and what of a project they load.

pi is asked, not assumed.  Of a configured command only the program and files it names are shown:
its other words may hold a key.  What pi answers is never shown either, only what it means.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Self

from pi_subagents import errors
from pi_subagents.config.settings_files import global_settings_file, load_settings
from pi_subagents.core.check import Check, Subject
from pi_subagents.engines.pi import command as pi_command
from pi_subagents.engines.pi.command import PI_CHOSEN_BY, resolve_pi_command
from pi_subagents.engines.pi.install import node
from pi_subagents.engines.pi.installed_version import VERSION
from pi_subagents.engines.pi.invocation import asking_environment
from pi_subagents.engines.pi.trust import is_trusted
from pi_subagents.engines.pi.versions import PINNED_PI_VERSION, TESTED_VERSIONS, version_text
from pi_subagents.system.home import PROJECT_DIR, CheckedPlace, data_dir, home_dir
from pi_subagents.system.programs import ProgramQuestion, search_program

PI = Subject("pi", "pi")
NODE = Subject("node", "Node")
MODELS = Subject("models", "Models")
TRUST = Subject("project-trust", "Project trust")

VERSION_LIMIT_S = 15.0
MODELS_LIMIT_S = 20.0
NO_MODELS = "No models available"
SHOWN_PROVIDERS = 6
_PROVIDER = re.compile(r"[\w.-]{1,60}")
SETUP = (
    f"Run `subagents setup`: it installs pi {PINNED_PI_VERSION}, and Node if needed, into "
    "your data directory."
)

# What counts of a project's .pi in full only where it is trusted.
PROTECTED = (
    "agent-profiles",
    "settings.json",
    "extensions",
    "skills",
    "prompts",
    "themes",
    "SYSTEM.md",
    "APPEND_SYSTEM.md",
    "mcp.json",
)


class Consultation:
    """The pi that children would run, being asked for its version and models; never raises."""

    def __init__(self, place: CheckedPlace) -> None:
        self.command: pi_command.PiCommand | None = None
        self.refusal: Exception | None = None
        self.version: ProgramQuestion | None = None
        self.models: ProgramQuestion | None = None
        try:
            settings, _ = load_settings(place.cwd, place.env)
            self.command = resolve_pi_command(place.env, place.cwd, settings.pi_command)
        except Exception as error:  # noqa: BLE001 - reported by check_pi
            self.refusal = error
            return
        # The same trust its children would have.
        approve = "--approve" if is_trusted(place.cwd, place.env) else "--no-approve"
        self.version = _asked(self.command, place, ("--version",), VERSION_LIMIT_S)
        self.models = _asked(self.command, place, (approve, "--list-models"), MODELS_LIMIT_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for question in (self.version, self.models):
            if question is not None:
                question.close()


def _asked(
    pi: pi_command.PiCommand, place: CheckedPlace, words: tuple[str, ...], limit_s: float
) -> ProgramQuestion | None:
    env = asking_environment(place.env)
    try:
        return ProgramQuestion((*pi.argv, *words), env=env, cwd=place.cwd, limit_s=limit_s)
    except (OSError, ValueError):
        return None


# pi


def check_pi(consulted: Consultation, place: CheckedPlace) -> Check:
    """Return which pi is used, what chose it, and whether it answers."""
    pi = consulted.command
    if pi is None:
        return _unusable(consulted.refusal, place)
    shown, public = _shown(pi), _public(pi)
    correction = _correction(pi.source, place)
    if consulted.version is None:
        what = "cannot be started"
        return PI.fatal(f"{shown} {what}", correction, public=f"{public} {what}")
    answer = consulted.version.answer()
    if answer.exit_code is None:
        what = f"did not answer `--version` within {VERSION_LIMIT_S:.0f} s"
        return PI.fatal(f"{shown} {what}", correction, public=f"{public} did not answer in time")
    if answer.exit_code != 0:
        return PI.fatal(
            f"{shown} failed when asked for its version (exit code {answer.exit_code})",
            f"Run it by hand with --version to see why. {correction}",
            public=f"{public} failed when asked (exit code {answer.exit_code})",
        )
    found = VERSION.fullmatch(answer.text.strip())
    if found is None:
        what = "does not report a version"
        return PI.problem(f"{shown} {what}; is it pi?", correction, public=f"{public} {what}")
    version, public = found[1], f"{found[1]}, {public}"
    is_old_set_up = pi.source == "managed" and version != PINNED_PI_VERSION
    if version not in TESTED_VERSIONS or is_old_set_up:
        tested = " and ".join(TESTED_VERSIONS)
        how = _pinned_instead(pi.source, place)
        return PI.note(f"{version}, {shown}; tested: {tested}", how, public=public)
    return PI.ok(f"{version}, {shown}", public=public)


def _unusable(refusal: Exception | None, place: CheckedPlace) -> Check:
    if refusal is not None and not isinstance(refusal, errors.SetupError):
        raise refusal
    if isinstance(refusal, errors.PiCommandUnusable):
        chosen = f"from {PI_CHOSEN_BY[refusal.source]}:"
        found = f"{chosen} {refusal.program} {refusal.reason}"
        correction = _correction(refusal.source, place)
        return PI.fatal(found, correction, public=f"{chosen} cannot be run")
    inside = getattr(refusal, "left_out", ())
    left_out = f"; {', '.join(inside)} is inside the working directory and not used"
    return PI.fatal(f"none found{left_out if inside else ''}", SETUP, public="none found")


def _correction(source: str, place: CheckedPlace) -> str:
    """Return where the choice can be corrected."""
    return {
        "environment": f"Correct {pi_command.VARIABLE} (a program on PATH or an absolute path, "
        "then its arguments), or unset it and run `subagents setup`.",
        "settings": f"Correct or remove subagents.pi_command in {global_settings_file(place.env)}.",
        "host": "Restart pi: it was changed or removed while it runs.",
        "path": "Run `subagents setup`, which brings a Node of its own, or repair the pi on PATH.",
        "managed": "Install it again: subagents setup --force",
    }[source]


def _pinned_instead(source: str, place: CheckedPlace) -> str:
    """Return how to get the version that is tested most."""
    version = PINNED_PI_VERSION
    how = {
        "environment": f"unset {pi_command.VARIABLE}, then run `subagents setup`.",
        "settings": f"remove subagents.pi_command from {global_settings_file(place.env)}, then run "
        "`subagents setup`.",
        "managed": "run `subagents setup`.",
    }.get(source, f"npm install --global @earendil-works/pi-coding-agent@{version}")
    return f"To use pi {version}: {how}"


def _shown(pi: pi_command.PiCommand) -> str:
    return f"from {PI_CHOSEN_BY[pi.source]}: {' '.join(pi_command.shown_words(pi.argv))}"


def _public(pi: pi_command.PiCommand) -> str:
    """Return the command as a stranger may see it."""
    rest = f" {pi_command.HIDDEN}" if len(pi.argv) > 1 else ""
    program = Path(pi_command.masked(pi.argv[0])).name
    return f"from {PI_CHOSEN_BY[pi.source]}: {program}{rest}"


# Node


def check_node(consulted: Consultation, place: CheckedPlace) -> Check:
    """Return which Node runs pi."""
    minimum = version_text(node.MINIMUM)
    if consulted.command is None:
        found = node.find_node(place.env, place.cwd, data_dir(place.env), needs_npm=False)
        if found is None:
            return NODE.problem(f"none that pi accepts ({minimum} or newer)", SETUP)
        version = version_text(found.version)
        return NODE.ok(f"{version} ({found.node})", public=version)
    used = _node_of(consulted.command, place)
    if used is None:
        return NODE.note("the pi command brings its own, if it needs one")
    numbers = node.node_version(used, place.env)
    if numbers is None:
        return NODE.problem(
            f"{used} does not report its version", SETUP, public="reports no version"
        )
    version = version_text(numbers)
    if numbers < node.MINIMUM:
        return NODE.problem(
            f"{version} ({used}) is too old: pi needs {minimum} or newer",
            f"Install a newer Node, or let us: {SETUP[0].lower()}{SETUP[1:]}",
            public=f"{version} is too old",
        )
    return NODE.ok(f"{version} ({used})", public=version)


def _node_of(pi: pi_command.PiCommand, place: CheckedPlace) -> Path | None:
    program = Path(pi.argv[0])
    if re.fullmatch(r"node(js)?", program.name):
        return program
    is_script = pi_command.is_node_script(program)
    return search_program("node", place.env, place.cwd).found if is_script else None


# Models


def check_models(consulted: Consultation) -> Check:
    """Return whether pi has any model to use."""
    if consulted.models is None:
        return MODELS.note("not known: pi does not run", "See the line about pi.")
    answer = consulted.models.answer()
    lines = answer.text.splitlines()
    if answer.exit_code == 0 and any(line.startswith(NO_MODELS) for line in lines):
        return MODELS.problem(
            "none configured; only --offline works",
            "Set the API key variable of your provider (export ANTHROPIC_API_KEY=...), or start "
            'pi and type /login. README: "Use your own model".',
        )
    if answer.exit_code != 0:
        how = "in time" if answer.exit_code is None else f"(exit code {answer.exit_code})"
        return MODELS.problem(
            f"pi did not list its models {how}",
            "Run pi by hand with --list-models to see why.",
        )
    rows = _rows(lines)
    if not rows:
        return MODELS.note("not known: pi's list has an unknown form")
    providers = sorted({row[0] for row in rows if _PROVIDER.fullmatch(row[0])})
    more = ", ..." if len(providers) > SHOWN_PROVIDERS else ""
    count = f"{len(rows)} of {len(providers)} provider{'' if len(providers) == 1 else 's'}"
    return MODELS.ok(
        f"{count} ({', '.join(providers[:SHOWN_PROVIDERS])}{more}); not tried", public=count
    )


def _rows(lines: list[str]) -> list[list[str]]:
    """Return the table's rows as words; empty where there is no table."""
    words = [line.split() for line in lines]
    start = next((i for i, row in enumerate(words) if row[:2] == ["provider", "model"]), None)
    return [] if start is None else [row for row in words[start + 1 :] if len(row) > 1]


# Trust


def check_trust(place: CheckedPlace) -> Check:
    """Return whether children load what the project itself configures."""
    if is_trusted(place.cwd, place.env):
        return TRUST.ok("trusted: children load the project's own pi settings and extensions")
    if not _has_protected(place):
        return TRUST.ok("not trusted, which changes nothing: the project configures nothing for pi")
    return TRUST.note(
        "not trusted: children leave out the project's own pi settings and extensions",
        "If you trust it: start pi here and type /trust",
    )


def _has_protected(place: CheckedPlace) -> bool:
    here, home = (Path(os.path.realpath(each)) for each in (place.cwd, home_dir(place.env)))
    own = any((here / PROJECT_DIR / name).exists() for name in PROTECTED)
    # The home's skills are the user's, not a project's: pi trusts them always.
    above = (each for each in (here, *here.parents) if each != home)
    return own or any((each / ".agents" / "skills").exists() for each in above)
