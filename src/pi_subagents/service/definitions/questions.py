"""
Ask about definitions of projects that are not trusted, before a call uses them.

In: the options of a call, and which profiles or presets it names.  Out: whoever can be asked was
asked, once for each content; the answers are kept, and are all that the work itself goes by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_subagents.config.definition_answers import DefinitionAnswers
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.definitions.project_choice import ASK, PROFILE, is_foreign
from pi_subagents.service import messages
from pi_subagents.service.call import place_of, trusts
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pi_subagents.core.definitions.definition import Loaded
    from pi_subagents.service.call import Options


async def ask_first(kind: str, names: Iterable[str], options: Options) -> None:
    """Ask about each named definition that needs it, and keep what is answered."""
    ask = options.get("ask")
    wanted = list(dict.fromkeys(names))
    if ask is None or not wanted:
        return
    cwd, env = place_of(options)
    if load_settings(cwd, env)[0].project_definitions != ASK or trusts(options, cwd):
        return
    answers = DefinitionAnswers(data_dir(env))
    for definition in _found(kind, wanted, options):
        if answers.find(kind, definition) is None:
            answer = await ask(messages.ask_foreign(kind, definition.name, definition.path))
            if answer is not None:
                answers.keep(kind, definition, use=answer)


def _found(kind: str, names: Iterable[str], options: Options) -> list[Loaded]:
    from pi_subagents.config.preset_files import load_presets
    from pi_subagents.config.profile_files import load_profiles

    place = place_of(options)
    known: Mapping[str, Loaded] = load_presets(*place).by_name
    if kind == PROFILE:
        known = load_profiles(*place).by_name
    found = [known[name] for name in names if name in known]
    return [each for each in found if is_foreign(each, trusted=False)]
