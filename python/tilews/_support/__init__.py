"""What the modules of the package share."""
