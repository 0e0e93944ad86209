"""
The files of the page as they are shipped, and what a browser may do with them.

In: the folder `page` beside this file.  Out: bytes by name with their media type; the policy:
run and show what is in that folder, ask us, and nothing else.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

PAGE = "page.html"
FOLDER = "page"
# Every answer has it, refusals too: the address, which holds the token, is not in it.  Nothing else
# that we send is a script or a style by its type.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}


@cache
def page_files() -> dict[str, tuple[bytes, str]]:
    """Return every file that a browser may have, with its media type."""
    folder = resources.files("pi_subagents.faces.watch").joinpath(FOLDER)
    found = {}
    for file in folder.iterdir():
        suffix = "." + file.name.rpartition(".")[2]
        if suffix in TYPES:
            found[file.name] = (file.read_bytes(), TYPES[suffix])
    return found
