"""Functions that are made of others, without operations of their own."""
