"""What profiles and presets have in common: files that define something under a name."""
