"""
A Node, an npm and a pi made of small scripts, for set-up without a network.

`write_fake_node` puts a node and its npm under a prefix.  What npm does is told by FAKE_NPM:
works (default), fails, wrong_version, waits.  It notes each call in FAKE_NPM_CALLS; when it
waits, it says "started" on the pipe FAKE_NPM_ALIVE, which it holds open until it dies, and goes
on when FAKE_NPM_GO is opened for writing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NODE = """\
#!/bin/sh
case "$1" in
  --version) echo "v{version}" ;;
  --print) echo "$0" ;;
  */npm-cli.js) shift; exec "{python}" -I -S "{npm}" "$@" ;;
  *) read -r line < "$1"; echo "$line" ;;
esac
"""

NPM = """\
import os, sys
from pathlib import Path

verb = os.environ.get("FAKE_NPM", "works")
prefix = Path(sys.argv[sys.argv.index("--prefix") + 1])
cache = Path(sys.argv[sys.argv.index("--cache") + 1])
if calls := os.environ.get("FAKE_NPM_CALLS"):
    with open(calls, "a") as stream:
        print(*sys.argv[1:], file=stream)
cache.mkdir(parents=True, exist_ok=True)
(cache / "tarball").write_text("x")
package = prefix / "node_modules" / "@earendil-works" / "pi-coding-agent"
(package / "dist" / "bundle" / "chunks").mkdir(parents=True)
if verb == "waits":
    alive = open(os.environ["FAKE_NPM_ALIVE"], "w")
    print("started", file=alive, flush=True)
    open(os.environ["FAKE_NPM_GO"]).close()
if verb == "fails":
    print("npm error \\x1b[31mnetwork\\x1b[0m unreachable", file=sys.stderr)
    sys.exit(7)
version = "0.0.1" if verb == "wrong_version" else "0.87.1"
(package / "dist" / "bundle" / "cli.js").write_text(version + "\\n")
(package / "dist" / "bundle" / "chunks" / "main.js").write_text("")
"""


def write_script(path: Path, text: str) -> Path:
    """Write an executable file, making its directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def write_fake_node(prefix: Path, version: str, *, with_npm: bool = True) -> Path:
    """Put `bin/node`, and the npm that belongs to it, under a prefix; return the node."""
    npm = prefix / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if with_npm:
        npm.parent.mkdir(parents=True, exist_ok=True)
        npm.write_text(NPM)
    script = NODE.format(version=version, python=sys.executable, npm=npm)
    return write_script(prefix / "bin" / "node", script)


def npm_of(node: Path) -> tuple[str, ...]:
    """Return how the npm of a fake node is started."""
    return str(node), str(
        node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    )
