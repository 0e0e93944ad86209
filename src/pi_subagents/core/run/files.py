"""The names by which a run is known: its files, on its desk too, and its processes' variables."""

from __future__ import annotations

META = "meta.json"
EVENTS = "events.jsonl"
RESULT = "result.json"
STDOUT, STDERR = "stdout.log", "stderr.log"
TRANSCRIPT = "transcript.log"
# What is kept both in the directory and on the desk: what the child was asked and started with.
PROMPT, TASK = "prompt.md", "task.md"
SYSTEM_PROMPT, APPEND_PROMPT = "system-prompt.md", "append-system-prompt.md"
CHILD_SESSION = "child-session.jsonl"
# What it changed in a worktree of its own.
CHANGES, CHANGES_PATCH = "changes.json", "changes.patch"
ORDERS = "orders.json"  # what the run wants of its child beside its prompt
REMOTE = "remote.json"  # on a desk: which cluster has the run
# Sockets of a supervisor on its desk: for orders, and for calls of tools of ours by its child.
CONTROL, TOOLS = "control", "tools"


CHILD_VARIABLE = "PI_SUBAGENTS_CHILD"  # 1: a sub-agent, which may not delegate
CLUSTER_VARIABLE = "PI_SUBAGENTS_CLUSTER"  # where a cluster is, perhaps with a password
MARKER_VARIABLE = "PI_SUBAGENTS_RUN"  # the id of the run that the process was started for
CLUSTER_VARIABLE = "PI_SUBAGENTS_CLUSTER"  # where a cluster is; no child has it
