"""Parameters that stand for no argument, or for several."""

import collections
import dataclasses
import typing
from typing import Annotated

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.errors import KernelError

RNG = np.random.default_rng(0)
A = RNG.standard_normal((5, 16)).astype(np.float32)
BIAS = RNG.standard_normal(16).astype(np.float32)


@dataclasses.dataclass
class Affine:
    factor: tl.f32
    shift: tl.f32

    def __post_init__(self):
        assert isinstance(self.factor, float)

    def apply(self, x):
        if self.shift > 100.0:
            x = x * 0.0
        return x * self.factor + self.shift


@tilews.kernel
def affine(
    X: tl.Tensor["M, 16", "T"],
    bias: tl.Tensor["16", tl.f32] | None,
    Y: tl.Tensor["M, 16", "T"],
    map: Affine,
    more: tl.f32 = 0.5,
):
    row = tl.grid(X.shape[0])
    y = map.apply(tl.load(X[row, 0], (1, 16))) + more
    if bias is not None:
        y = y + tl.load(bias)[None, :]
    Y[row, 0] = y


@pytest.mark.parametrize("bias", [None, BIAS])
def test_optional_tensors_and_structures(bias):
    y = np.zeros_like(A)
    affine(A, bias, y, Affine(2.0, 3.0))
    expected = 2 * A + 3.5 + (0 if bias is None else bias)
    np.testing.assert_allclose(y, expected, 1e-6)
    affine(A, bias, y, more=1.0, map=Affine(2.0, 300.0))
    np.testing.assert_allclose(y, expected - 2 * A - 3.5 + 301, 1e-6)


def test_arguments_of_a_compiled_kernel():
    names = [
        [argument["name"] for argument in compiled.manifest["arguments"]]
        for compiled in (
            affine.compile("sm_90a", T=tl.f32),
            affine.compile("sm_90a", T=tl.f32, bias=None),
            concatenate.compile("gfx942", T=tl.f32, Xs=2),
        )
    ]
    scalars = ["map_factor", "map_shift", "more"]
    assert names[0] == ["X", "bias", "Y", *scalars]
    assert names[1] == ["X", "Y", *scalars]
    assert names[2] == ["Xs_0", "Xs_1", "Y"]


@tilews.kernel
def concatenate(Xs: list[tl.Tensor["M, 16", "T"]], Y: tl.Tensor["N, 16", "T"]):
    row = tl.grid(Xs[0].shape[0])
    for place, X in enumerate(Xs):
        Y[row + place * X.shape[0], 0] = tl.load(X[row, 0], (1, 16))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_of_tensors(count, kind):
    arrays = kind(A + n for n in range(count))
    y = np.zeros((5 * count, 16), np.float32)
    concatenate(arrays, y)
    np.testing.assert_array_equal(y, np.concatenate(arrays))


def test_calls_that_do_not_fit():
    y = np.zeros_like(A)
    for call, error, text in [
        (lambda: concatenate(A, y), TypeError, "is a list of tensors, found a ndarray"),
        (lambda: concatenate([], y), KernelError, "is an integer from 1 to 64, found"),
        (
            lambda: concatenate([A, A.astype(np.float16)], y),
            KernelError,
            "argument 'Xs_1' has the element type f16, but T is f32 in 'Xs_0'",
        ),
        (
            lambda: affine(A, None, y, 3),
            TypeError,
            "'map' is a Affine with the field 'factor', found a int",
        ),
        (
            lambda: affine(None, None, y, Affine(1.0, 2.0)),
            tilews.runtime.LaunchError,
            "argument 'X': expected an array",
        ),
        (
            lambda: concatenate.compile("sm_90a", T=tl.f32),
            KernelError,
            r"the number of tensors in 'Xs' is not known(.|\n)*compile\(Xs=2\)",
        ),
        (
            lambda: affine.compile("sm_90a", T=tl.f32, bias=True),
            KernelError,
            "'bias' is an optional tensor, expected None to leave it out, found True",
        ),
    ]:
        with pytest.raises(error, match=text):
            call()


class Scale(typing.NamedTuple):
    factor: tl.f32
    times: tl.i32 = 2


@dataclasses.dataclass(frozen=True, slots=True)
class Offset:
    by: tl.f32


@tilews.kernel
def scale(
    X: tl.Tensor["M, 16", tl.f32],
    Y: tl.Tensor["M, 16", tl.f32],
    how: Scale,
    bias: typing.Optional[tl.Tensor["16", tl.f32]] = None,  # noqa: UP045
    offset: Offset = Offset(0.25),
):
    def scaled(x, how, offset):
        factor, times = how
        return x * factor * times.to(tl.f32) + offset.by

    row = tl.grid(X.shape[0])
    y = scaled(tl.load(X[row, 0], (1, 16)), how, offset)
    if bias is not None:
        y = y + tl.load(bias)[None, :]
    Y[row, 0] = y


def test_named_tuples_and_optional_tensors_of_typing():
    y = np.zeros_like(A)
    scale(A, y, Scale(0.5))
    np.testing.assert_allclose(y, A + 0.25, 1e-6)
    scale(A, y, Scale(1.5, 4), bias=BIAS, offset=Offset(1.0))
    np.testing.assert_allclose(y, 6 * A + BIAS + 1, 1e-6)
    with pytest.raises(TypeError, match="'how' is a Scale with the field 'factor'"):
        scale(A, y, (1.5, 4))
    arguments = scale.compile("gfx942", bias=None).manifest["arguments"]
    names = [argument["name"] for argument in arguments]
    assert names == ["X", "Y", "how_factor", "how_times", "offset_by"]


