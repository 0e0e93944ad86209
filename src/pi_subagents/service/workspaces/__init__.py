"""Where the tasks of a call work, and what becomes of what they changed there."""
