"""The core beside pi: a thin shim in pi registers and paints, and asks us for everything else."""
