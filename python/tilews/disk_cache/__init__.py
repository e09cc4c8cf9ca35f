"""Compiled kernels on disk, which later processes use instead of compiling again.

An entry is found by the hash of all that its code depends on (:mod:`.keys`): the tile
IR of the kernel, the target, the options, and the compiler itself. So no entry is ever
out of date; what nobody asks for any more is dropped when the cache is full.

Environment variables:

* ``TILEWS_CACHE``: ``on`` (the default), ``off``, or ``read`` for a cache that is used
  and never written.
* ``TILEWS_CACHE_DIR``: the folder; by default ``$XDG_CACHE_HOME/tilews`` or
  ``~/.cache/tilews``. Processes and hosts may share one.
* ``TILEWS_CACHE_SIZE``: its largest size in MiB, 1024 by default.
"""
