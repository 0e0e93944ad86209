"""What is asked for: tasks, their files, and sessions that go on."""
