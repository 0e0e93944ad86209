"""
Which definition of a name counts: the project's, or the user's own; and asking the user first.

In: what a project and the user define together, whether the project is trusted, the setting, and
the answers that are kept.  Out: a Choice, with the words for whoever reads the result.  Whoever can
be asked is asked before a call begins, once for each content; the work itself goes by the answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pi_subagents.config.definition_answers import DefinitionAnswers
from pi_subagents.config.settings_files import load_settings
from pi_subagents.core.definitions.definition import Loaded
from pi_subagents.core.definitions.found import (
    ASK,
    PROFILE,
    Choice,
    choose_foreign,
    is_foreign,
)
from pi_subagents.core.value import value
from pi_subagents.service import messages
from pi_subagents.service.call import place_of, trust_of
from pi_subagents.system.home import data_dir

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pi_subagents.core.definitions.found import Definitions
    from pi_subagents.core.settings import Settings
    from pi_subagents.service.call import CallContext, Options

L = TypeVar("L", bound=Loaded)


@value
class DefinitionRules:
    """What decides in one place: the setting, whether the project is trusted, and the answers."""

    policy: str
    trusted: bool
    answers: DefinitionAnswers

    @classmethod
    def of(cls, settings: Settings, env: Mapping[str, str], *, trusted: bool) -> DefinitionRules:
        """Return those of a place with these settings."""
        return cls(settings.project_definitions, trusted, DefinitionAnswers(data_dir(env)))

    def choose(self, kind: str, found: Definitions[L], name: str) -> Choice[L]:
        """Return what a task that names this gets."""
        loaded = found.get(name)
        if loaded is None or not is_foreign(loaded, trusted=self.trusted):
            return Choice(loaded)
        answer = self.answers.find(kind, loaded) if self.policy == ASK else None
        return choose_foreign(kind, loaded, found.get_overridden(name), self.policy, answer)

    def choose_all(self, kind: str, found: Definitions[L]) -> dict[str, Choice[L]]:
        """Return what tasks get by each name that there is."""
        return {name: self.choose(kind, found, name) for name in found.by_name}


def choose_for(context: CallContext, kind: str, found: Definitions[L], name: str) -> Choice[L]:
    """Return what a task of this call gets."""
    trusted = context.trusted(context.cwd)
    return DefinitionRules.of(context.settings, context.env, trusted=trusted).choose(
        kind, found, name
    )


async def ask_first(kind: str, names: Iterable[str], options: Options) -> None:
    """Ask about each named definition that needs it, and keep what is answered."""
    ask = options.get("ask")
    wanted = list(dict.fromkeys(names))
    if ask is None or not wanted:
        return
    cwd, env = place_of(options)
    if load_settings(cwd, env)[0].project_definitions != ASK or trust_of(options)(cwd):
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
