"""What a child is told because of a limit."""

from __future__ import annotations

WRAP_UP = (
    "Your time is almost up. Do not start anything new: finish now with what you have, and say "
    "what is missing."
)
