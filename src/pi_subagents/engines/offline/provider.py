"""Names under which agents know the offline model, and the variable that says where it is."""

from __future__ import annotations

PROVIDER = "subagents-offline"
MODEL = "offline"
URL_VARIABLE = "PI_SUBAGENTS_OFFLINE_URL"
