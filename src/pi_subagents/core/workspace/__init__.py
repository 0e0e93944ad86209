"""What a task works in: the checkout of its caller, or a worktree of its own."""
