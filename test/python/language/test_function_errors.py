"""Wrong arguments of the language's functions."""

import pytest

import tilews.language as tl
from support.kernel_errors import check


def test_fragments_that_are_put_together_fit():
    def shapes(A: tl.Tensor["M", tl.f16]):
        return tl.cat((tl.zeros((8, 4), tl.f16), tl.zeros((8, 2), tl.f16)))  # HERE

    def ranks(A: tl.Tensor["M", tl.f16]):
        return tl.cat((tl.zeros((8, 4), tl.f16), tl.zeros((8,), tl.f16)), 1)  # HERE

    def stacked(A: tl.Tensor["M", tl.f16]):
        return tl.stack((tl.zeros((8,), tl.f16), tl.zeros((4,), tl.f16)))  # HERE

    def many(A: tl.Tensor["M", tl.f16]):
        return tl.cat((tl.zeros((64,), tl.f16), tl.zeros((3,), tl.f16)))  # HERE

    def types(A: tl.Tensor["M", tl.f16]):
        return tl.cat((tl.zeros((4,), tl.f16), tl.zeros((2,), tl.f32)))  # HERE

    def mixed(A: tl.Tensor["M", tl.f16]):
        return tl.cat((tl.zeros((4,), tl.f16), tl.zeros((2,), tl.f16), 1.0))  # HERE

    def place(A: tl.Tensor["M", tl.f16]):
        return tl.cat((tl.zeros((4,), tl.f16), tl.zeros((2,), tl.f16)), 1)  # HERE

    def no_tuple(A: tl.Tensor["M", tl.f16]):
        return tl.stack(tl.zeros((8, 4), tl.f16))  # HERE

    def no_pair(A: tl.Tensor["M", tl.f16]):
        return tl.split(tl.zeros((8, 4), tl.f16))  # HERE

    def no_axis(A: tl.Tensor["M", tl.f16]):
        return tl.sort(tl.zeros((8, 12), tl.f16), 2)  # HERE

    def more(A: tl.Tensor["M", tl.f16]):
        return tl.topk(tl.zeros((8, 16), tl.f16), 17)  # HERE

    but_for = "tl.cat: expected shapes that are equal but for axis"
    broadcast = "repeat the smaller one with tl.broadcast_to"
    check(shapes, f"{but_for} 0, found (8, 4) and (8, 2)", broadcast)
    check(ranks, f"{but_for} 1, found (8, 4) and (8,)", broadcast)
    fragments = "expected fragments of one shape, found (8,) and (4,)"
    check(stacked, f"tl.stack: {fragments}", broadcast)
    check(
        many,
        "tl.cat: fragments of the extents [3, 64] have 67 parts of one size, 1, "
        "expected at most 64",
        "store each to its place in shared memory, and load all of the buffer",
    )
    check(types, "tl.cat: operands have types f16 and f32")
    check(mixed, "tl.cat: expected fragments of one shape, found (4,) and (2,)")
    check(place, "tl.cat: the axis is an integer from -1 to 0, found")
    check(no_tuple, "tl.stack: expected a tuple of fragments, found a fragment")
    check(no_pair, "tl.split: expected a last extent of 2, found shape (8, 4)")
    check(no_axis, "tl.sort: the axis is an integer from -2 to 1, found")
    check(more, "tl.topk: k is an integer from 1 to 16, found")


def test_flips():
    def flipped(A: tl.Tensor["M", tl.f16]):
        return tl.flip(tl.zeros((8, 4), tl.f16), 2)  # HERE

    def no_fragment(A: tl.Tensor["M", tl.f16]):
        return tl.flip(A)  # HERE

    check(flipped, "tl.flip: the axis is an integer from -2 to 1, found")
    check(no_fragment, "tl.flip: expected a fragment, found")


