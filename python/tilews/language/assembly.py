"""Inline assembly, and functions that say what it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import ir
from .._support.chips import find_chip
from ..dialects import func, tile
from ..errors import CompileError, LanguageError
from .arithmetic import as_value, broadcast_shapes, unify
from .builder import Builder, current
from .memory.buffers import check_dtype
from .types import DType, i32, index
from .values import Scalar, Tile, Value, describe, wrap

_WHAT = "tl.asm"
_VENDORS = ("nvidia", "amd")


def asm(
    templates: Mapping[str, tuple[str, str]],
    inputs: Any,
    dtype: DType | Sequence[DType],
    *,
    pure: bool = True,
    python: Callable[..., Any] | None = None,
) -> Any:
    """Inline assembly for each element.

    ``$0``, ``$1``, ... in a template are the registers of the results and then of the
    inputs; ``$$`` is a dollar sign. Constraints are those of LLVM, separated by commas.
    The first ones are those of the results: ``=f``, or ``=&f`` if it is written before
    all inputs are read. Then come those of the inputs: ``f``, or the number of the
    result whose register it shares. The last ones are the registers that the template
    changes: ``~{vcc}``.

    | vendor | constraint | register of |
    |---|---|---|
    | nvidia | ``h`` | 16 bits |
    | nvidia | ``r``, ``l`` | an integer of 32, of 64 bits |
    | nvidia | ``f``, ``d`` | floating point of 32, of 64 bits |
    | amd | ``v`` | 32 bits, or two for 64 bits; 16 bits are the lower half |

    Elements keep their bits where their class is another one. Use
    ``x.bitcast(tl.i32)`` for several elements below 32 bits in one register.

    Args:
        templates: for ``"nvidia"``, ``"amd"`` or a chip, which precedes its vendor: a
            template and its constraints.
        inputs: fragments, scalars or numbers of 16, 32 or 64 bits, whose shapes
            broadcast as in numpy: one, or a tuple. Numbers are f32, integers i32.
        dtype: the element type of the result; a tuple of types for several results.
        pure: whether the results depend on the inputs alone and nothing else happens.
            Otherwise the assembly stays in its place and order. It must not access
            buffers in either case.
        python: a function of the language that computes the results of one element
            from its inputs. The interpreter and the simulator call it, and so do
            chips without a template. Without it, they refuse the kernel.

    Returns:
        The result, of the shape of the inputs, or a tuple of results for a tuple of
        types; None for an empty tuple.

    Raises:
        LanguageError: no template is for the chip and there is no function; a type has
            other than 16, 32 or 64 bits; the function does more than compute element by
            element, or its results have other types.
        KernelError: a template and its constraints do not fit inputs and results.

    Example:
        @tilews.kernel
        def fast_exp2(X: tl.Tensor["N", tl.f32], Y: tl.Tensor["N", tl.f32]):
            i = tl.grid(tl.cdiv(X.shape[0], 128))
            x = tl.load(X[i * 128], (128,))
            Y[i * 128] = tl.asm(
                {
                    "nvidia": ("ex2.approx.ftz.f32 $0, $1;", "=f,f"),
                    "amd": ("v_exp_f32 $0, $1", "=v,v"),
                },
                x,
                tl.f32,
                python=tl.exp2,
            )

        x = np.arange(200, dtype=np.float32) / 10
        y = np.zeros_like(x)
        fast_exp2(x, y)
        assert np.allclose(y, np.exp2(x))
    """
    builder = current(_WHAT)
    variants = _variants(templates)
    values = _values(inputs)
    several = not isinstance(dtype, DType)
    dtypes = _result_types(dtype)
    if builder.chip is not None and python is None:
        _check_chip(variants, builder.chip)
    shape = next((value.shape for value in values if isinstance(value, Tile)), None)
    definition = None
    if python is not None:
        definition = _definition(builder, python, values, dtypes)
    op = tile.AsmOp(
        [_type(dtype, shape) for dtype in dtypes],
        [value.ir for value in values],
        ir.DictAttr.get(variants),
        pure=pure,
        definition=definition,
    )
    results = tuple(map(wrap, op.operation.results, dtypes))
    if several:
        return results or None
    return results[0]


def _variants(templates: Any) -> dict[str, ir.Attribute]:
    if not isinstance(templates, Mapping):
        raise LanguageError(
            f"{_WHAT}: expected a dictionary of templates, found {describe(templates)}",
            'write {"nvidia": (template, constraints)}',
        )
    variants = {}
    for target, item in templates.items():
        is_pair = isinstance(item, tuple) and len(item) == 2
        if not is_pair or not all(isinstance(text, str) for text in item):
            raise LanguageError(
                f"{_WHAT}: expected a template and its constraints for {target!r}, "
                f"found {item!r:.80}",
                'write ("ex2.approx.ftz.f32 $0, $1;", "=f,f")',
            )
        text, constraints = (ir.StringAttr.get(part) for part in item)
        attribute = ir.Attribute.parse(f"#tile.assembly<{text}, {constraints}>")
        variants[_target(target)] = attribute
    return variants


def _target(name: Any) -> str:
    """The name of a vendor or a chip, from any of its names."""
    if name in _VENDORS:
        return str(name)
    try:
        chip = find_chip(name) if isinstance(name, str) else None
    except CompileError:
        chip = None
    if chip is None or chip == "cpu":
        raise LanguageError(
            f"{_WHAT}: templates are for 'nvidia', 'amd' or a chip, found one for "
            f"{name!r}",
            "python= has a function for the interpreter",
        )
    return chip


def _check_chip(variants: dict[str, ir.Attribute], chip: str) -> None:
    """Refuses templates none of which is for the chip."""
    vendor = "nvidia" if chip.startswith("sm_") else "amd"
    if not {chip, vendor} & {*variants}:
        found = ", ".join(map(repr, variants)) or "none"
        raise LanguageError(
            f"{_WHAT}: no template for {chip}, found {found}",
            f'add one for "{vendor}", or a function that computes the same: python=',
        )


def _values(inputs: Any) -> list[Value]:
    """The inputs with one shape, each with its own type."""
    items = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    values = [
        unify(_WHAT, i32(item) if isinstance(item, int) else item)[0] for item in items
    ]
    for value in values:
        _check_type(value.dtype, "an input")
    tiles = [value.shape for value in values if isinstance(value, Tile)]
    shape = broadcast_shapes(_WHAT, *tiles) if tiles else None
    return [
        as_value(value, value.dtype, shape) if isinstance(value, Tile) else value
        for value in values
    ]


def _result_types(dtype: Any) -> tuple[DType, ...]:
    items = dtype if isinstance(dtype, (tuple, list)) else (dtype,)
    return tuple(_check_type(check_dtype(item, _WHAT), "a result") for item in items)


def _check_type(dtype: DType, what: str) -> DType:
    if dtype == index or dtype.bits not in (16, 32, 64):
        raise LanguageError(
            f"{_WHAT}: {what} has the type {dtype}, expected one of 16, 32 or 64 bits",
            "convert it with .to(tl.i32)"
            if dtype == index
            else "x.bitcast(tl.i32) joins neighboring elements to one of 32 bits",
        )
    return dtype


def _type(dtype: DType, shape: tuple[int, ...] | None) -> ir.Type:
    if shape is None:
        return dtype.to_ir()
    return ir.RankedTensorType.get(shape, dtype.to_ir())


# ===--- Definitions ---=== #


def _definition(
    builder: Builder,
    python: Callable[..., Any],
    inputs: Sequence[Value],
    dtypes: Sequence[DType],
) -> str:
    """The name of the function of the module that computes what `python` does."""
    block = builder.kernel.operation.block
    type_ = ir.FunctionType.get(
        [value.dtype.to_ir() for value in inputs], [dtype.to_ir() for dtype in dtypes]
    )
    with ir.InsertionPoint(block):
        function = func.FuncOp("definition", type_, visibility="private")
    try:
        _fill(builder, function, python, inputs, dtypes)
        _check_elementwise(function)
    except BaseException:
        function.erase()
        raise
    others = [op for op in block.operations if isinstance(op, func.FuncOp)][:-1]
    for other in others:
        if _text(other) == _text(function):
            function.erase()
            return str(other.name.value)
    name = f"definition{len(others)}"
    function.attributes["sym_name"] = ir.StringAttr.get(name)
    return name


def _text(function: func.FuncOp) -> str:
    """A definition without its name."""
    text = function.operation.get_asm(use_local_scope=True)
    return text.partition("(")[2]


def _fill(
    builder: Builder,
    function: func.FuncOp,
    python: Callable[..., Any],
    inputs: Sequence[Value],
    dtypes: Sequence[DType],
) -> None:
    """Builds the body of a definition."""
    entry = function.add_entry_block()
    scalars = [
        Scalar(argument, value.dtype)
        for argument, value in zip(entry.arguments, inputs, strict=True)
    ]
    inner = Builder(function, True, builder.warp_size, builder.fp8, builder.chip)
    with inner, ir.InsertionPoint(entry):
        found = python(*scalars)
        results = found if isinstance(found, (tuple, list)) else (found,)
        results = () if found is None else results
        fits = len(results) == len(dtypes) and all(
            not isinstance(result, Value) or result.dtype == dtype
            for result, dtype in zip(results, dtypes, strict=True)
        )
        if not fits:
            shown = ", ".join(map(describe, results)) or "nothing"
            wanted = ", ".join(map(str, dtypes)) or "nothing"
            raise LanguageError(
                f"{_WHAT}: python= has to return {wanted}, found {shown}",
                "convert results with .to",
            )
        func.ReturnOp(
            [
                as_value(result, dtype, None).ir
                for result, dtype in zip(results, dtypes, strict=True)
            ]
        )


def _check_elementwise(function: func.FuncOp) -> None:
    """Refuses what cannot be done to each element alone."""
    block = function.regions[0].blocks[0]
    for op in block.operations:
        name = op.operation.name
        if name.partition(".")[0] not in ("arith", "math", "func"):
            raise LanguageError(
                f"{_WHAT}: python= may only compute with the elements that it gets, "
                f"but makes {name!r}",
                "write conditions with tl.where",
            )
        for operand in op.operands:
            owner: Any = operand.owner
            inside = owner if isinstance(owner, ir.Block) else owner.operation.block
            if inside != block:
                raise LanguageError(
                    f"{_WHAT}: python= uses a value of the kernel",
                    "make it an input",
                )
