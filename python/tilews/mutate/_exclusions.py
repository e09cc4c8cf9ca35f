"""Faults that the verifier does not check for, so that its proofs do not exclude them.

docs/verifier.md documents each of them under "What is not checked".
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import _edits
from ._mutants import Mutant

EXCLUSIONS = {
    "contents": """\
The fault is in the contents of a tile. After `--tile-lower-channels` no transaction
says which contents a slot should have; only conflicting accesses can be checked. In the
form with barriers, this counts results with other values, and reads of a buffer to
which nothing was written. In the form with channels, it counts results with other
values after two kinds of changes: of guards or numbers of iterations, with which the
transactions are right, and of which slot is read among those that the role holds. Each
of these mutants has the same results, or the same error, whatever copies and roles are
fast: it was run with all timings. A fault of synchronization would show as a race, or
in results that differ.""",
    "bounds": """\
A scalar is read from beyond the extents of its memory. The verifier assumes that such a
read returns some number.""",
}

#: The verifier proves the mutant right, and no exclusion explains why.
NONE = "no exclusion"


def exclusion(edits: Sequence[Mutant], found: str) -> str:
    """The exclusion that explains why the verifier proves a faulty mutant.

    Args:
        edits: a mutant that the verifier proves and the simulator rejects, edit by
            edit.
        found: the simulator's message.

    Returns:
        A key of ``EXCLUSIONS``, or ``NONE``.
    """
    names = {each.name for each in _edits.walk(edits[-1].module.operation)}
    changed = {each.op.name for each in edits}
    has_contents = "has other values" in found or "was never written" in found
    if has_contents and "tile.channel" not in names:
        return "contents"
    if "has other values" in found and _computes_otherwise(edits):
        return "contents"
    is_scalar = "scf.if" in changed or "'memref.load' op" in found
    if is_scalar and "is out of bounds" in found:
        return "bounds"
    return NONE


def _computes_otherwise(edits: Sequence[Mutant]) -> bool:
    """Whether an edit changes what the kernel computes besides its transactions."""
    return any(
        each.mutation == "trip-count"
        or each.mutation.startswith("guard")
        or each.op.name == "tile.slot"
        for each in edits
    )


def headline(found: str) -> str:
    """The first line of a simulator's message, without places and numbers."""
    text = found.strip().splitlines()[0]
    text = re.sub(r"^.*?(?:error: |\}: (?!.*error: ))", "", text)
    text = re.sub(r"^schedule of @\w+ is wrong: ", "", text)
    text = re.sub(r" \(block .*\)$", "", text)
    text = re.sub(r" \([\d, ]+\)", "", text)
    return re.sub(r"\b\d+\b", "n", text)