def test_parts_of_fragments():
    def beyond(A: tl.Tensor["M", tl.f16]):
        return tl.zeros((8, 6), tl.f16)[4:12]  # HERE

    def empty(A: tl.Tensor["M", tl.f16]):
        return tl.zeros((8, 6), tl.f16)[4:4]  # HERE

    def dynamic(A: tl.Tensor["M", tl.f16], n: tl.index):
        return tl.zeros((8, 6), tl.f16)[n:8]  # HERE

    def stepped(A: tl.Tensor["M", tl.f16]):
        return tl.zeros((8, 6), tl.f16)[::2]  # HERE

    def single(A: tl.Tensor["M", tl.f16], n: tl.index):
        return tl.zeros((8, 6), tl.f16)[n]  # HERE

    def outside(A: tl.Tensor["M", tl.f16]):
        return tl.zeros((8, 6), tl.f16)[:, -7]  # HERE

    def too_many(A: tl.Tensor["M", tl.f16]):
        return tl.zeros((8, 6), tl.f16)[0, 0, 0]  # HERE

    for kernel, part in ((beyond, "4:12"), (empty, "4:4")):
        place = "is empty or not within dimension 0, which has extent"
        check(
            kernel,
            f"the part {part} {place}",
            "bounds count from the first element, as in x[:, 0:64]",
        )
    check(dynamic, "the bounds of a part of a fragment are constants")
    check(stepped, "expected a part of a fragment with step 1, found step 2")
    check(single, "a fragment is indexed with ':', None, constant integers and")
    index = "an index of dimension 1 of a fragment of shape (8, 6) and type f16"
    check(outside, f"{index} is an integer from -6 to 5, found the Python value -7")
    check(too_many, "found 3 indices for a fragment of shape (8, 6) and type f16")


