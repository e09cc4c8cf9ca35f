"""From a Python function to tile IR.

The function is not run: its syntax tree is interpreted. Python values are computed
while the kernel is built, and whatever depends on a value of the running kernel
becomes an operation.
"""
