"""Kernels that are compiled ahead of the processes that use them.

* :class:`tilews.ArraySpec` describes an array, for which a kernel is compiled.
* ``tilews bundle`` compiles what the kernels of modules declare into a folder.
* ``TILEWS_JIT`` says what becomes of a call that has to compile nevertheless.
"""
