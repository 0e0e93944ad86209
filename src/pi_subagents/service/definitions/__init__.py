"""Use cases of profiles and presets: which counts, what is wrong with them, writing them."""
