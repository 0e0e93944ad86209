"""Everything that knows pi: options, conversations, models, skills, trust, install."""
