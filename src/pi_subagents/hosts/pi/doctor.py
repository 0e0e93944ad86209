"""Check what pi's settings say of our extension: it is there, it is ours, it is alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.check import Check, Subject
from pi_subagents.engines.pi.command import PI_CHOSEN_BY, VARIABLE
from pi_subagents.hosts.pi.extension import extension_dir, named_packages, pi_settings_file

if TYPE_CHECKING:
    from pi_subagents.system.home import CheckedPlace

PI_EXTENSION = Subject("pi-extension", "Extension in pi")

_INSTALL = "`subagents install pi` names the one that is there."


def check_pi_extension(place: CheckedPlace) -> Check:
    """Check whether pi loads the extension of this Python, and what else it would load."""
    # A settings file that cannot be read is reported by the checks of settings.
    both = [
        named_packages(pi_settings_file(place.cwd, place.env, project=project), place.env)
        for project in (False, True)
    ]
    named = [(path, each.path) for each in both for path in each.ours]
    gone = [
        f"{settings} names {path}, which does not exist"
        for path, settings in named
        if not path.is_dir()
    ]
    if gone:
        return PI_EXTENSION.problem("\n".join(gone), _INSTALL)
    if not named:
        return PI_EXTENSION.ok("not installed in pi (`subagents install pi` does it)")
    if rivals := [rival for each in both for rival in each.rivals]:
        return PI_EXTENSION.problem(
            f"installed, and so is {', '.join(rivals)}, whose tools have the same names",
            f"Remove one: `pi remove {rivals[0]}`, or `subagents uninstall pi`.",
        )
    others = [path for path, _ in named if path != extension_dir()]
    if others:
        return PI_EXTENSION.note(
            f"pi loads that of another installation: {others[0]}",
            "`subagents install pi` puts this one in its place.",
        )
    where = ", ".join(str(settings) for _, settings in named)
    return PI_EXTENSION.ok(f"installed in pi ({where}); {_inside_pi(place)}")


def _inside_pi(place: CheckedPlace) -> str:
    """Return which pi sub-agents run on there: another than the check of pi reports."""
    settings, _ = load_settings(place.cwd, place.env)
    if place.env.get(VARIABLE, "").strip():
        return f"sub-agents there run on the pi from {PI_CHOSEN_BY['environment']}"
    if settings.pi_command is not None:
        return f"sub-agents there run on the pi from {PI_CHOSEN_BY['settings']}"
    return "sub-agents there run on that very pi"
