"""Kernels that several tests compile, run and break."""
