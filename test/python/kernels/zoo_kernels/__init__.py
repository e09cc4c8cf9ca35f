"""Kernels of the zoo, by what they are about."""
