"""Kernels whose machine code for AMD GPUs tests run, and what of code is executed."""
