"""Proofs of roles whose loops have different numbers of iterations."""

import pytest

from support.verifying import check_right_roles, check_wrong_roles

EACH = """
for k in tl.range(n):
    STEP
"""
TILES = """
for k in tl.range(tiles):
    STEP
"""
PAIRS = """
for k in tl.range(n // 2):
    STEP
    STEP
"""
PAIRS_AND_REST = f"""{PAIRS}
if n % 2 != 0:
    STEP
"""
GUARDED_PAIRS = """
for k in tl.range(0, n, 2):
    STEP
    if k + 1 < n:
        STEP
"""
FOURS = """
for k in tl.range(0, n, 4):
    STEP
    if k + 1 < n:
        STEP
    if k + 2 < n:
        STEP
    if k + 3 < n:
        STEP
"""
WHOLE_PAIRS = """
for k in tl.range(0, n - 1, 2):
    STEP
    STEP
if n % 2 != 0:
    STEP
"""
PAIRS_AND_LOOP = """
half = n // 2 * 2
for k in tl.range(0, half, 2):
    STEP
    STEP
for k in tl.range(half, n):
    STEP
"""
TWO_LOOPS = """
for k in tl.range(0, m):
    STEP
for k in tl.range(m, n):
    STEP
"""
TWO_HALVES = """
for k in tl.range(0, n // 2):
    STEP
for k in tl.range(n // 2, n):
    STEP
"""
LEAST_FIRST = """
least = tl.minimum(n, m)
for k in tl.range(0, least):
    STEP
for k in tl.range(tl.maximum(least, 0), n):
    STEP
"""
FULL_AND_MASKED = """
for k in tl.range(K // 16):
    STEP
for k in tl.range(K // 16, tl.cdiv(K, 16)):
    STEP
"""
LAST_TWO_ALONE = """
for k in tl.range(n - 2):
    STEP
if n > 1:
    STEP
if n > 0:
    STEP
"""
MASKED = """
for k in tl.range(n):
    if tl.load(mask[k]):
        STEP
"""
MASKED_PAIRS = """
for k in tl.range(0, n, 2):
    if tl.load(mask[k]):
        STEP
    if k + 1 < n:
        if tl.load(mask[k + 1]):
            STEP
"""
CHOSEN = """
natural = n
if n < 0:
    natural = 0
for k in tl.range(natural):
    STEP
"""

#: Steps by an argument; the guard asks for a remainder.
STEPS = """
for k in tl.range(0, n, m):
    if k % 3 == 1:
        STEP
"""
STEPS_FROM = """
for k in tl.range(first, n, m):
    if (k - first) % 2 == 0:
        STEP
"""


def count(number):
    """A loop with this many transactions."""
    return f"for k in tl.range({number}):\n    STEP\n"


