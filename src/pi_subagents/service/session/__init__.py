"""What is kept of a session: read, and gone on with."""
