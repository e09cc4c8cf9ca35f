"""Matmuls with their epilogues."""
