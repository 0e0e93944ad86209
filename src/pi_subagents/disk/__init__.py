"""Files: where configuration and runs live, and how they are written safely."""
