"""
Take from the umask what would keep us from our own files.

What others may do stays as the user has it, and our own files are private anyway.  A umask that
takes rights from the owner (277) would leave directories that nobody can write to.
"""

from __future__ import annotations

import os

OWNER = 0o700


def let_the_owner_write() -> None:
    """Do so for this process and all it starts."""
    given = os.umask(0o077)
    os.umask(given & ~OWNER)
