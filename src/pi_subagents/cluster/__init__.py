"""The door to the database of a cluster: PostgreSQL, with Procrastinate as its queue."""
