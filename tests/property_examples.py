"""How many examples every property is tried with: few before a change lands, thousands in `make soak`."""

import os

PROPERTY_EXAMPLES = int(os.environ.get("PROPERTY_EXAMPLES", "25"))