@tilews.kernel
def annotated(
    X: Annotated[tl.Buffer, tl.Tensor("M, 16", tl.f32)],
    factor: Annotated[float, "any other metadata", tl.f32] = 2.0,
    bias: Annotated[tl.Buffer | None, tl.Tensor("16", tl.f32) | None] = None,
    how: Annotated[Offset, "a structure"] = Offset(1.0),
    ROWS: Annotated[int, tl.constexpr] = 1,
):
    row = tl.grid(tl.cdiv(X.shape[0], ROWS)) * ROWS
    y = tl.load(X[row, 0], (ROWS, 16)) * factor + how.by
    if bias is not None:
        y = y + tl.load(bias)[None, :]
    X[row, 0] = y


def test_annotated_types():
    x = A.copy()
    annotated(x)
    np.testing.assert_allclose(x, 2 * A + 1, 1e-6)
    annotated(x, 0.5, BIAS, ROWS=2)
    np.testing.assert_allclose(x, A + 1.5 + BIAS, 1e-5)


@tilews.kernel
def optional_scalars(
    X: tl.Tensor["16", tl.f32],
    factor: tl.f32 | None = None,
    shift: typing.Optional[tl.i32] = 3,  # noqa: UP045
    power: Annotated[int | None, tl.i32 | None] = None,
):
    x = tl.load(X)
    if factor is not None:
        x = x * factor
    if shift is not None:
        x = x + shift.to(tl.f32)
    if power is not None:
        x = tl.exp2(power.to(tl.f32)) * x
    X[0] = x


def test_optional_scalars():
    for arguments, options, expected in [
        ((), {}, BIAS + 3),
        ((2.0,), {}, 2 * BIAS + 3),
        ((2.0, None), {}, 2 * BIAS),
        ((None, 5), {"power": 2}, 4 * (BIAS + 5)),
    ]:
        x = BIAS.copy()
        optional_scalars(x, *arguments, **options)
        np.testing.assert_allclose(x, expected, 1e-6)
    names = [
        [argument["name"] for argument in compiled.manifest["arguments"]]
        for compiled in (
            optional_scalars.compile("sm_90a"),
            optional_scalars.compile("gfx942", factor=None, shift=None),
        )
    ]
    assert names == [["X", "factor", "shift", "power"], ["X", "power"]]
    with pytest.raises(KernelError, match="'factor' is an optional scalar, expected"):
        optional_scalars.compile("sm_90a", factor=2.0)
    with pytest.raises(Exception, match="argument 'shift': expected an integer"):
        optional_scalars(BIAS.copy(), shift=2.5)


@dataclasses.dataclass
class Python:
    x: int


def _annotated(annotation, default):
    def kernel(x): ...

    kernel.__annotations__["x"] = annotation
    if default is not ...:
        kernel.__defaults__ = (default,)
    return kernel


@pytest.mark.parametrize(
    ("annotation", "default", "text"),
    [
        (tl.Tensor["M"], 3, "is a tensor, whose only default value is None"),
        (tl.Tensor["M"], None, "is a tensor, whose only default value is None"),
        (tl.f32, "a", "is a scalar of type f32, but has the default value 'a'"),
        (tl.i32, 2.5, "is a scalar of type i32, but has the default value 2.5"),
        (tl.f16, 1e9, "is a scalar of type f16, but has the default value 1000000000"),
        (tl.f32 | None, "a", "is a scalar of type f32, but has the default value 'a'"),
        (
            typing.Optional[list[tl.f32]],  # noqa: UP045
            ...,
            "is optional, but no tensor or scalar",
        ),
        (
            tuple[tl.Tensor["M"], tl.Tensor["N"]],
            ...,
            "is a list, expected one of tensors of one type: list",
        ),
        (list[tl.i32], ..., "is a list, expected one of tensors"),
        (list[tl.Tensor["M"] | None], ..., "which are not optional"),
        (list[tl.Tensor["M"]], (), "have no default"),
        (Python, ..., "is a Python, whose field 'x' is no scalar such as tl.i32"),
        (
            collections.namedtuple("Untyped", "x"),
            ...,
            "is a Untyped, whose field 'x' is no scalar",
        ),
    ],
)
def test_annotations_that_mean_nothing(annotation, default, text):
    with pytest.raises(KernelError, match=f"parameter 'x' .*{text}"):
        tilews.kernel(_annotated(annotation, default))


@pytest.mark.parametrize(
    ("annotation", "found", "hint"),
    [
        (int, "int", "write tl.i32 for a scalar, or tl.constexpr for a value of"),
        (np.float16, "numpy.float16", "write tl.f16 for a scalar"),
        (np.ndarray, "numpy.ndarray", "write its extents and element type: tl.Tensor["),
        (dict, "dict", 'write tl.Tensor["M, N", tl.f16], a type such as tl.i32, or'),
    ],
)
def test_annotations_of_other_libraries(annotation, found, hint):
    with pytest.raises(KernelError) as caught:
        tilews.kernel(_annotated(annotation, ...))
    text = f"parameter 'x' has no kernel annotation, found {found}"
    assert caught.value.message == text
    assert caught.value.hint.startswith(hint)


def test_extents_are_a_text():
    with pytest.raises(Exception, match=r"as a text, found 64; write tl\.Tensor"):
        tl.Tensor[64, 64, tl.f32]
