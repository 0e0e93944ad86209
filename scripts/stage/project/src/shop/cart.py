"""What somebody wants to buy."""

from dataclasses import dataclass, field


@dataclass
class Cart:
    """Things and how many of them."""

    items: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, count: int = 1) -> None:
        """Put something in."""
        self.items[name] = self.items.get(name, 0) + count
