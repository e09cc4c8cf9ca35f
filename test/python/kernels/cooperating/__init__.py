"""Kernels whose blocks work on one result together, or wait for each other."""
