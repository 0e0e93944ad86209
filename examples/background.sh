#!/bin/sh
# Start two background runs, wait until both have ended, and show what they found.
#
#     sh examples/background.sh
#
# Needs `subagents` and `python3` on PATH, and the preset repo-scout (see presets/ beside this file)
# in .pi/subagents of the current directory. Uses the offline model.
# Exit code: 0 if both were completed, else 1.
set -eu

start() {
  subagents --quiet background start repo-scout "$1" --offline --json | python3 -c '
import json, sys

answer = json.load(sys.stdin)
if answer["isError"]:
    sys.exit(answer["content"][0]["text"])
print(answer["details"]["runId"])
'
}

show() {
  subagents background status "$1" --json | python3 -c '
import json, sys

(run,) = json.load(sys.stdin)["details"]["runs"]
print(run["status"], run["task"], run["output"].splitlines()[0], sep=" | ")
'
}

files=$(start "Count the Python files in .")
headings=$(start "Summarise the headings of README.md")

# Both are at work now, with or without this script. Any other terminal could wait for them.
code=0
subagents background wait "$files" "$headings" >/dev/null || code=$?

show "$files"
show "$headings"
exit "$code"
