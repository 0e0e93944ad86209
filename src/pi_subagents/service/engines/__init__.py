"""Which engine a task's child is of, and the engines of a call."""
