"""Benchmarks: ``python -m benchmarks --help``."""

import os

# What is measured is compiled here, and not found on disk.
os.environ["TILEWS_CACHE"] = "off"
