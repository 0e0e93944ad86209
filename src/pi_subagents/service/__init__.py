"""The use cases: what every face can ask for."""
