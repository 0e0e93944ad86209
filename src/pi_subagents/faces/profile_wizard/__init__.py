"""Ask a person in a terminal for a profile: by arrow keys where they work, else line by line."""
