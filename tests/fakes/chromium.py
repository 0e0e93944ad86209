"""A real browser for tests, where there is one."""

from __future__ import annotations

import pytest
from scripts.screenshot_chromium import PROGRAM

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="there is no chromium here")
