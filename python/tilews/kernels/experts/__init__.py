"""Layers of experts, of which each token takes some."""
