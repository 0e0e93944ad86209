"""What work may use and what it used: budgets, prices, sums."""
