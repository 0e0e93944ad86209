#!/bin/sh
# Ask two sub-agents from a shell script and use their answers.
#
#     sh examples/from_a_shell.sh
#
# Needs `subagents` and `python3` on PATH. Works in the current directory, with the offline model.
# Exit code: that of `subagents call` (0 all completed, 1 some failed, 2 refused).
set -u

answer=$(
  subagents --quiet call delegate_to_subagents - --offline <<'JSON'
{"tasks": [
  {"name": "count", "prompt": "Count the Python files in .", "timeout": 120},
  {"name": "headings", "prompt": "Summarise the headings of README.md", "timeout": 120}
]}
JSON
)
code=$?

printf '%s' "$answer" | python3 -c '
import json, sys

answer = json.load(sys.stdin)
if answer["isError"]:
    sys.exit(answer["content"][0]["text"])
for result in answer["details"]["results"]:
    first_line = (result["output"] or result["errorMessage"]).splitlines()[0]
    print(result["name"], result["status"], first_line, sep=" | ")
'
exit "$code"
