"""
A Node, an npm and a pi made of small scripts, for set-up without a network.

`write_fake_node` puts a node and its npm under a prefix.  What npm does is told by FAKE_NPM:
works (default); fails; waits; lacks (another dependency of pi) and lacks_all (even what its bundle
loads); damaged (so does it, and the tarball is cut); or what the installed pi does: wrong_version,
cannot_start, no_extension, refuses.  Each call is noted in FAKE_NPM_CALLS, with the package.json it
found; when npm waits, it says "started" on the pipe FAKE_NPM_ALIVE, which it holds open until it
dies, and goes on when FAKE_NPM_GO is opened for writing.

The pi answers `--version` and RPC mode, and notes each start in FAKE_PI_STARTS.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

NODE = """\
#!/bin/sh
case "$1" in
  --version) echo "v{version}" ;;
  --print) echo "$0" ;;
  */npm-cli.js) shift; exec "{python}" -I -S "{npm}" "$@" ;;
  *) exec "{python}" -I -S "{pi}" "$@" ;;
esac
"""

# The file that Node is given says what this pi is: its version, and what is wrong with it.
PI = """\
import json, os, sys
from pathlib import Path

version, wrong = (Path(sys.argv[1]).read_text() + " ").split(" ", 1)
words = sys.argv[2:]
if "--mode" not in words:
    print(version.strip())
    sys.exit()
if starts := os.environ.get("FAKE_PI_STARTS"):
    with open(starts, "a") as stream:
        env = {k: v for k, v in os.environ.items() if k.startswith("PI_") or k == "TMPDIR"}
        print(json.dumps({"argv": words, "env": env, "cwd": os.getcwd()}), file=stream)
if "cannot_start" in wrong:
    print("Error: Cannot find package 'chord'\\n    at packageResolve (node:1:1)", file=sys.stderr)
    sys.exit(1)
extension = Path(words[words.index("--extension") + 1]).read_text()
proof = {"name": extension.split('"')[3], "description": version, "source": "extension"}
for line in sys.stdin:
    command = json.loads(line)["type"]
    data = {"commands": [] if "no_extension" in wrong else [proof]} if "commands" in command else {}
    answer = {"type": "response", "command": command, "success": True, "data": data}
    if "refuses" in wrong:
        answer = {"type": "response", "command": command, "success": False, "error": "not now"}
    print(json.dumps(answer), flush=True)
"""

NPM = """\
import io, json, os, sys, tarfile
from pathlib import Path

PI = "@earendil-works/pi-coding-agent"
LOADED = {"jiti": "2.7.0", "quickjs-wasi": "3.6.2", "@silvia-odwyer/photon-node": "0.3.4"}
verb = os.environ.get("FAKE_NPM", "works")
words = sys.argv[1:]
prefix = Path(words[words.index("--prefix") + 1])
cache = Path(words[words.index("--cache") + 1])
manifest = prefix / "package.json"
asked = json.loads(manifest.read_text()) if manifest.exists() else None
if calls := os.environ.get("FAKE_NPM_CALLS"):
    with open(calls, "a") as stream:
        print(json.dumps({"words": words, "manifest": asked}), file=stream)
cache.mkdir(parents=True, exist_ok=True)
(cache / "tarball").write_text("x")


def fail(code, text):
    print(text, file=sys.stderr)
    sys.exit(code)


def files_of_pi(version):
    told = "0.0.1" if verb == "wrong_version" else version
    dependencies = {**LOADED, "undici": "8.12.3", "@earendil-works/pi-ai": version}
    return {
        "package.json": json.dumps({"version": version, "dependencies": dependencies}),
        "dist/bundle/cli.js": told + " " + verb,
        "dist/bundle/chunks/main.js": "",
    }


def write(directory, files):
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


if verb == "waits":
    alive = open(os.environ["FAKE_NPM_ALIVE"], "w")
    print("started", file=alive, flush=True)
    open(os.environ["FAKE_NPM_GO"]).close()
if verb == "fails":
    fail(7, "npm error \\x1b[31mnetwork\\x1b[0m unreachable")
if words[0] == "pack":
    version = next(w for w in words if w.startswith(PI + "@")).rpartition("@")[2]
    tarball = Path(words[words.index("--pack-destination") + 1]) / "pi.tgz"
    with tarfile.open(tarball, "w:gz") as archive:
        for name, content in files_of_pi(version).items():
            member = tarfile.TarInfo("package/" + name)
            member.size = len(content.encode())
            archive.addfile(member, io.BytesIO(content.encode()))
    if verb == "damaged":
        tarball.write_bytes(tarball.read_bytes()[:-20])
    sys.exit()
for name, wanted in asked["dependencies"].items():
    target = prefix / "node_modules" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if wanted.startswith("file:"):
        target.symlink_to(os.path.relpath(prefix / wanted[5:], target.parent))
    elif name != PI:
        if verb == "lacks_all":
            fail(1, "npm error notarget No matching version found for jiti@2.7.0.")
        write(target, {"package.json": "{}"})
    else:
        if verb in ("lacks", "lacks_all", "damaged"):
            write(target, {"README.md": "half of it"})
            fail(1, "npm error notarget No matching version found for undici@8.12.3.")
        write(target, files_of_pi(wanted))
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
    pi = prefix / "lib" / "fake-pi.py"
    pi.parent.mkdir(parents=True, exist_ok=True)
    pi.write_text(PI)
    if with_npm:
        npm.parent.mkdir(parents=True, exist_ok=True)
        npm.write_text(NPM)
    script = NODE.format(version=version, python=sys.executable, npm=npm, pi=pi)
    return write_script(prefix / "bin" / "node", script)


def npm_of(node: Path) -> tuple[str, ...]:
    """Return how the npm of a fake node is started."""
    return str(node), str(
        node.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    )


def noted(file: Path) -> list[dict[str, Any]]:
    """Return the calls of npm, or the starts of pi, that were noted in a file."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
