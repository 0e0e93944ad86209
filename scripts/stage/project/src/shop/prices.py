"""What things cost."""


def total(prices: list[float], discount: float = 0.0) -> float:
    """Return what is to be paid."""
    return sum(prices) * (1 - discount)
