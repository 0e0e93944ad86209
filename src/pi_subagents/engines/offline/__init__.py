"""A scripted, rule-following model on loopback: real tools, no account, not a language model."""
