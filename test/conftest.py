"""Tests run against the build tree in TILEWS_BUILD_DIR, or else build/dev."""

import os
import pathlib
import sys

BUILD = os.environ.setdefault(
    "TILEWS_BUILD_DIR", str(pathlib.Path(__file__).parents[1] / "build/dev")
)
PACKAGES = str(pathlib.Path(BUILD).resolve() / "python_packages")

# Tests compile what they look at; those of the cache have folders of their own.
os.environ["TILEWS_CACHE"] = "off"

sys.path.insert(0, PACKAGES)
os.environ["PYTHONPATH"] = PACKAGES  # for the processes that tests start
