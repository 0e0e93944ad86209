"""
The order of a supervisor on this machine: a specification, and where its run is kept here.

In: a LocalOrder, or one decoded JSON object.  Out: the other.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pi_subagents.core.run.spec import RunSpec, changed, known_fields, spec_from_json, spec_to_json
from pi_subagents.core.value import as_dict, replace, value

if TYPE_CHECKING:
    from collections.abc import Mapping


@value
class PlaceOrder:
    """Where the run is kept on this machine."""

    run_dir: str = ""
    desk: str = ""  # where lock, orders and texts are: out of reach of the project
    dir_mark: str = ""  # which directory is meant, whatever stands in its place by now
    slots_dir: str = ""  # where the children of this user are counted
    lock_fd: int | None = None  # the run's lock, already held, in the supervisor's hands
    envelope_fd: int | None = None  # where the caller finds the result, whatever becomes of files
    purses: Mapping[str, str] = MappingProxyType({})  # by whose: files that several runs share
    screen_fd: int | None = None  # a terminal that shows the transcript, if one does


@value
class LocalOrder:
    """Everything one supervisor needs; never stored, because it may hold a key."""

    spec: RunSpec
    place: PlaceOrder = PlaceOrder()


def altered(order: LocalOrder, **fields: object) -> LocalOrder:
    """Return the order with some fields changed, of its place or of its specification."""
    place = {name: fields.pop(name) for name in PlaceOrder.__match_args__ if name in fields}
    return LocalOrder(changed(order.spec, **fields), replace(order.place, **place))


def order_to_json(order: LocalOrder) -> dict[str, object]:
    """Return the order as it travels."""
    place = {**as_dict(order.place), "purses": dict(order.place.purses)}
    return {**spec_to_json(order.spec), "place": place}


def order_from_json(content: Any) -> LocalOrder:
    """Return the order; ValueError where it is not one of ours."""
    spec = spec_from_json(content)
    return LocalOrder(spec, PlaceOrder(**known_fields(PlaceOrder, content.get("place") or {})))
