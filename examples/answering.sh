#!/bin/sh
# Start a background run that asks something, see the question, and answer it from this terminal.
#
#     sh examples/answering.sh
#
# Needs `subagents` and `python3` on PATH. Uses the offline model.
# Exit code: 0 if the run was completed, else 1.
set -eu

run=$(subagents --quiet run --background --offline --questions ask --name deploy --json \
  "Ask which database to use" | python3 -c '
import json, sys

(run,) = json.load(sys.stdin)["runs"]
print(run["runId"])
')

# The run goes on by itself until it asks; then it waits, and whoever comes first answers.
# Any terminal will do, and so will `subagents watch`, a host of agents, or Python.
subagents background wait "$run" >/dev/null || true
subagents answer "$run"
subagents answer "$run" "the one for staging"
subagents output "$run" --wait 60 | head -1
