"""Who may start a child now, and how another one goes on where a child had to give up."""
