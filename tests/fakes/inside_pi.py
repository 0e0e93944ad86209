"""
Run a piece of TypeScript inside the real pi, as an extension of it.

What extensions can import is what the running pi is made of, however it was installed; files beside
its bundle may need packages that are not there.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from typing import TYPE_CHECKING, Any

from pi_subagents.engines.pi.invocation import QUIET

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 120
FRAME = """\
import {{ readFileSync, writeFileSync }} from "node:fs";
{imports}

export default async function inside(): Promise<void> {{
  const given = JSON.parse(readFileSync({given}, "utf8"));
  const answer = async () => {{
{body}
  }};
  writeFileSync({answer}, JSON.stringify(await answer()));
}}
"""


def inside_pi(directory: Path, imports: str, body: str, given: object = None) -> Any:
    """Return what the body of a function returns, to which `given` is given."""
    question, answer = directory / "given.json", directory / "answer.json"
    extension = directory / "inside.ts"
    question.write_text(json.dumps(given))
    answer.unlink(missing_ok=True)
    words = {"given": json.dumps(str(question)), "answer": json.dumps(str(answer))}
    extension.write_text(FRAME.format(imports=imports, body=body, **words))
    options = ("--mode", "rpc", "--no-session", "--no-approve", "--no-extensions")
    done = subprocess.run(
        [*shlex.split(os.environ["PI_SUBAGENTS_PI"]), *options, "--extension", str(extension)],
        stdin=subprocess.DEVNULL,  # without input it ends by itself
        capture_output=True,
        text=True,
        cwd=directory,
        env={
            **os.environ,
            **QUIET,
            "HOME": str(directory),
            "PI_CODING_AGENT_DIR": str(directory / "agent"),
        },
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(answer.read_text())
