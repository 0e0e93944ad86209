"""Files that people write: settings, profiles, presets; and where they are."""
