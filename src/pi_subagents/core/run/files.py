"""The names of the files in a run's directory, and on its desk: a contract with whoever looks."""

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
