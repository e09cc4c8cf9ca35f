"""Element types and the annotations of kernel parameters."""

from __future__ import annotations

import copy
import dataclasses
import functools
from typing import Any

import numpy as np

from .. import ir
from ..errors import LanguageError


@dataclasses.dataclass(frozen=True)
class DType:
    """An element type.

    ``tl.i8`` is signed and ``tl.u8`` unsigned: quotients, remainders, right shifts,
    comparisons, conversions and atomic updates depend on it. ``tl.i1`` has no sign:
    False is below True. Calling a type converts a number or a value: ``tl.i32(3)``.

    Attributes:
        name: as in ``tl.f16``.
        mlir: the type in MLIR, whose integers have no sign.
        bits: the width; 64 for ``index``.
        is_float: whether it is floating point.
        is_unsigned: whether it is an integer without sign.

    Example:
        >>> third = tl.full((1,), 1.0, tl.f64) / 3.0
        >>> third.to(tl.f32)
        [0.33333334]
        >>> tl.stack([third.to(t).to(tl.f32) for t in (tl.f16, tl.bf16)])
        [[0.33325195], [0.33398438]]
        >>> fp8 = (tl.e4m3, tl.e5m2, tl.e4m3fnuz, tl.e5m2fnuz)
        >>> tl.stack([third.to(t).to(tl.f32) for t in fp8])
        [[0.34375], [0.3125], [0.34375], [0.3125]]
        >>> integers = (tl.i4, tl.i8, tl.i16, tl.i32, tl.i64)
        >>> tl.stack([(third * 3e3).to(t).to(tl.i64) for t in integers])
        [[7], [127], [1000], [1000], [1000]]
        >>> unsigned = (tl.u4, tl.u8, tl.u16, tl.u32, tl.u64)
        >>> tl.stack([(third * 3e3).to(t).to(tl.i64) for t in unsigned])
        [[15], [255], [1000], [1000], [1000]]
        >>> small = (tl.e2m1, tl.e2m3, tl.e3m2, tl.e8m0)
        >>> tl.stack([(third * 4.0).to(t).to(tl.f32) for t in small])
        [[1.5], [1.375], [1.25], [1.0]]
        >>> tl.sum(third.to(tl.i1).to(tl.i32)) + tl.index(2)
        3
        >>> assert tl.index.is_index and tl.i8.is_int and tl.i1.is_bool
        >>> assert tl.u8.is_unsigned and tl.u8.signed == tl.i8
        >>> assert tl.i8.has_sign and not tl.i1.has_sign
        >>> assert tl.f16.numpy == np.float16
    """

    name: str
    mlir: str
    bits: int
    is_float: bool = False
    is_unsigned: bool = False

    @property
    def is_index(self) -> bool:
        """Whether this is the type of extents, offsets and induction variables."""
        return self.name == "index"

    @property
    def is_int(self) -> bool:
        """Whether this is an integer or ``index``."""
        return not self.is_float

    @property
    def is_bool(self) -> bool:
        """Whether this is ``i1``, the type of comparisons."""
        return self.name == "i1"

    @property
    def has_sign(self) -> bool:
        """Whether this is an integer whose highest bit is its sign; ``i1`` is not."""
        return self.is_int and not self.is_bool and not self.is_unsigned

    @property
    def signed(self) -> DType:
        """The type with a sign of the same width; the type itself if it has one."""
        return BY_MLIR[self.mlir]

    @property
    def packing(self) -> int:
        """How many elements share a byte in memory: two of 4 bits, else one."""
        return 2 if self.bits == 4 else 1

    def to_ir(self) -> ir.Type:
        """The MLIR type, in the current context."""
        return ir.Type.parse(self.mlir)

    def to_memory(self) -> ir.Type:
        """The MLIR type of what is in memory: bytes for elements that share them."""
        return u8.to_ir() if self.packing > 1 else self.to_ir()

    @property
    def numpy(self) -> np.dtype:
        """The numpy type of arrays of this type."""
        return _numpy_type(_ARRAY_NAMES[self.name])

    def __call__(self, value: Any) -> Any:
        """A scalar or a fragment of this type made from a number or a value."""
        from . import arithmetic

        return arithmetic.cast(value, self)

    def __or__(self, other: None) -> OptionalScalar:
        """The annotation of a scalar that may be None: ``tl.f32 | None``."""
        return OptionalScalar(self) if other is None else NotImplemented

    __ror__ = __or__

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"tl.{self.name}"


@dataclasses.dataclass(frozen=True)
class OptionalScalar:
    """Annotation of a scalar that may be None in a call: ``tl.f32 | None``.

    Attributes:
        dtype: the type of the scalar.
    """

    dtype: DType

    def __repr__(self) -> str:
        return f"{self.dtype!r} | None"


