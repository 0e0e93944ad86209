"""What `engines/pi/models` says to people."""

from __future__ import annotations

# Why pi did not say which models it has: the reasons of ModelsUnknown.


MODELS_IN_UNKNOWN_FORM = "its answer has an unknown form"
