"""pi as a host: its extension, its packages, what it registers."""