NATURAL = "assert n >= 0"
SPLIT = "assert m >= 0 and m <= n"
#: The premise, the consumer's loops, and the producer's.
RIGHT = {
    "pairs": ("assert n % 2 == 0", PAIRS, EACH),
    "pairs by the producer": ("assert n % 2 == 0", EACH, PAIRS),
    "pairs of no negative number": (
        "assert n % 2 == 0",
        PAIRS.replace("n // 2", "tl.maximum(n, 0) // 2"),
        EACH,
    ),
    "threes": ("assert n % 3 == 0", count("n // 3") + "    STEP\n    STEP\n", EACH),
    "pairs and a rest": (NATURAL, PAIRS_AND_REST, EACH),
    "pairs of tiles and a loop": ("n = tiles", PAIRS_AND_LOOP, EACH),
    "guarded pairs": ("pass", GUARDED_PAIRS, EACH),
    "guarded pairs by the producer": ("pass", EACH, GUARDED_PAIRS),
    "guarded fours": ("pass", FOURS, EACH),
    "whole pairs": (NATURAL, WHOLE_PAIRS, EACH),
    "pairs and a loop": (NATURAL, PAIRS_AND_LOOP, EACH),
    "two loops": (SPLIT, TWO_LOOPS, EACH),
    "two halves": (NATURAL, TWO_HALVES, EACH),
    "the least first": ("pass", LEAST_FIRST, EACH),
    "full and masked": ("pass", FULL_AND_MASKED, TILES),
    "the last two alone": ("pass", LAST_TWO_ALONE, EACH),
    "negated": ("pass", count("-((-K) // 16)"), TILES),
    "limited tiles": (
        "pass",
        count("tl.cdiv(tl.minimum(K, n), 16)"),
        count("tl.minimum(tiles, tl.cdiv(n, 16))"),
    ),
    "tiles of a limit": (
        "pass",
        count("tl.cdiv(tl.maximum(K - n, 0), 16)"),
        count("tl.cdiv(K - n, 16)"),
    ),
    "chosen": ("pass", CHOSEN, EACH),
    "masked pairs": ("pass", MASKED_PAIRS, MASKED),
    "masked pairs by the producer": ("pass", MASKED, MASKED_PAIRS),
    "steps": (
        "assert m > 0",
        STEPS,
        STEPS.replace("k % 3 == 1", "not (k % 3 == 0 or k % 3 == 2)"),
    ),
    "steps from another number": (
        "assert m > 0",
        STEPS_FROM,
        STEPS_FROM.replace("(k - first) % 2 == 0", "k % 2 == first % 2"),
    ),
    "tiles of tiles": ("pass", count("tl.cdiv(tl.cdiv(K, 4), 4)"), TILES),
}
WRONG = {
    "pairs of any number": ("pass", PAIRS, EACH),
    "pairs of an odd number": ("assert n % 2 == 1", PAIRS, EACH),
    "pairs by the producer": ("pass", EACH, PAIRS),
    "another rest": (NATURAL, PAIRS_AND_REST.replace("!= 0", "!= 1"), EACH),
    "another guard": ("pass", GUARDED_PAIRS.replace("k + 1", "k + 2"), EACH),
    "another guard of four": ("pass", FOURS.replace("k + 2", "k + 3"), EACH),
    "all pairs": (NATURAL, WHOLE_PAIRS.replace("n - 1", "n"), EACH),
    "a shorter loop": (NATURAL, PAIRS_AND_LOOP.replace("(half,", "(half + 1,"), EACH),
    "a gap": (SPLIT, TWO_LOOPS.replace("(m, n)", "(m + 1, n)"), EACH),
    "two lower halves": (NATURAL, TWO_HALVES.replace("n // 2, n", "n // 2"), EACH),
    "an overlap": ("pass", LEAST_FIRST.replace("(least, 0)", "(least, 1)"), EACH),
    "not the first masked": (
        "pass",
        FULL_AND_MASKED.replace("16, tl", "16 + 1, tl"),
        TILES,
    ),
    "the last but one": ("pass", LAST_TWO_ALONE.replace("n > 1", "n > 2"), EACH),
    "negated and less": ("pass", count("-((-K) // 16 + 1)"), TILES),
    "limited parts": (
        "pass",
        count("tl.cdiv(tl.minimum(K, n), 16)"),
        count("tl.minimum(K // 16, tl.cdiv(n, 16))"),
    ),
    "chosen": ("pass", CHOSEN.replace("n < 0", "n < 2"), EACH),
    "masked alike": ("pass", MASKED_PAIRS.replace("mask[k + 1]", "mask[k]"), MASKED),
    "masked by the next": (
        "pass",
        MASKED,
        MASKED_PAIRS.replace("mask[k]", "mask[k + 1]"),
    ),
    "steps": ("assert m > 0", STEPS, STEPS.replace("k % 3 == 1", "k % 3 != 0")),
    "steps from another number": (
        "assert m > 0",
        STEPS_FROM,
        STEPS_FROM.replace("(k - first) % 2 == 0", "k % 2 == n % 2"),
    ),
    "tiles of tiles": ("pass", count("tl.cdiv(K // 4, 4)"), TILES),
}


@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT)
def test_right_schedules_are_proved(parts, tmp_path):
    check_right_roles(tmp_path / "kernel.py", parts)


@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG)
def test_wrong_schedules_are_errors(parts, tmp_path):
    check_wrong_roles(tmp_path / "kernel.py", parts)
