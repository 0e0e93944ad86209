"""A demonstration of the engine door: a child with a protocol of its own, in three small files."""
