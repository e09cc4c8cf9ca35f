"""Kernels that several tests share."""
