from __future__ import annotations

import pytest

from pi_subagents.core import messages
from pi_subagents.core.definitions.definition import GLOBAL, PROJECT
from pi_subagents.core.definitions.found import (
    ALLOW,
    ASK,
    DENY,
    UserAnswer,
    choose_foreign,
    is_foreign,
)
from pi_subagents.core.preset.preset import LoadedPreset, Preset

THEIRS = LoadedPreset(Preset("scout", "theirs"), PROJECT, "/project/.pi/subagents/scout.md")
OWN = LoadedPreset(Preset("scout", "mine"), GLOBAL, "/home/.pi/agent/subagents/scout.md")
YES, NO = UserAnswer(use=True, file="/answer"), UserAnswer(use=False, file="/answer")
REPLACES = messages.note_replaces("preset", "scout", THEIRS.path)
NOT_ASKED = messages.nobody_to_ask("preset", "scout", THEIRS.path)


@pytest.mark.parametrize(
    ("own", "policy", "answer", "used", "note", "refusal"),
    [
        (None, ALLOW, None, THEIRS, "", ""),
        (OWN, ALLOW, None, THEIRS, REPLACES, ""),
        (OWN, ALLOW, NO, THEIRS, REPLACES, ""),  # it was asked under another setting
        (OWN, DENY, None, OWN, messages.note_own_instead("preset", "scout", messages.FOREIGN_DENIED), ""),
        (OWN, DENY, YES, OWN, messages.note_own_instead("preset", "scout", messages.FOREIGN_DENIED), ""),
        (
            None, DENY, None, None, "",
            messages.foreign_refused("preset", "scout", messages.FOREIGN_DENIED),
        ),
        (None, ASK, YES, THEIRS, "", ""),
        (OWN, ASK, YES, THEIRS, REPLACES, ""),
        (
            OWN, ASK, NO, OWN,
            messages.note_own_instead("preset", "scout", messages.foreign_declined("/answer")), "",
        ),
        (
            None, ASK, NO, None, "",
            messages.foreign_refused("preset", "scout", messages.foreign_declined("/answer")),
        ),
        (OWN, ASK, None, None, "", NOT_ASKED),
        (None, ASK, None, None, "", NOT_ASKED),
    ],
)  # fmt: skip
def test_setting_and_answer_decide_which_definition_counts_and_what_is_said(
    own: LoadedPreset | None,
    policy: str,
    answer: UserAnswer | None,
    used: LoadedPreset | None,
    note: str,
    refusal: str,
) -> None:
    chosen = choose_foreign("preset", THEIRS, own, policy, answer)
    assert (chosen.loaded, chosen.note, chosen.refusal) == (used, note, refusal)


def test_only_a_projects_own_is_foreign_and_only_without_trust() -> None:
    assert is_foreign(THEIRS, trusted=False)
    assert not is_foreign(THEIRS, trusted=True)
    assert not is_foreign(OWN, trusted=False)
    assert not is_foreign(None, trusted=False)
