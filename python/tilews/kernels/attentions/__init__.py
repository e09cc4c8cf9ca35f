"""Attention: all queries of sequences, or the last one of each."""
