"""What goes wrong when a compiled kernel is launched."""

from __future__ import annotations


class LaunchError(Exception):
    """Arguments or a launch configuration that the kernel does not take."""


class BackendError(LaunchError):
    """A driver, its Python package or a device that is missing or failed."""
