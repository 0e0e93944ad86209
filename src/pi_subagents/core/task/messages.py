"""What `core/task` says to people."""

from __future__ import annotations

# What can be wrong with a parameter (InvalidRequest puts the place in front) or a setting.


NEEDS_TASKS = "must be an object with a list `tasks`"
NEEDS_TASK_LIST = "is required and must be a list of task objects"
NEEDS_TASK_OBJECT = "must be an object with `name` and `prompt`"
NEEDS_FILE_LIST = "must be a list of paths or objects with a `path`"
NEEDS_FILE = "must be a path, or an object with a `path`"
NEEDS_FILE_SPEC = "must be a FileSpec"
FILE_FORMS = "takes `start` and `end`, or `head`, or `tail` beside its `path`"
MUST_BE_LINE = "must be a whole number of at least 1"
START_AFTER_END = "starts after it ends"

# What can be wrong with a parameter, a setting or a file: limits, names and reasons.


def wrong_length(most: int) -> str:
    """Return why a text is too short or too long."""
    return f"must have 1 to {most} characters"


# Marks in what a resumed sub-agent is told of its session.


RESUME_SHORTENED = "... (shortened)"
RESUME_LEFT_OUT = "(older parts of this session were left out to save room)"
