"""The version, alone in a file: the build and `--version` read it without importing more."""

__version__ = "0.1.0"
