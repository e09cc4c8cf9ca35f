"""What the verifier leaves to others, so that its proofs say nothing of it.

Each is documented in docs/verifier.md, under what is checked.
"""

from __future__ import annotations

import re

from . import _edits
from ._mutants import Mutant

EXCLUSIONS = {
    "memory of one role": """\
The fault is in buffers or scratch memory of no channel that only one role uses: the
barriers for these `--tile-insert-barriers` places by an analysis of its own. Counted
are changed barriers and fences of a role, and any fault in scratch memory.""",
    "contents": """\
The fault is what is in a tile: after `--tile-lower-channels` no transactions are left
that say which contents a slot should have, only accesses that must not meet. Counted
are, with barriers, results with other values.""",
    "bounds": """\
A scalar is read from beyond the extents of its memory: the verifier takes whatever is
there for a number.""",
}

#: Where a fault is proved to be none although nothing excludes it.
NONE = "no exclusion"


def exclusion(mutant: Mutant, found: str) -> str:
    """The exclusion that what the simulator finds of a mutant falls under.

    Args:
        mutant: one that the verifier proves.
        found: what the simulator says.
    """
    names = {each.name for each in _edits.walk(mutant.module.operation)}
    ordering = "nothing orders" in found or "proxy_fence" in found
    of_barrier = mutant.op.name in ("tile.barrier", "tile.proxy_fence")
    if "scratch memory" in found:
        return "memory of one role"
    if "tile.role" in names and of_barrier and ordering:
        return "memory of one role"
    if "tile.channel" not in names and "has other values" in found:
        return "contents"
    if mutant.op.name == "scf.if" and "is out of bounds" in found:
        return "bounds"
    return NONE


def headline(found: str) -> str:
    """What the simulator says, without places and numbers."""
    text = found.strip().splitlines()[0]
    text = re.sub(r"^.*?(?:error: |\}: (?!.*error: ))", "", text)
    text = re.sub(r" \(block .*\)$", "", text)
    text = re.sub(r" \([\d, ]+\)", "", text)
    return re.sub(r"\b\d+\b", "n", text)
