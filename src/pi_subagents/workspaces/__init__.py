"""Worktrees of tasks: made of what the caller sees, their changes saved, applied or thrown away."""
