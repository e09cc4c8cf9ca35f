"""Layouts of shared buffers and fragments that a kernel asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import ir
from .. import layout as algebra
from ..errors import LanguageError
from .builder import current
from .types import DType
from .values import Tile, describe

if TYPE_CHECKING:
    from ..layout import FragmentLayout, Layout, SharedLayout

    #: The forms in which a shared layout can be given.
    SharedSpec = str | SharedLayout | Layout | Callable[..., int]
    #: The forms in which a fragment's layout can be given.
    FragmentSpec = str | FragmentLayout | Layout | Callable[..., tuple[int, ...]]

_SPANS = {"swizzle_32B": 32, "swizzle_64B": 64, "swizzle_128B": 128}
_NAMES = (*_SPANS, "linear", "padded", "cdna_xor")


def shared_layout(
    spec: SharedSpec, shape: tuple[int, ...], dtype: DType, what: str
) -> ir.Attribute:
    """The ``#tile.shared`` attribute of a buffer's layout.

    Args:
        spec: a name (``swizzle_128B``, ``swizzle_64B``, ``swizzle_32B``, ``linear``,
            ``padded``, ``cdna_xor``), shape:stride text such as
            ``Sw<3,3,3> o (64,64):(64,1)`` in elements, the text of a
            ``#tile.shared``, a layout of :mod:`tilews.layout`, or a function from
            coordinates to an offset in elements.
        shape: the buffer's extents.
        dtype: its element type.
        what: the function that is called, for messages.

    Raises:
        LanguageError: it is no layout of the buffer; the message names two elements
            that share an offset.
    """
    if isinstance(spec, str) and spec.startswith("#"):
        return _parse(spec, what)
    try:
        layout = _find_shared(spec, shape, max(dtype.bits, 8))
    except ValueError as error:
        raise LanguageError(f"{what}: {error}") from None
    if layout is None:
        raise LanguageError(
            f"{what}: expected a layout, found {describe(spec)}",
            f"give one of {', '.join(_NAMES)}, shape:stride text, or a function "
            "from coordinates to an offset",
        )
    if tuple(layout.shape) != shape:
        raise LanguageError(
            f"{what}: the layout has shape {tuple(layout.shape)}, the buffer {shape}"
        )
    return _parse(_shared_text(layout), what)


def _find_shared(spec: Any, shape: tuple[int, ...], bits: int) -> SharedLayout | None:
    if isinstance(spec, str) and spec in _NAMES:
        return _named(spec, shape, bits)
    if isinstance(spec, algebra.SharedLayout):
        return spec
    if isinstance(spec, str):
        if ":" not in spec:
            raise ValueError(
                f"there is no layout {spec!r}, only {', '.join(_NAMES)} and "
                "shape:stride text"
            )
        spec = algebra.Layout(spec)
    if isinstance(spec, algebra.Layout):
        return spec.to_shared(bits)
    if callable(spec):
        return algebra.recognize(spec, shape).to_shared(bits)
    return None


def _named(name: str, shape: tuple[int, ...], bits: int) -> SharedLayout:
    if name == "linear":
        return algebra.SharedLayout.row_major(shape)
    if not shape:
        raise ValueError(f"a buffer of one element cannot be {name}")
    row = shape[-1] * bits // 8
    if name == "padded":
        return algebra.SharedLayout.padded(shape, bits)
    if name == "cdna_xor":
        # A lane of mfma reads 8 bytes along K.
        span = next((s for s in (128, 64, 32, 16) if row % s == 0), None)
        if span is None:
            raise ValueError(
                f"rows of {row} bytes are no multiple of 16: no XOR layout"
            )
        return algebra.SharedLayout.panels(shape, bits, span, 8)
    span = _SPANS[name]
    if row % span:
        raise ValueError(f"rows of {row} bytes are no multiple of {span}: no {name}")
    return algebra.SharedLayout.panels(shape, bits, span)


def _shared_text(layout: SharedLayout) -> str:
    def groups(place: int) -> str:
        parts = []
        for dim in range(len(layout.shape)):
            numbers = [str(mode[place]) for mode in layout.modes if mode[2] == dim]
            text = ", ".join(numbers)
            parts.append(f"({text})" if len(numbers) > 1 else text)
        return f"({', '.join(parts)})"

    bits, base, shift = layout.swizzle
    swizzle = f", Sw<{bits},{base},{shift}>" if bits else ""
    return f"#tile.shared<{groups(0)}:{groups(1)}{swizzle}>"


def _parse(text: str, what: str) -> ir.Attribute:
    """Parses an attribute; what its verifier finds becomes the message."""
    try:
        return ir.Attribute.parse(text)
    except ir.MLIRError as error:
        reasons = "; ".join(str(d.message) for d in error.error_diagnostics)
        raise LanguageError(f"{what}: {reasons} in {text}") from None


# ===--- Fragments ---=== #


def with_layout(fragment: Tile, layout: FragmentSpec) -> Tile:
    """Asks for the layout of a fragment, and returns it.

    Args:
        fragment: the result of an operation such as ``tl.load``, not a fragment that a
            loop or a branch carries.
        layout: one of these:

            * shape:stride text, or a layout of :mod:`tilews.layout`, that maps
              (thread, register) to the number of the element, counted row by row;
            * the text of a ``#tile.fragment``;
            * a function from a thread and a register to the element's coordinates.
              Each element is then held once.

    Raises:
        LanguageError: `layout` is no layout of the fragment.

    Example:
        @tilews.kernel(threads=32)
        def double(X: tl.Tensor["64", tl.f32], Y: tl.Tensor["64", tl.f32]):
            x = tl.load(X)
            x = tl.with_layout(x, lambda thread, register: 2 * thread + register)
            Y[0] = 2.0 * x

        x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
        double(x, y)
        assert (y == 2 * x).all()
    """
    what = "tl.with_layout"
    if not isinstance(fragment, Tile):
        raise LanguageError(f"{what}: expected a fragment, found {describe(fragment)}")
    owner = fragment.ir.owner
    if isinstance(owner, ir.Block) or len(owner.results) != 1:
        raise LanguageError(
            f"{what}: the fragment is carried by a loop or a branch",
            "ask for the layout of the operation that makes it",
        )
    attribute = _fragment_layout(layout, fragment.shape, what)
    owner.attributes["tile.layout"] = attribute
    try:
        owner.verify()
    except ir.MLIRError as error:
        reasons = "; ".join(str(d.message) for d in error.error_diagnostics)
        del owner.attributes["tile.layout"]
        raise LanguageError(f"{what}: {reasons}") from None
    return fragment


def _fragment_layout(spec: Any, shape: tuple[int, ...], what: str) -> ir.Attribute:
    if isinstance(spec, str) and spec.startswith("#"):
        return _parse(spec, what)
    try:
        if callable(spec) and not isinstance(
            spec, (algebra.Layout, algebra.FragmentLayout)
        ):
            spec = _recognize_fragment(spec, shape)
        elif isinstance(spec, str):
            spec = algebra.Layout(spec)
        if isinstance(spec, algebra.Layout):
            spec = spec.to_fragment(shape)
    except ValueError as error:
        raise LanguageError(f"{what}: {error}") from None
    if not isinstance(spec, algebra.FragmentLayout):
        raise LanguageError(
            f"{what}: expected a layout (thread, value), found {describe(spec)}"
        )
    text = ", ".join(
        f"{name} = ({', '.join(str(extent) for extent, _, _ in modes)}):"
        f"({', '.join(f'{s}*d{d}' if s else '0' for _, s, d in modes)})"
        for name, modes in (("thread", spec.thread), ("value", spec.value))
    )
    return _parse(f"#tile.fragment<{text}>", what)


def _recognize_fragment(
    function: Callable[..., tuple[int, ...]], shape: tuple[int, ...]
) -> Layout:
    threads = current("tl.with_layout").threads
    elements = 1
    for extent in shape:
        elements *= extent
    if elements % threads:
        raise ValueError(
            f"{threads} threads do not hold {elements} elements evenly; give the "
            "layout as text"
        )

    def number(thread: int, value: int) -> int:
        coords = function(thread, value)
        coords = coords if isinstance(coords, (tuple, list)) else (coords,)
        inside = len(coords) == len(shape) and all(
            0 <= c < extent for c, extent in zip(coords, shape, strict=True)
        )
        if not inside:
            raise ValueError(
                f"register {value} of thread {thread} holds element {coords!r}, which "
                f"is outside of the fragment's shape {shape}"
            )
        result = 0
        for coord, extent in zip(coords, shape, strict=True):
            result = result * extent + coord
        return result

    return algebra.recognize(number, (threads, elements // threads))
