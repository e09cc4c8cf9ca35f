"""The values a kernel computes with: scalars, fragments and buffers."""

from __future__ import annotations

import dataclasses
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

from .. import ir
from .._support.lazy import LazyModule
from ..errors import LanguageError
from .operators import ElementwiseOperators
from .types import DType, dtype_of_ir
from .unloaded import InMemory

if TYPE_CHECKING:
    from . import arithmetic, math, reductions, shapes
    from .memory import accesses, buffers, regions
else:  # They work on the classes of this module, whose methods only call them.
    arithmetic = LazyModule("tilews.language.arithmetic")
    math = LazyModule("tilews.language.math")
    reductions = LazyModule("tilews.language.reductions")
    shapes = LazyModule("tilews.language.shapes")
    accesses = LazyModule("tilews.language.memory.accesses")
    buffers = LazyModule("tilews.language.memory.buffers")
    regions = LazyModule("tilews.language.memory.regions")


class Value(ElementwiseOperators):
    """A scalar or a fragment. Python's operators work element by element.

    A Python number takes the other operand's element type, and so does an index
    scalar next to integers; other types are converted with :meth:`to` only.
    """

    __slots__ = ("dtype", "ir")
    shape: tuple[int, ...] | None = None
    # numpy's operators leave the work to ours.
    __array_ufunc__ = None

    def __init__(self, value: ir.Value, dtype: DType) -> None:
        self.ir = value
        self.dtype = dtype

    def to(self, dtype: DType) -> Any:
        """The value converted to an element type, rounded to nearest even.

        A conversion of floating point to integers truncates, of anything to i1
        compares with zero.
        """
        return arithmetic.cast(self, dtype)

    def bitcast(self, dtype: DType) -> Any:
        """The same bits as another element type.

        Elements of a fragment may have another width: those along the last dimension
        that share a wider one are its bits from the lowest on. So a fragment of i32
        and shape (m, n) becomes one of i8 and shape (m, 4 * n), and back.
        """
        return arithmetic.bitcast(self, dtype)

    def _combine(self, op: str, lhs: Any, rhs: Any) -> Any:
        return arithmetic.binary(op, lhs, rhs)

    def _compare(self, op: str, other: Any) -> Any:
        return arithmetic.compare(op, self, other)

    def _negate(self) -> Any:
        return arithmetic.negate(self)

    def _invert(self) -> Any:
        return arithmetic.invert(self)

    def __abs__(self) -> Any:
        return math.abs(self)

    def __bool__(self) -> NoReturn:
        raise LanguageError(
            f"{describe(self)} is known only when the kernel runs, but Python "
            "needs it now",
            "if this is in a helper function, decorate it with @tilews.func",
        )

    def __index__(self) -> NoReturn:
        raise LanguageError(
            f"{describe(self)} is known only when the kernel runs, but a Python "
            "integer is needed here",
            "make it a constexpr parameter or fix it with compile(NAME=...)",
        )

    def __int__(self) -> NoReturn:
        raise LanguageError(
            f"{describe(self)} is known only when the kernel runs, but a Python "
            "number is needed here",
            "convert it with .to(tl.i32) or .to(tl.f32), and compute with the "
            "functions of tl",
        )

    __float__ = __complex__ = __trunc__ = __floor__ = __ceil__ = __int__

    def __round__(self, digits: int | None = None) -> NoReturn:
        raise LanguageError(
            f"round: {describe(self)} is known only when the kernel runs",
            "write tl.round(x), and .to(tl.i32) for integers",
        )

    def __divmod__(self, other: Any) -> NoReturn:
        raise LanguageError("kernels have no divmod", "write a // b and a % b")

    __rdivmod__ = __divmod__

    def __matmul__(self, other: Any) -> NoReturn:
        raise LanguageError("'@' is not defined", "write tl.gemm(a, b, acc)")

    __rmatmul__ = __matmul__

    def __len__(self) -> NoReturn:
        raise LanguageError(
            f"{describe(self)} has no len", "a fragment has a shape: x.shape[0]"
        )

    def __iter__(self) -> NoReturn:
        raise LanguageError(
            f"cannot iterate over {describe(self)}", "loop over tl.range(n)"
        )

    def __contains__(self, item: Any) -> NoReturn:
        raise LanguageError("'in' takes Python values", "write tl.any(x == item)")


