"""Use cases over ports: hand tasks out, gather outcomes."""
