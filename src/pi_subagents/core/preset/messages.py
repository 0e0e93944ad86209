"""What `core/preset` says to people."""

from __future__ import annotations

# What can be wrong with a parameter (InvalidRequest puts the place in front) or a setting.


NEEDS_PRESET_OR_TASKS = "must be an object with `preset` and `task`, or with `tasks`"
NEEDS_PRESET_AND_TASK = "must be an object with `preset` and `task`"
NEEDS_PRESET_TASK_LIST = "must be a list of objects with `preset` and `task`"
EMPTY_IS_NOT_ALL = "must not be empty; leave it out to stop all that are active"

# What can be wrong with a profile or preset: a field, a file, fields against each other.


NEEDS_DESCRIPTION = "is required: a text that says what the preset is for"
