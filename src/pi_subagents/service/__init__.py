"""The use cases: what can be asked of us, whoever asks."""
