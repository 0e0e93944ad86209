"""
A small npm registry on loopback, for the real npm.

`NpmRegistry.add` puts a package into it; packuments and tarballs are made from that on the fly.
What it `lacks` is not found, the connection ends amid the tarballs of what is `cut`, and those of what is `forged`
are other ones than it announces.  `asked_for` holds the names of all packages that were asked for.

`add_pi` adds a pi as it is published: a bundle that answers RPC mode, with the dependencies of the
real one in small.  Its bundle needs jiti to load an extension, as the real one does; before 0.99.0 it
needs one of pi's own packages too.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PI = "@earendil-works/pi-coding-agent"
OWN = ("pi-agent-core", "pi-ai", "pi-codemode", "pi-mcp", "pi-tui")
LOADED = {"jiti": "2.7.0", "quickjs-wasi": "3.6.2", "@silvia-odwyer/photon-node": "0.3.4"}
OTHERS = {"undici": "8.12.3", "yaml": "2.9.0"}
BUNDLE = """\
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
%(imports)s
const words = process.argv.slice(2);
if (!words.includes("--mode")) {
  console.log("%(version)s");
  process.exit(0);
}
const { load } = await import("jiti");
const extension = load(readFileSync(words[words.indexOf("--extension") + 1], "utf8"));
const commands = [{ name: extension, description: "%(version)s", source: "extension" }];
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line).type;
  console.log(JSON.stringify({ type: "response", command, success: true, data: { commands } }));
}
"""
JITI = 'export const load = (text) => text.split("\\"")[3];\n'
CHORD = "export const chord = true;\n"


@dataclass
class Package:
    """What one version of a package holds, and what it depends on."""

    name: str
    version: str
    files: Mapping[str, str]
    dependencies: Mapping[str, str]

    @property
    def manifest(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "version": self.version,
            "type": "module",
            "exports": "./index.js",
            "dependencies": dict(self.dependencies),
        }

    def tarball(self) -> bytes:
        """Return the package as it is published; always the same bytes."""
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w") as archive:
            for name, text in {"package.json": json.dumps(self.manifest), **self.files}.items():
                member = tarfile.TarInfo(f"package/{name}")
                member.size = len(text.encode())
                archive.addfile(member, io.BytesIO(text.encode()))
        return gzip.compress(made.getvalue(), mtime=0)


@dataclass
class NpmRegistry:
    """What can be had, and what is wrong with it."""

    packages: dict[str, dict[str, Package]] = field(default_factory=dict)
    lacks: set[str] = field(default_factory=set)
    cut: set[str] = field(default_factory=set)
    forged: set[str] = field(default_factory=set)
    asked_for: list[str] = field(default_factory=list)
    address: str = ""

    def add(self, name: str, version: str, files: Mapping[str, str], **dependencies: str) -> None:
        package = Package(name, version, files, dependencies)
        self.packages.setdefault(name, {})[version] = package

    def add_pi(self, version: str, *, self_contained: bool = True) -> None:
        """Add a pi, and all that it depends on."""
        own = {f"@earendil-works/{name}": version for name in OWN}
        imports = ""
        if not self_contained:
            own["@earendil-works/chord"] = version
            imports = 'import "@earendil-works/chord";'
        bundle = BUNDLE % {"version": version, "imports": imports}
        files = {"dist/bundle/cli.js": bundle, "dist/bundle/chunks/main.js": "", "README.md": "pi"}
        self.add(PI, version, files, **own, **LOADED, **OTHERS)
        for name in own:
            self.add(name, version, {"index.js": CHORD})
        for name, other in {**LOADED, **OTHERS}.items():
            self.add(name, other, {"index.js": JITI})

    def answer(self, path: str) -> bytes | None:
        """Return what stands at a path: a packument or a tarball."""
        name, _, file = unquote(path).lstrip("/").partition("/-/")
        if not file:
            self.asked_for.append(name)
        versions = self.packages.get(name, {})
        if not versions or name in self.lacks:
            return None
        if file:
            package = versions[file.removesuffix(".tgz")]
            whole = package.tarball()
            if name in self.forged:
                package = Package(name, package.version, {"index.js": "other"}, {})
                return package.tarball()
            return whole
        return json.dumps(
            {
                "name": name,
                "dist-tags": {"latest": max(versions)},
                "versions": {version: self._described(each) for version, each in versions.items()},
            }
        ).encode()

    def is_cut(self, path: str) -> bool:
        """Tell whether the connection ends before all of a tarball was sent."""
        name, _, file = unquote(path).lstrip("/").partition("/-/")
        return bool(file) and name in self.cut

    def _described(self, package: Package) -> dict[str, Any]:
        digest = base64.b64encode(hashlib.sha512(package.tarball()).digest()).decode()
        dist = {
            "tarball": f"{self.address}{package.name}/-/{package.version}.tgz",
            "integrity": f"sha512-{digest}",
        }
        return {**package.manifest, "dist": dist}


@contextmanager
def npm_registry() -> Iterator[NpmRegistry]:
    """Serve an empty registry until the end of the context."""
    registry = NpmRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = registry.answer(self.path)
            body = found or b"{}"
            self.send_response(404 if found is None else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if registry.is_cut(self.path) else body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        registry.address = f"http://127.0.0.1:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
