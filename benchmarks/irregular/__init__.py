"""Kernels with irregular accesses: gathers, run-time sizes, atomics, waits.

``python -m benchmarks.irregular compile FILE`` builds them for a chip, on any machine.
``python -m benchmarks.irregular measure FILE`` checks and times them on a GPU, which
needs torch, and of tilews only the runtime.
"""