def test_errors_name_the_function_that_was_called():
    def clamp(A: tl.Tensor["M", tl.f16]):
        return tl.clamp(A, 0.0, 1.0)  # HERE

    def types(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((8,), tl.f16)
        return tl.clamp(x, tl.zeros((8,), tl.f32), 1.0)  # HERE

    def operator(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((8,), tl.i32)
        return tl.pow(x, x)  # HERE

    def text(A: tl.Tensor["M", tl.f16]):
        return tl.pow(tl.zeros((8,), tl.f32), "2")  # HERE

    def no_message(A: tl.Tensor["M", tl.f16]):
        tl.device_assert(tl.zeros((8,), tl.f32) == 0.0, 5)  # HERE

    check(operator, "tl.pow takes floating point, found i32")
    check(text, "tl.pow: expected a fragment, a scalar or a number, found")
    check(no_message, "tl.device_assert: expected a message, found the Python value 5")
    check(clamp, "tl.clamp: expected a fragment, a scalar or a number, found")
    check(types, "tl.clamp: operands have types f16 and f32")


def test_functions_of_bits_take_integers():
    def real(A: tl.Tensor["M", tl.f16]):
        return tl.popcount(tl.zeros((8, 4), tl.f16))  # HERE

    def narrow(A: tl.Tensor["M", tl.f16]):
        return tl.byte_perm(tl.iota((8,), 0, tl.i16), 0, 0x3210)  # HERE

    def digit(A: tl.Tensor["M", tl.f16]):
        return tl.byte_perm(tl.iota((8,)), 0, 0x1810)  # HERE

    def counters(A: tl.Tensor["M", tl.f16]):
        return tl.rand(0, tl.zeros((8,), tl.f32))  # HERE

    def seed(A: tl.Tensor["M", tl.f16]):
        return tl.rand(0.5, tl.iota((8,)))  # HERE

    check(real, "tl.popcount takes integers, found f16")
    check(narrow, "tl.byte_perm takes i32 or u32, found i16")
    check(
        digit, "tl.byte_perm: digit 2 of the selector 0x1810 is 8, expected at most 7"
    )
    check(counters, "expected a fragment or a scalar of integers")
    check(seed, "expected a seed of up to 64 bits, found the Python value 0.5")


def test_reductions_and_scans_with_a_function():
    def kind(A: tl.Tensor["M", tl.f16]):
        tl.reduce(tl.zeros((8,), tl.f16), "product")  # HERE

    def order(A: tl.Tensor["M", tl.f16]):
        tl.reduce(lambda a, b: a + b, tl.zeros((8,), tl.f16))  # HERE

    def names(A: tl.Tensor["M", tl.f16]):
        tl.reduce(tl.zeros((8,), tl.f16), lambda a, b: a + c)  # HERE

    def of_one(A: tl.Tensor["M", tl.f16]):
        tl.scan(tl.zeros((8,), tl.f16), lambda a: a)  # HERE

    def results(A: tl.Tensor["M", tl.f16]):
        tl.reduce(tl.zeros((8,), tl.f16), lambda a, b: (a, b))  # HERE

    def shapes(A: tl.Tensor["M", tl.f16]):
        pair = tl.zeros((8,), tl.f16), tl.zeros((4,), tl.f16)
        tl.scan(pair, lambda a, b, c, d: (a, b))  # HERE

    def initial(A: tl.Tensor["M", tl.f16]):
        tl.scan(tl.zeros((8,), tl.f16), lambda a, b: a, exclusive=True)  # HERE

    def unwanted(A: tl.Tensor["M", tl.f16]):
        tl.scan(tl.zeros((8,), tl.f16), "max", initial=0)  # HERE

    def initials(A: tl.Tensor["M", tl.f16]):
        first = (0, 0)
        x = tl.zeros((8,), tl.f16)
        tl.scan(x, "sum", exclusive=True, initial=first)  # HERE

    check(kind, "tl.reduce: expected a function, or one of sum, max, min, absmax")
    check(order, "tl.reduce: expected a fragment, found a Python function")
    check(names, "name 'c' is not defined")
    check(of_one, "<lambda>: too many positional arguments")
    check(results, "the function has to return f16 as it takes, found a fragment")
    check(shapes, "tl.scan: expected fragments of one shape, found (8,) and (4,)")
    for kernel in (initial, unwanted):
        check(kernel, "an exclusive scan with a function takes initial=, and no other")
    check(initials, "tl.scan: expected 1 initial values, found 2")


@pytest.mark.parametrize(
    "combine",
    [
        lambda a, b: tl.sum(a) + b,
        lambda a, b: a[0] + b,
        lambda a, b: tl.flip(a) + b,
        lambda a, b: tl.cumsum(a) + b,
        lambda a, b: a + b + tl.iota(a.shape, 0).to(tl.f32),
    ],
)
@pytest.mark.parametrize("apply", [tl.reduce, tl.scan])
def test_combining_functions_see_pairs_of_elements(apply, combine):
    def kernel(A: tl.Tensor["M", tl.f32]):
        apply(tl.zeros((8,), tl.f32), combine)

    check(
        kernel,
        "the function gets pairs of elements, and may only compute with these, but "
        "makes 'tile.",
        "treat a and b as scalars",
    )


@pytest.mark.parametrize(
    ("function", "message", "hint"),
    [
        (lambda x, A: tl.reduce(x, "prod"), "one of sum", "lambda a, b: a * b"),
        (lambda x, A: tl.reduce(x, "mean"), "one of sum", "tl.sum(x, axis) / n"),
        (lambda x, A: tl.scan(x, "prod"), "one of sum", "tl.scan(x, lambda a, b: a"),
        (lambda x, A: tl.cat(x, x), "a tuple of fragments", "tl.cat((x, y))"),
        (lambda x, A: tl.gelu(x), "no attribute 'gelu'", "1 + tl.erf("),
        (lambda x, A: tl.sum(x, (0, 1)), "one integer", "tl.sum(tl.sum(x, 1), 0)"),
        (lambda x, A: x.reshape(-1), "-1 stands for no extent", "32 elements"),
        (lambda x, A: max(x), "max is Python's", "write tl.max(x) for all elements"),
        (lambda x, A: sum(x), "sum is Python's", "write tl.sum(x) for all elements"),
        (lambda x, A: x[:, -2:], "the part -2:8", "write 6:8"),
        (lambda x, A: x[::-1], "with step 1, found step -1", "tl.flip(x, 0)"),
        (lambda x, A: A[::2], "step 1, found 2", "A[tl.arange(64) * 2]"),
        (lambda x, A: tl.atomic_add(A[0], 1.0), "a buffer", "tl.atomic_add(x, A[0])"),
        (
            lambda x, A: tl.atomic_cas(A[0], 1.0, 2.0),
            "a buffer",
            "tl.atomic_cas(expected, x, A[0])",
        ),
    ],
)
def test_habits_have_hints(function, message, hint):
    def kernel(A: tl.Tensor["64", tl.f32]):
        function(tl.zeros((4, 8), tl.f32), A)

    check(kernel, message, hint)