@functools.cache
def _numpy_type(name: str) -> np.dtype[Any]:
    """The type of numpy or of ml_dtypes, which takes a while to load, of a name."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))


def _float(name: str, bits: int, mlir: str | None = None) -> DType:
    return DType(name, mlir or name, bits, is_float=True)


f64 = _float("f64", 64)
f32 = _float("f32", 32)
f16 = _float("f16", 16)
bf16 = _float("bf16", 16)
# The two types of fp8 that the chip computes with: in a kernel for gfx942 they stand
# for those of that chip, which have one zero and no infinity.
e4m3 = _float("e4m3", 8, "f8E4M3FN")
e5m2 = _float("e5m2", 8, "f8E5M2")
e4m3fnuz = _float("e4m3fnuz", 8, "f8E4M3FNUZ")
e5m2fnuz = _float("e5m2fnuz", 8, "f8E5M2FNUZ")
# The types of the OCP Microscaling Formats. All codes of fp6 and fp4 are numbers; the
# scales are powers of two.
e2m3 = _float("e2m3", 6, "f6E2M3FN")
e3m2 = _float("e3m2", 6, "f6E3M2FN")
e2m1 = _float("e2m1", 4, "f4E2M1FN")
e8m0 = _float("e8m0", 8, "f8E8M0FNU")
i1 = DType("i1", "i1", 1)
i4 = DType("i4", "i4", 4)
i8 = DType("i8", "i8", 8)
i16 = DType("i16", "i16", 16)
i32 = DType("i32", "i32", 32)
i64 = DType("i64", "i64", 64)
u4 = DType("u4", "i4", 4, is_unsigned=True)
u8 = DType("u8", "i8", 8, is_unsigned=True)
u16 = DType("u16", "i16", 16, is_unsigned=True)
u32 = DType("u32", "i32", 32, is_unsigned=True)
u64 = DType("u64", "i64", 64, is_unsigned=True)
# Its width is the target's; 64 bits where one has to be named.
index = DType("index", "index", 64)

DTYPES = (
    *(f64, f32, f16, bf16, e4m3, e5m2, e4m3fnuz, e5m2fnuz),
    *(e2m3, e3m2, e2m1, e8m0),
    *(i1, i4, i8, i16, i32, i64, u4, u8, u16, u32, u64, index),
)
#: What the types of fp8 stand for on gfx942 ("CDNA3 Instruction Set Architecture").
FNUZ = {e4m3: e4m3fnuz, e5m2: e5m2fnuz}
#: Element types by their names in MLIR; the signed ones of integers.
BY_MLIR = {dtype.mlir: dtype for dtype in DTYPES if not dtype.is_unsigned}
#: Names that numpy and ml_dtypes give the types of elements.
_ARRAY_NAMES = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "e4m3fnuz": "float8_e4m3fnuz",
    "e5m2fnuz": "float8_e5m2fnuz",
    "e2m3": "float6_e2m3fn",
    "e3m2": "float6_e3m2fn",
    "e2m1": "float4_e2m1fn",
    "e8m0": "float8_e8m0fnu",
    "i1": "bool",
    "i4": "int4",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u4": "uint4",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "index": "int64",
}
# Names that arrays of other libraries give their element types.
_ALIASES = {_ARRAY_NAMES[dtype.name]: dtype for dtype in DTYPES if dtype != index}
_ALIASES["float4_e2m1fn_x2"] = e2m1
# Names of element types in Triton, torch and Python.
_FOREIGN = {
    **{"float8e4nv": e4m3, "fp8e4nv": e4m3, "float8e5": e5m2, "fp8e5": e5m2},
    **{"float8e4b8": e4m3fnuz, "float8e5b16": e5m2fnuz, "float8_e4m3": e4m3},
    **{"fp64": f64, "fp32": f32, "fp16": f16, "double": f64, "float": f32, "half": f16},
    **{"int1": i1, "int": i32, "long": i64, "short": i16},
    **{dtype.name: dtype for dtype in DTYPES},
}


def dtype_hint(value: Any) -> str | None:
    """What to write for an element type of another library, or for its name."""
    name = value if isinstance(value, str) else getattr(value, "__name__", str(value))
    name = str(name).removeprefix("torch.")
    dtype = _ALIASES.get(name) or _FOREIGN.get(name)
    return f"write {dtype!r}" if dtype else None


def dtype_of_ir(type_: ir.Type) -> DType:
    """The element type that an MLIR type stands for."""
    return BY_MLIR[str(type_)]


def dtype_of_array(array: Any) -> DType:
    """The element type of a numpy, torch, CuPy or JAX array, or of a description."""
    if isinstance(array.dtype, DType):
        return array.dtype
    name = str(array.dtype).removeprefix("torch.")
    if name not in _ALIASES:
        raise LanguageError(f"arrays of {name} are not supported")
    return _ALIASES[name]


class constexpr:
    """Annotation of a parameter that is a Python value when the kernel is built.

    Any hashable value is possible, also a function or an element type. Each value makes
    a kernel of its own.

    Example:
        @tilews.kernel
        def apply(X: tl.Tensor["64", tl.f32], F: tl.constexpr, N: tl.constexpr = 2):
            x = tl.load(X)
            for _ in tl.static_range(N):
                x = F(x)
            X[0] = x

        x = np.full(64, 81, np.float32)
        apply(x, tl.sqrt)
        assert (x == 3).all()
    """


@dataclasses.dataclass(frozen=True)
class Dim:
    """An extent in an annotation: a name or a number, and a known divisor."""

    extent: str | int
    divisor: int = 1


class Tensor:
    """Annotation of a parameter that is a tensor in global memory.

    ``tl.Tensor["M, K:16, 4", tl.f16]`` has extents M, K and 4, of which K is a
    multiple of 16. Extents of one name are equal, also between parameters; a
    constexpr parameter of that name, or ``kernel.compile(M=...)``, fixes it. The
    element type may be the name of a constexpr parameter; left out, or any other
    name, it is that of the array in the call. Tensors are row-major unless strides
    (in elements) are given: ``tl.Tensor["M, K", tl.f16, "ld, 1"]``.

    ``tl.Tensor[...] | None`` may be None in a call, and then is None in the kernel;
    ``list[tl.Tensor[...]]`` is a list of tensors of one type.

    Args:
        dims: extents, as a string or a tuple of names and numbers.
        dtype: a :class:`DType`, a name, or None.
        strides: as ``dims``; a name stands for a stride known at launch.
        divisible: a divisor for each extent, instead of the ``:16`` form.
        alignment: alignment of the first element in bytes (16 if not given).

    Raises:
        LanguageError: an extent cannot be read, or the numbers of extents, strides and
            divisors differ.

    Example:
        @tilews.kernel
        def add_rows(
            A: tl.Tensor["M, N", "T"],
            B: tl.Tensor["N", "T"],
            C: tl.Tensor["M, N", "T"],
        ):
            i = tl.grid(tl.cdiv(A.shape[0], 8))
            b = tl.load(B[0], (64,))
            C[i * 8, 0] = tl.load(A[i * 8, 0], (8, 64)) + b

        a, b = np.ones((20, 60), np.float16), np.arange(60).astype(np.float16)
        c = np.zeros_like(a)
        add_rows(a, b, c)
        assert (c == a + b).all()
    """

    def __init__(
        self,
        dims: str | tuple[str | int, ...],
        dtype: DType | str | None = None,
        strides: str | tuple[str | int, ...] | None = None,
        *,
        divisible: tuple[int, ...] | None = None,
        alignment: int | None = None,
    ) -> None:
        if not isinstance(dims, (str, tuple, list)):
            raise LanguageError(
                f"tl.Tensor: expected extents as a text, found {dims!r}",
                'write tl.Tensor["64, 64", tl.f16]',
            )
        self.dims = tuple(_parse_dim(part) for part in _split(dims))
        self.dtype = dtype
        self.strides = None
        #: Whether a call may have None instead.
        self.optional = False
        self.alignment = alignment
        if divisible is not None:
            _check_rank("divisors", divisible, self.dims)
            self.dims = tuple(
                Dim(dim.extent, divisor)
                for dim, divisor in zip(self.dims, divisible, strict=True)
            )
        if strides is not None:
            self.strides = tuple(_parse_dim(part).extent for part in _split(strides))
            _check_rank("strides", self.strides, self.dims)
        if dtype is not None and not isinstance(dtype, (DType, str)):
            raise LanguageError(
                f"expected an element type such as tl.f16 or a name, found {dtype!r}",
                dtype_hint(dtype),
            )

    def __class_getitem__(cls, items: Any) -> Tensor:
        if not isinstance(items, tuple):
            items = (items,)
        if len(items) > 3:
            raise LanguageError(
                f"tl.Tensor takes extents, element type and strides, found {items!r}"
            )
        return cls(*items)

    def __or__(self, other: None) -> Tensor:
        """The annotation of a tensor that may be None."""
        if other is not None:
            return NotImplemented
        optional = copy.copy(self)
        optional.optional = True
        return optional

    __ror__ = __or__

    def dtype_name(self, default: str) -> str:
        """The name of the element type; `default` without one."""
        return self.dtype if isinstance(self.dtype, str) and self.dtype else default

    def __repr__(self) -> str:
        dims = ", ".join(str(dim.extent) for dim in self.dims)
        optional = " | None" if self.optional else ""
        return f"tl.Tensor[{dims!r}, {self.dtype!r}]{optional}"


def _split(dims: str | tuple[str | int, ...]) -> list[str]:
    if isinstance(dims, str):
        return [part for part in dims.split(",") if part.strip()]
    return [str(part) for part in dims]


def _parse_dim(text: str) -> Dim:
    extent, _, divisor = (part.strip() for part in text.partition(":"))
    name_fits = extent.isidentifier() or (extent.isdigit() and int(extent) > 0)
    divisor_fits = not divisor or (divisor.isdigit() and int(divisor) > 0)
    if not name_fits or not divisor_fits:
        raise LanguageError(
            f"cannot read the extent {text.strip()!r}",
            "write a name or a positive number, and a divisor after a colon: 'K:16'",
        )
    return Dim(int(extent) if extent.isdigit() else extent, int(divisor or 1))


def _check_rank(what: str, found: tuple[Any, ...], dims: tuple[Dim, ...]) -> None:
    if len(found) != len(dims):
        raise LanguageError(
            f"found {len(found)} {what} for a tensor with {len(dims)} dimensions"
        )
