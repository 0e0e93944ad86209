"""The models that a pi has."""
