"""
Read a file of tasks: the parameters of `delegate_to_subagents`, as JSON or YAML.

In: a path and the text found there.  Out: the decoded value, for `parse_delegate` to judge; a bare
list is a list of tasks.  A task's relative directory is meant from the file's own place.  YAML
aliases, tags and repeated keys are refused, so that a file means what it looks like.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from pi_subagents.config import messages
from pi_subagents.core.messages import NO_ALIASES, NO_TAGS, repeated_key
from pi_subagents.errors import TaskFileUnusable

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 32 * 1024 * 1024
MAX_YAML_BYTES = 1024 * 1024


def read_task_file(path: Path, data: bytes) -> object:
    """Return the parameters that the file holds; TaskFileUnusable where it holds none."""
    is_yaml = path.suffix.lower() in (".yaml", ".yml")
    limit = MAX_YAML_BYTES if is_yaml else MAX_BYTES
    if len(data) > limit:
        raise TaskFileUnusable(str(path), messages.larger_than(limit))
    try:
        text = data.decode("utf-8-sig")
        value = _yaml(text) if is_yaml else json.loads(text, object_pairs_hook=_unrepeated)
    # TypeError: a list as a key; OverflowError: a number in base 60 that no float holds
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TaskFileUnusable(str(path), reason) from error
    content = {"tasks": value} if isinstance(value, list) else value
    if isinstance(content, dict) and isinstance(content.get("tasks"), list):
        base = path.absolute().parent
        content = {**content, "tasks": [_placed(task, base) for task in content["tasks"]]}
    return content


def _placed(task: object, base: Path) -> object:
    """Return the task with its directory worked out; everything else is judged elsewhere."""
    cwd = task.get("cwd") if isinstance(task, dict) else None
    if not isinstance(task, dict) or not isinstance(cwd, str) or cwd.startswith("/"):
        return task
    return {**task, "cwd": os.path.abspath(base / cwd)}  # noqa: PTH100 - links stay as typed


def _yaml(text: str) -> object:
    import yaml

    class Loader(yaml.SafeLoader):
        """Plain values only, each written where it stands."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()  # type: ignore[no-untyped-call]  # PyYAML has no types for it
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise ValueError(f"line {event.start_mark.line + 1}: {NO_ALIASES}")
            if getattr(event, "tag", None):
                raise ValueError(f"line {event.start_mark.line + 1}: {NO_TAGS}")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's own
            pairs = [(self.construct_object(key, deep=True), None) for key, _ in node.value]
            _unrepeated(pairs)
            return super().construct_mapping(node, deep)

    try:
        value: object = yaml.load(text, Loader)  # noqa: S506 - it is a SafeLoader
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    return value


def _unrepeated(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(repeated_key(str(key)))
        found[key] = value
    return found
