"""Random layouts, and their definitions by brute force."""

import math
import random

import numpy as np

from tilews.layout import Layout

#: Each property is tested on about this number of random cases, 28,000 in all.
CASES = 1200


def random_shape(rng, leaves, depth=2):
    """A nested shape; some extents are not powers of two."""
    if leaves == 1 or depth == 0:
        return rng.choice((1, 2, 2, 3, 4, 4, 5, 6, 8, 12))
    cut = rng.randint(1, leaves - 1)
    parts = [random_shape(rng, n, depth - 1) for n in (cut, leaves - cut)]
    return tuple(parts)


def nest(profile, leaves):
    """The leaves, an iterator, nested like `profile`."""
    if isinstance(profile, tuple):
        return tuple(nest(part, leaves) for part in profile)
    return next(leaves)


def flat(tuple_):
    """The leaves of a nested tuple."""
    if isinstance(tuple_, tuple):
        return [leaf for part in tuple_ for leaf in flat(part)]
    return [tuple_]


def make(shape, strides):
    """A layout of leaves in order."""
    return Layout(shape, nest(shape, iter(strides)))


def random_layout(rng, leaves=4, size=400):
    """Any layout: with gaps, overlaps and broadcast leaves."""
    while True:
        shape = random_shape(rng, rng.randint(1, leaves))
        if math.prod(flat(shape)) <= size:
            break
    return make(shape, [rng.choice((0, 1, 1, 2, 3, 4, 6, 8, 12)) for _ in flat(shape)])


def random_tower(rng, leaves=4, size=400, gaps=True):
    """An injective layout: leaves in random order, each with a stride past the smaller
    leaves."""
    while True:
        shape = random_shape(rng, rng.randint(1, leaves))
        if math.prod(flat(shape)) <= size:
            break
    extents = flat(shape)
    strides, span = [0] * len(extents), 1
    for leaf in rng.sample(range(len(extents)), len(extents)):
        span *= rng.choice((1, 1, 1, 2, 3)) if gaps else 1
        strides[leaf] = span
        span *= extents[leaf]
    return make(shape, strides)


def offsets(layout):
    """The definition: the index's digits, first leaf fastest, times the strides."""
    extents, strides = flat(layout.shape), flat(layout.stride)
    index = np.arange(math.prod(extents))
    total = np.zeros_like(index)
    for extent, stride in zip(extents, strides, strict=True):
        total += index % extent * stride
        index = index // extent
    return total


def beyond(layout, indices):
    """Offsets of a layout whose last leaf of more than one element is unbounded."""
    pairs = zip(flat(layout.shape), flat(layout.stride), strict=True)
    leaves = [(e, s) for e, s in pairs if e > 1] or [(1, 0)]
    total = np.zeros_like(indices)
    for extent, stride in leaves[:-1]:
        total += indices % extent * stride
        indices = indices // extent
    return total + indices * leaves[-1][1]


def attempt(operation, *arguments):
    """The result of an operation, or None if it is declined with a reason."""
    try:
        return operation(*arguments)
    except ValueError as error:
        assert len(str(error)) > 20
        return None


def cases(seed, count=CASES):
    """Random generators, one for each case."""
    return (random.Random(f"{seed}/{i}") for i in range(count))


def same(found, expected):
    np.testing.assert_array_equal(found, expected)
