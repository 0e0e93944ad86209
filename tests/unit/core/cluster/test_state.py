from __future__ import annotations

import pytest

from pi_subagents.core.cluster.state import tag_of


@pytest.mark.parametrize(
    ("words", "tag"),
    [
        ("cluster", "default"),
        ("cluster:gpu", "gpu"),
        ("cluster:big.mem-2", "big.mem-2"),
        ("cluster:", None),
        ("cluster:GPU", None),
        ("cluster:a b", None),
        (f"cluster:{'a' * 64}", None),
        ("process", None),
        ("here", None),
        ("", None),
    ],
)
def test_a_tag_says_which_workers_are_meant(words: str, tag: str | None) -> None:
    assert tag_of(words) == tag
