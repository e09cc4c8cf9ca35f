"""What runs when, and where: loops, the grid, roles, debugging."""
