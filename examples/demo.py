"""The first thing to run: `make demo`."""

import tilews

print(f"tilews {tilews.__version__}")
