"""Programs that :mod:`benchmarks.host_time.startup` runs in new processes."""
