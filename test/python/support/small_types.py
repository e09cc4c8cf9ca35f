"""Elements of at most 8 bits: their codes, what conversions round to, and the forms in
which kernels with them run."""

import bisect
import itertools
import math
from fractions import Fraction

import numpy as np

import tilews
import tilews.language as tl
from runtime.gpu_arrays import GpuArray, has_nvidia_gpu
from support.llvm_on_cpu import KernelOnCpu
from tilews import ir, sim
from tilews.sim.amdgcn import launch

#: Floating point types of at most 8 bits that all chips convert.
FLOATS = (tl.e2m1, tl.e2m3, tl.e3m2, tl.e8m0)
#: Types of which two elements share a byte.
NIBBLES = (tl.i4, tl.u4, tl.e2m1)
CHIPS = ("gfx942", "gfx950", "gfx1100")
#: Where a kernel runs: the interpreter, the simulator of phase 4, AMD's machine code,
#: and a GPU if there is one.
FORMS = ("cpu", "barriers", *CHIPS, *(["gpu"] if has_nvidia_gpu() else []))
#: Also NVIDIA's LLVM IR, for kernels whose threads do not exchange anything.
ELEMENTWISE = (*FORMS, "llvm")


def codes(dtype):
    """An array of all elements of a type."""
    if dtype.is_float:
        return np.arange(1 << dtype.bits, dtype=np.uint8).view(dtype.numpy)
    low = 0 if dtype.is_unsigned else -(1 << dtype.bits - 1)
    return np.arange(low, low + (1 << dtype.bits)).astype(dtype.numpy)


def values(dtype):
    """The finite numbers of a type that have no sign, by their codes."""
    found = codes(dtype).astype(np.float64)
    return [x for x in found if math.isfinite(x) and not np.signbit(x)]


def _rounded(number, dtype, positive):
    """What a conversion of a number gives, as its definition says."""
    if dtype == tl.e8m0:
        if not 0 < number < math.inf:
            return math.nan
        fraction, exponent = math.frexp(number)
        exponent = max(exponent - (fraction < 0.75), -127)
        return math.ldexp(1.0, exponent) if exponent <= 127 else math.nan
    if math.isnan(number):
        return 0.0
    magnitude = abs(number)
    place = bisect.bisect_left(positive, magnitude)
    if place == len(positive):
        result = positive[-1]
    elif place == 0 or positive[place] == magnitude:
        result = positive[place]
    else:
        low, high = positive[place - 1], positive[place]
        middle = (Fraction(low) + Fraction(high)) / 2
        if Fraction(magnitude) == middle:
            result = low if (place - 1) % 2 == 0 else high
        else:
            result = low if Fraction(magnitude) < middle else high
    return math.copysign(result, number)


def rounded(numbers, dtype):
    """Numbers of any type converted to a small type, as float64."""
    positive = values(dtype)
    return np.array([_rounded(float(x), dtype, positive) for x in numbers])


def around(dtype, wide):
    """Numbers of a wider type at which conversions to `dtype` change, and specials."""
    positive = values(dtype)
    points = [*positive, positive[-1] * 1.25, positive[-1] * 1.5, positive[0] / 2]
    for low, high in itertools.pairwise(positive):
        points += [(low + high) / 2, low * 0.75 + high * 0.25]
    points += [0.0, math.inf, math.nan, 1e-40, 1e30, 0.1, 2.0**-133]
    with np.errstate(over="ignore"):
        found = np.array(points).astype(wide)
    infinity = np.array(np.inf, wide)
    with np.errstate(over="ignore", invalid="ignore"):
        near = [np.nextafter(found, infinity), np.nextafter(found, -infinity)]
    result = np.concatenate([found, *near])
    return np.concatenate([result, -result])


def same(found, expected):
    """Compares numbers with their signs; all NaNs are equal."""
    found, expected = (np.asarray(x).astype(np.float64) for x in (found, expected))
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(expected)[known])


def run(kernel, arguments, form, folder=None, **constants):
    """Runs a kernel in one of its forms; arrays are changed in place."""
    if form == "cpu":
        kernel(*arguments, **constants)
        return
    if form == "gpu":
        on_gpu = [GpuArray(x) if isinstance(x, np.ndarray) else x for x in arguments]
        kernel(*on_gpu, **constants)
        for array, copy in zip(arguments, on_gpu, strict=True):
            if isinstance(copy, GpuArray):
                array[...] = copy.to_numpy()
        return
    chip = {"barriers": "sm_90a", "llvm": "sm_80"}.get(form, form)
    compiled = kernel.compile_for(*arguments, target=chip, **constants)
    if form == "barriers":
        with ir.Context():
            sim.run(ir.Module.parse(compiled.mlir("barriers")), None, arguments)
    elif form == "llvm":
        KernelOnCpu(compiled.llvm, kernel.__name__, folder)(128, arguments)
    else:
        launch(compiled, arguments)


def in_memory(array, dtype):
    return tilews.pack_elements(array) if dtype.packing > 1 else array


def elements(array, dtype):
    return tilews.unpack_elements(array, dtype) if dtype.packing > 1 else array