class Scalar(Value):
    """A number that is the same for all threads of a block.

    Python's operators compute with it, and a condition may depend on it. Parameters
    such as ``n: tl.i32``, extents, block ids, induction variables and loads of one
    element are scalars.

    Example:
        >>> n = tl.block_id().to(tl.i32) + 3
        >>> n.to(tl.f32) / 2.0
        1.5
        >>> n.to(tl.f32).bitcast(tl.i32) >> 23  # sign and exponent
        128
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Scalar({self.dtype})"


class CarriedNumber(Scalar):
    """A Python number that a loop carries; it adopts the type of other operands."""

    __slots__ = ()


class Tile(Value):
    """A fragment: a tile of elements held in the threads' registers.

    Python's operators work element by element, and shapes broadcast as in numpy.
    Indexing inserts dimensions, ``x[:, None]``, or takes constant parts,
    ``x[:, 0:64]``. A fragment is a value: operations return new fragments.

    Example:
        >>> x = tl.arange(6).reshape(2, 3)
        >>> x + x[:, 0][:, None] * 10
        [[0, 1, 2], [33, 34, 35]]
        >>> x.T.transpose(1, 0)[1]
        [3, 4, 5]
        >>> x.to(tl.f32).bitcast(tl.i32)[0, 0:1]
        [0]
        >>> tl.full((2,), 0x04030201, tl.i32).bitcast(tl.u8)  # four bytes each
        [1, 2, 3, 4, 1, 2, 3, 4]
        >>> x.sum(axis=1).broadcast_to((x.ndim, 2))
        [[3, 12], [3, 12]]
        >>> x.max() - x.min()
        5
    """

    __slots__ = ("shape",)
    shape: tuple[int, ...]

    def __init__(self, value: ir.Value, dtype: DType | None = None) -> None:
        type_ = ir.RankedTensorType(value.type)
        super().__init__(value, dtype or dtype_of_ir(type_.element_type))
        self.shape = tuple(type_.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def T(self) -> Tile:
        """The transpose of a matrix."""
        return shapes.transpose(self)

    def reshape(self, *shape: int | tuple[int, ...]) -> Tile:
        """See :func:`tl.reshape`."""
        first = shape[0] if len(shape) == 1 else shape
        extents: Any = first if isinstance(first, (tuple, list)) else shape
        return shapes.reshape(self, tuple(extents))

    def transpose(self, *axes: int) -> Tile:
        """See :func:`tl.transpose`."""
        return shapes.transpose(self, axes or None)

    def broadcast_to(self, shape: tuple[int, ...]) -> Tile:
        """See :func:`tl.broadcast_to`."""
        return shapes.broadcast_to(self, shape)

    def sum(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """See :func:`tl.sum`."""
        return reductions.sum(self, axis, keepdims)

    def max(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """See :func:`tl.max`."""
        return reductions.max(self, axis, keepdims)

    def min(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """See :func:`tl.min`."""
        return reductions.min(self, axis, keepdims)

    def __getitem__(self, items: Any) -> Any:
        """Inserts dimensions, ``x[:, None]``, takes parts, ``x[:, 0:64]``, or both.

        A constant integer takes an element of a dimension, ``x[:, 0]``. The result is
        a fragment, or a scalar if no dimension is left.
        """
        return shapes.index(self, items)

    def __repr__(self) -> str:
        return f"Tile({self.shape}, {self.dtype})"


class Cursor(Value):
    """A place in a channel: a slot and a phase, see :func:`tl.channel`.

    It is a value: loops carry it under the name that it is assigned to.

    Example:
        @tilews.kernel
        def count(C: tl.Tensor["1", tl.i32]):
            ch = tl.channel(depth=2)  # without buffers: it orders two roles
            with tl.specialize():
                with tl.role("produce", warps=1):
                    p = ch.cursor()
                    for i in tl.range(5):
                        ch.acquire(p)
                        ch.commit(p)
                        p = ch.advance(p)
                with tl.role("consume", warps=1):
                    q, seen = ch.cursor(), 0
                    for i in tl.range(5):
                        ch.wait(q)
                        ch.release(q)
                        q = ch.advance(q)
                        seen += 1
                    C[0] = seen

        c = np.zeros(1, np.int32)
        count(c)
        assert c[0] == 5
    """

    __slots__ = ("depth",)

    def __init__(self, value: ir.Value) -> None:
        self.ir = value
        # No operation on elements accepts a cursor.
        self.dtype = None  # type: ignore[assignment]
        text = str(value.type)
        self.depth = int(text.removeprefix("!tile.cursor<").removesuffix(">"))

    def __repr__(self) -> str:
        return f"Cursor({self.depth})"


class Buffer(InMemory):
    """A tensor in global or shared memory.

    Indexing names a region of it, to be copied, loaded or stored: ``A[i, j]``
    starts at (i, j) and is as large as the other side of the operation;
    ``A[i:i + 128, :]`` has a size of its own, which has to be static. Offsets are in
    elements. ``C[i, j] = value`` stores.

    Attributes:
        dtype: the element type.
        is_shared: whether it is in shared memory.
        static_shape: extents; None for those that are known only at launch.

    Example:
        @tilews.kernel
        def halve(A: tl.Tensor["M, 64", tl.f32], C: tl.Tensor["M, 64", tl.f32]):
            assert A.ndim == 2  # known when the kernel is built
            i = tl.grid(tl.cdiv(A.shape[0], 16))
            C[i * 16, 0] = tl.load(A[i * 16 : i * 16 + 16, :]) / 2.0

        a = np.arange(40 * 64, dtype=np.float32).reshape(40, 64)
        c = np.zeros_like(a)
        halve(a, c)
        assert (c == a / 2).all()
    """

    def __init__(
        self, value: ir.Value, name: str | None = None, dtype: DType | None = None
    ) -> None:
        type_ = ir.MemRefType(value.type)
        self.ir = value
        self.name = name
        self.dtype = dtype or dtype_of_ir(type_.element_type)
        self.is_shared = type_.memory_space is not None
        dynamic = ir.ShapedType.get_dynamic_size()
        extents = [None if extent == dynamic else extent for extent in type_.shape]
        if extents and extents[-1] is not None:
            extents[-1] *= self.dtype.packing
        #: Extents; None for those that are known only at launch.
        self.static_shape = tuple(extents)

    @property
    def shape(self) -> tuple[int | Scalar, ...]:
        """Extents: integers where static, else index scalars."""
        return tuple(
            buffers.extent(self, dim) if extent is None else extent
            for dim, extent in enumerate(self.static_shape)
        )

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.static_shape)

    def __getitem__(self, items: Any) -> BufferRegion:
        return regions.region(self, items)

    def __setitem__(self, items: Any, value: Any) -> None:
        accesses.store(value, regions.region(self, items))

    def _element(self) -> str:
        return _element(self, ())

    def _describe(self) -> str:
        space = "shared" if self.is_shared else "global"
        return f"the {space} buffer {self.name or ''}".rstrip()

    def __repr__(self) -> str:
        shape = tuple("?" if size is None else size for size in self.static_shape)
        return f"Buffer({shape}, {self.dtype})"


@dataclasses.dataclass(frozen=True, eq=False)
class BufferRegion(InMemory):
    """A part of a buffer, made by an index such as ``A[i, j]`` or ``A[0:64, :]``.

    Attributes:
        buffer: the buffer.
        offsets: of the first element; none for all of the buffer.
        sizes: extents, or None if the other side of the operation gives them.
        shape: the sizes of the dimensions that are not indexed by a number, or
            None without sizes.
        indices: the dimensions that have indices in place of an offset, and these.
        slices: the dimensions that have a slice; empty without indices or run-time
            sizes.
        ragged: the size of each dimension, if one is known only at run time; the
            region then has no `sizes` and no `shape`. The size is None for a slice
            ``:`` of a run-time extent.
        limit: the index at which the buffer ends, if it does not end before, and the
            dimension; made of a run-time size.

    Example:
        >>> As = tl.alloc_shared((2, 4), tl.i32)
        >>> As[0, 0:4] = tl.arange(4)  # shape (4,)
        >>> As[1:2, 0:4] = tl.full((1, 4), 9, tl.i32)  # shape (1, 4)
        >>> tl.load(As)
        [[0, 1, 2, 3], [9, 9, 9, 9]]
        >>> tl.load(As[0, 1])  # one element: a scalar
        1
    """

    buffer: Buffer
    offsets: tuple[int | Scalar, ...]
    sizes: tuple[int, ...] | None
    shape: tuple[int, ...] | None
    indices: tuple[tuple[int, Tile | Buffer], ...] = ()
    slices: tuple[int, ...] = ()
    ragged: tuple[int | Scalar | None, ...] = ()
    limit: tuple[ir.Value, int] | None = None

    @property
    def dtype(self) -> DType:
        return self.buffer.dtype

    # Each indexing makes a new region, so a region is no useful key. Python documents
    # this assignment, which typeshed does not allow.
    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, items: Any) -> NoReturn:
        self.refuse("an index of a region", "index the buffer once: A[i, j]")

    def __setitem__(self, items: Any, value: Any) -> NoReturn:
        self.__getitem__(items)

    def _element(self) -> str:
        return _element(self.buffer, self.offsets)

    def _describe(self) -> str:
        return f"a region of {self.buffer._describe()}"


def _element(buffer: Buffer, offsets: tuple[int | Scalar, ...]) -> str:
    """An element of a buffer as the source would name it."""
    letters = "ijklmnop"
    names = [letters[dim % len(letters)] for dim in range(buffer.ndim)]
    for dim, offset in enumerate(offsets):
        names[dim] = str(offset) if isinstance(offset, int) else names[dim]
    return f"{buffer.name or 'A'}[{', '.join(names) or '()'}]"


def describe(value: Any) -> str:
    """A description of a value for error messages."""
    if isinstance(value, Tile):
        return f"a fragment of shape {value.shape} and type {value.dtype}"
    if isinstance(value, Scalar):
        return f"a scalar of type {value.dtype}"
    if isinstance(value, Cursor):
        return f"a cursor of a channel with {value.depth} slots"
    if isinstance(value, InMemory):
        return value._describe()
    if isinstance(value, int) and value.bit_length() > 128:
        # Python refuses to print integers of thousands of digits.
        return f"a Python integer of {value.bit_length()} bits"
    if isinstance(value, (bool, int, float, str, type(None), DType)):
        return f"the Python value {value!r}"
    if isinstance(value, ModuleType):
        return f"the module {value.__name__}"
    return f"a Python {type(value).__name__}"


def wrap(value: ir.Value, dtype: DType | None = None) -> Value:
    """A scalar, fragment or cursor from its MLIR value.

    Args:
        value: the MLIR value.
        dtype: the element type, which says whether an integer has a sign; by default
            the signed one.
    """
    if isinstance(value.type, ir.RankedTensorType):
        return Tile(value, dtype)
    if str(value.type).startswith("!tile.cursor<"):
        return Cursor(value)
    return Scalar(value, dtype or dtype_of_ir(value.type))


def same_type(lhs: Value, rhs: Value) -> bool:
    """Whether two values have the same shape and element type."""
    return lhs.ir.type == rhs.ir.type and lhs.dtype == rhs.dtype
