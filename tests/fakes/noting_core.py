"""A core that notes every line it is sent in a file, `noting_core.py FILE`, and answers anything."""

from __future__ import annotations

import json
import sys
from pathlib import Path

with Path(sys.argv[1]).open("a", encoding="utf-8") as notes:
    for line in sys.stdin:
        notes.write(line)
        notes.flush()
        message = json.loads(line)
        if "id" in message:
            result = {"content": [{"type": "text", "text": "noted"}], "details": {}}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
