"""Carts that were paid."""

from dataclasses import dataclass

from shop.cart import Cart


@dataclass(frozen=True)
class Order:
    """A cart, and what was paid for it."""

    cart: Cart
    paid: float
