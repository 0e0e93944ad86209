"""All runs at a glance, live: full screen in a terminal, or as a page in a browser."""
