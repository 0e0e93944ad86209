"""What `engines/pi/skills` says to people."""

from __future__ import annotations

# What can be wrong with the front matter of a profile, preset or skill.


SKILL_NEEDS_DESCRIPTION = "has no description and is not used"
SKILL_NAME_TAKEN = "is not used: the skill of this name is in"
SKILL_SEARCH_CUT = "holds more than is searched for skills; some may be missing"
PACKAGE_NOT_HERE = "is not installed; its skills are not known"
