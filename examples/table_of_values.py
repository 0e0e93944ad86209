"""
Ask eight sub-agents, get values instead of texts, and print them as a table.

    python examples/table_of_values.py

Every answer has to fit SCHEMA, so nothing has to be taken out of prose; one that does not is asked
for again, and fails its task in the end.  The offline model plays a script here: leave `offline`
out to ask the model your pi is configured with.
"""

import sys

from pi_subagents import Task, delegate_sync
from pi_subagents.core.offline.script import parse_script

SCHEMA = {
    "type": "object",
    "properties": {
        "meaning": {"type": "string", "maxLength": 40},
        "retry": {"type": "boolean", "description": "Whether the same request may succeed later."},
    },
    "required": ["meaning", "retry"],
    "additionalProperties": False,
}
KNOWN = {
    400: ("Bad Request", False),
    401: ("Unauthorized", False),
    404: ("Not Found", False),
    408: ("Request Timeout", True),
    409: ("Conflict", False),
    429: ("Too Many Requests", True),
    500: ("Internal Server Error", True),
    503: ("Service Unavailable", True),
}
SCRIPT = parse_script(
    {
        "conversations": [
            {
                "match": f"status {code}",
                "turns": [
                    {
                        "toolCalls": [
                            {
                                "name": "submit_answer",
                                "arguments": {"meaning": meaning, "retry": retry},
                            }
                        ]
                    }
                ],
            }
            for code, (meaning, retry) in KNOWN.items()
        ]
    }
)


def main() -> int:
    """Return 0 if every answer fits."""
    tasks = [
        Task(str(code), f"What does the HTTP status {code} mean?", output_schema=SCHEMA)
        for code in KNOWN
    ]
    delegation = delegate_sync(tasks, offline=SCRIPT)
    print(f"{'code':4}  {'meaning':21}  retry")
    for result in delegation.results:
        if result.has_value:
            retry = "yes" if result.value["retry"] else "no"
            print(f"{result.name:4}  {result.value['meaning']:21}  {retry}")
        else:
            print(f"{result.name:4}  {result.error_message}")
    return 0 if all(result.has_value for result in delegation.results) else 1


if __name__ == "__main__":
    sys.exit(main())
