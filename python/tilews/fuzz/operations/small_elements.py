"""Elements of 4 and 6 bits in random kernels, and matmuls with scales of blocks."""

from __future__ import annotations

from ..data import NIBBLES
from ..draft import LONGEST, Draft, Lines, Scope, Shared

#: Operands of matmuls with scales of 32 elements.
_FACTORS = ("e2m1", "e2m1", "e2m3", "e3m2", "e4m3", "e5m2")
_SIX_BITS = ("e2m3", "e3m2")
#: The elements along K that have one scale.
_BLOCK = 32


class SmallElements:
    """Generates copies and uses of small elements."""

    def __init__(self, draft: Draft) -> None:
        self._draft = draft

    def read(self, scope: Scope) -> tuple[Lines, str, tuple[int, int]]:
        """A copy of elements of which two share a byte.

        Returns:
            The statement, a fragment of f32 with what it copies, and its shape.
        """
        draft = self._draft
        rows, columns = draft.rows, draft.columns
        dtype = draft.choose(*NIBBLES)
        buffer = self._fill(dtype, (rows, columns), scope)
        return buffer[1], f"tl.load({buffer[0]}).to(tl.f32)", (rows, columns)

    def matmul(self, scope: Scope) -> list[Lines]:
        """A matmul of fp8, fp6 and fp4 whose blocks may have scales."""
        draft = self._draft
        units: list[Lines] = []
        depth = draft.scaled((32, 32, 64), (64, 128))
        dtypes = draft.choose(*_FACTORS), draft.choose(*_FACTORS)
        if not any(dtype.startswith(("e2", "e3")) for dtype in dtypes):
            dtypes = ("e2m1", dtypes[1])
        floats = {draft.dtype, *dtypes} & {"e4m3", "e5m2"}
        # The frontend converts operands where a chip has no instruction. gfx942 has
        # other types of fp8, and arrays of others; sm_80 has none.
        rest = () if floats else ("sm_80", "gfx942")
        draft.require_chips("sm_90a", "gfx950", *rest)
        options = ""
        names = []
        scaled = draft.choose(("lhs", "rhs"), ("lhs", "rhs"), ("lhs",), ("rhs",), ())
        for side, extent, dtype in zip(
            ("lhs", "rhs"), (draft.rows, draft.columns), dtypes, strict=True
        ):
            # Whether K is the last dimension.
            is_last = dtype == "e2m1" or draft.chance(0.6)
            if is_last == (side == "rhs"):
                options += f", transpose_{side}=True"
            packed = dtype in _SIX_BITS and is_last and draft.chance(0.6)
            shape = (extent, depth) if is_last else (depth, extent)
            name, lines = (
                self._fill_packed(dtype, shape, scope)
                if packed
                else self._fill(dtype, shape, scope)
            )
            names.append(name)
            units.append(lines)
            if packed:
                options += f", {side}_type=tl.{dtype}"
            if side in scaled:
                blocks = depth // _BLOCK
                shape = (extent, blocks) if is_last else (blocks, extent)
                scale, lines = self._scale(shape, scope)
                options += f", {side}_scale={scale}"
                units.append(lines)
        acc = draft.accumulator((draft.rows, draft.columns))
        product = f"tl.gemm({names[0]}, {names[1]}, {acc}{options})"
        clamped = f"tl.maximum(tl.minimum({product}, 4096.0), -4096.0)"
        return [*units, [f"{acc} = {clamped}"]]

    def _shared(self, shape: tuple[int, int], dtype: str) -> Shared:
        """A buffer that nothing else uses, without a layout."""
        draft = self._draft
        buffer = Shared(f"S{len(draft.buffers)}", shape, dtype)
        draft.buffers[buffer] = ""
        draft.busy.add(buffer)
        return buffer

    def _fill(
        self, dtype: str, shape: tuple[int, int], scope: Scope
    ) -> tuple[str, Lines]:
        """A buffer, and the statement that fills it."""
        draft = self._draft
        rows, columns = shape
        width = columns * draft.choose(1, 3)
        array = draft.add_array(dtype, (rows * draft.tiles, width))
        return self._copy(array, self._shared(shape, dtype), scope)

    def _fill_packed(
        self, dtype: str, shape: tuple[int, int], scope: Scope
    ) -> tuple[str, Lines]:
        """A buffer of bytes with elements of 6 bits, and what fills it."""
        draft = self._draft
        rows, columns = shape[0], shape[1] * 6 // 8
        fill = f"packed {dtype}"
        whole = (rows * draft.tiles, columns * draft.choose(1, 3))
        array = draft.add_array("u8", whole, fill=fill)
        return self._copy(array, self._shared((rows, columns), "u8"), scope)

    def _copy(self, array: str, buffer: Shared, scope: Scope) -> tuple[str, Lines]:
        # Places along the last dimension are multiples of the extent, as two elements
        # may share a byte.
        rows, columns = buffer.shape
        row = self._draft.choose("t", scope.variable)
        place = f"{row} * {rows}, {scope.variable} * {columns}"
        return buffer.name, [f"tl.copy({array}[{place}], {buffer.name})"]

    def _scale(self, shape: tuple[int, int], scope: Scope) -> tuple[str, Lines]:
        """Scales as a fragment, a region or a buffer, and statements before them."""
        draft = self._draft
        rows, columns = shape
        whole = (rows * LONGEST, columns)
        array = draft.add_array("e8m0", whole, fill="powers")
        start = f"{scope.variable} * {rows}"
        kind = draft.choose("fragment", "fragment", "region", "buffer")
        if kind == "region":
            return f"{array}[{start}:{start} + {rows}, 0:{columns}]", []
        if kind == "fragment":
            return f"tl.load({array}[{start}, 0], {shape})", []
        buffer = self._shared(shape, "e8m0")
        return buffer.name, [f"tl.copy({array}[{start}, 0], {buffer.name})"]
