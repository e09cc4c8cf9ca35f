"""Programs that :mod:`benchmarks.startup` runs in new processes."""
