"""A chain of bundles is believed only whole, in its order and in the forms that git gives."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.core.given_values import json_values, thoroughly

from pi_subagents.core.workspace.bundle import (
    MAX_BUNDLE_BYTES,
    MAX_BUNDLES,
    Bundle,
    bundles_from_json,
    bundles_to_json,
)

A, B, DIGEST = "a" * 40, "b" * 64, "0" * 64
WHOLE = {"commit": A, "base": "", "digest": DIGEST, "size": 1}
THIN = {"commit": B, "base": A, "digest": DIGEST, "size": MAX_BUNDLE_BYTES}

near_misses = st.lists(
    st.fixed_dictionaries(
        {
            "commit": st.sampled_from([A, B, "", "-x", None]),
            "base": st.sampled_from(["", A, B, 1]),
            "digest": st.sampled_from([DIGEST, A, None]),
            "size": st.sampled_from([1, 0, -1, True, 2.0, MAX_BUNDLE_BYTES + 1]),
        },
        optional={"more": json_values},
    ),
    max_size=3,
)


def test_a_chain_comes_back_as_it_went() -> None:
    chain = (Bundle(A, "", DIGEST, 1), Bundle(B, A, DIGEST, MAX_BUNDLE_BYTES))
    assert bundles_to_json(chain) == [WHOLE, THIN]
    assert bundles_from_json([WHOLE, THIN]) == chain


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "bundles: must be a list of 1 to 32"),
        ([], "bundles: must be a list of 1 to 32"),
        ([WHOLE] * (MAX_BUNDLES + 1), "bundles: must be a list of 1 to 32"),
        ([THIN], "bundles: each has to be based on the one before"),
        ([WHOLE, WHOLE], "bundles: each has to be based on the one before"),
        (["x"], "bundles[0]: must be an object with commit, base, digest, size"),
        ([{**WHOLE, "more": 1}], "bundles[0]: must be an object with commit, base, digest, size"),
        (
            [WHOLE, {**THIN, "commit": "--all"}],
            "bundles[1].commit: not a name that git or a hash gives",
        ),
        ([{**WHOLE, "digest": "../x"}], "bundles[0].digest: not a name that git or a hash gives"),
        (
            [{**WHOLE, "size": 0}],
            f"bundles[0].size: must be between 1 and {MAX_BUNDLE_BYTES} bytes",
        ),
        (
            [{**WHOLE, "size": True}],
            f"bundles[0].size: must be between 1 and {MAX_BUNDLE_BYTES} bytes",
        ),
    ],
)
def test_what_is_no_chain_is_refused_with_the_place(content: object, reason: str) -> None:
    with pytest.raises(ValueError, match=r"bundles") as refused:
        bundles_from_json(content)
    assert str(refused.value) == reason


@thoroughly
@given(json_values | near_misses)
def test_whatever_comes_is_a_chain_or_is_refused(content: Any) -> None:
    try:
        chain = bundles_from_json(content)
    except ValueError:
        return
    assert json.loads(json.dumps(bundles_to_json(chain))) == content
