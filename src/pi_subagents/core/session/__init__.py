"""What is kept of a session, and how it is asked for."""
