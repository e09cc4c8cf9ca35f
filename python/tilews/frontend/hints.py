"""Hints about names that a kernel does not have, and what to write instead.

People bring the names of Triton, TileLang, CUDA, numpy and torch. The tables here say
what tilews has in their place; other names get the nearest one that exists.
"""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from types import MethodType, ModuleType
from typing import Any

from .. import language
from ..language.types import dtype_hint
from ..language.unloaded import InMemory
from ..language.values import Value

_TILES = (
    "arguments have shapes: name a tile by its first element, A[i * 128, k * 64]; the "
    "compiler uses TMA where it can"
)
_BARRIERS = "leave it out: the compiler places barriers"
_THREADS = "kernels compute with whole tiles and have no thread ids; see tl.arange"
_DIVISORS = 'declare it: tl.Tensor["M, K:16", tl.f16] says that 16 divides K'
_GEMM = "write tl.gemm(a, b, acc)"

#: What stands for functions of other systems. A plain name is one of tilews.language.
_FUNCTIONS = {
    # Triton
    "program_id": "use the results of tl.grid, or write tl.block_id(0)",
    "num_programs": "write tl.num_blocks(0)",
    **dict.fromkeys(("dot", "matmul", "mm", "bmm", "einsum"), _GEMM),
    "dot_scaled": "write tl.gemm(a, b, acc, lhs_scale=x, rhs_scale=y)",
    "inline_asm_elementwise": "asm",
    **dict.fromkeys(("make_block_ptr", "make_tensor_descriptor", "advance"), _TILES),
    **dict.fromkeys(("multiple_of", "max_contiguous", "assume"), _DIVISORS),
    "debug_barrier": _BARRIERS,
    "device_print": "print",
    "static_print": "the message of tl.print is made when the kernel is built",
    "static_assert": "write assert, which checks Python values at build time",
    "trans": "transpose",
    "associative_scan": "scan",
    "atomic_xchg": "atomic_exchange",
    "xor_sum": "reduce_xor",
    "cast": "write x.to(tl.f16)",
    "ravel": "reshape",
    "zeros_like": "write tl.zeros(x.shape, x.dtype)",
    "full_like": "write tl.full(x.shape, value, x.dtype)",
    "fdiv": "write x / y",
    "cumprod": "write tl.scan(x, lambda a, b: a * b, axis)",
    "gather": "index memory with a fragment, tl.load(A[ids, 0:64]); store a fragment "
    "to shared memory first",
    "interleave": "write tl.join(x, y).reshape(2 * n)",
    "softmax": "write e = tl.exp(x - tl.max(x, 1, True)); y = e / tl.sum(e, 1, True)",
    # TileLang
    "Kernel": "write @tilews.kernel(threads=128), and tl.grid for the blocks",
    "prim_func": "write @tilews.kernel",
    **dict.fromkeys(
        ("alloc_fragment", "alloc_local"),
        "fragments are values: acc = tl.zeros((64, 64), tl.f32)",
    ),
    "clear": "fragments are values: acc = tl.zeros((64, 64), tl.f32)",
    "fill": "full",
    "Parallel": "compute with whole fragments: tl.where(x > 0, x, y)",
    "Pipelined": "pipelined",
    "Persistent": "persistent",
    "serial": "range",
    "unroll": "static_range",
    "ceildiv": "cdiv",
    "if_then_else": "where",
    **{
        f"reduce_{kind}": kind for kind in ("sum", "max", "min", "absmax", "any", "all")
    },
    "annotate_layout": "give layout= to tl.alloc_shared, or see tl.with_layout",
    "infinity": "write math.inf",
    # CUDA
    **dict.fromkeys(("syncthreads", "__syncthreads", "sync_threads"), _BARRIERS),
    **dict.fromkeys(("barrier", "sync", "syncwarp"), _BARRIERS),
    **dict.fromkeys(("threadIdx", "thread_idx", "thread_id", "tid"), _THREADS),
    **dict.fromkeys(("get_thread_binding", "thread_binding"), _THREADS),
    "blockIdx": "use the results of tl.grid, or write tl.block_id(0)",
    "gridDim": "write tl.num_blocks(0)",
    # numpy and torch
    "relu": "write tl.maximum(x, 0.0)",
    "silu": "write x * tl.sigmoid(x)",
    "mean": "write tl.sum(x, axis) / n",
    "prod": "write tl.reduce(x, lambda a, b: a * b, axis)",
    "gelu": "write 0.5 * x * (1 + tl.erf(x * 0.5**0.5))",
    "square": "write x * x",
    "ones": "write tl.full(shape, 1, dtype)",
    "logical_and": "write a & b",
    "logical_or": "write a | b",
    "logical_not": "write ~a",
    "concatenate": "cat",
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "clip": "clamp",
    "power": "pow",
    "unsqueeze": "expand_dims",
    "numel": "extents are in the shape: A.shape[0]",
    "size": "extents are in the shape: A.shape[0]",
    "dim": "write ndim",
    "stride": 'name it in the annotation: tl.Tensor["M, N", tl.f16, "ld, 1"]',
    "astype": "write x.to(tl.f16)",
    "half": "write x.to(tl.f16)",
    "float": "write x.to(tl.f32)",
    "int": "write x.to(tl.i32)",
}
#: What stands for methods of fragments in torch; other names are functions.
_METHODS = {
    "view": "write x.reshape(2, 4), or x.bitcast(tl.i32) for the bits",
    "item": "write x[0] for an element of a fragment, and tl.load(A[i]) for one in "
    "memory",
    "size": "extents are in the shape: x.shape[0]",
    "numel": "extents are in the shape: x.shape[0]",
    "any": "write tl.any(x)",
}
#: Names of modules with functions for kernels, which people write out of habit.
_MODULES = ("T", "triton", "tilelang", "cute", "ct", "pl", "np", "torch", "jnp")
#: Keyword arguments of other systems; a plain name is the argument's in tilews.
_ARGUMENTS = {
    "mask": "loads, stores, copies and atomic updates have masks; past an edge none is "
    "needed: reads give zeros, writes are dropped",
    "other": "pad",
    "padding_option": "pad",
    "boundary_check": "leave it out: accesses past an edge are checked",
    "cache_modifier": "leave it out: the compiler chooses the instruction",
    "eviction_policy": "leave it out: the compiler chooses the instruction",
    **dict.fromkeys(("transpose_A", "trans_a"), "transpose_lhs"),
    **dict.fromkeys(("transpose_B", "trans_b"), "transpose_rhs"),
    "clear_accum": "clear",
    "out_dtype": "dtype",
    "dim": "axis",
    **dict.fromkeys(("keepdim", "keep_dims"), "keepdims"),
    "sem": "order",
}
_LIBRARIES = (
    *("numpy", "torch", "jax", "jaxlib", "cupy", "scipy", "math"),
    *("triton", "tilelang", "cutlass"),
)


def _public() -> list[str]:
    return dir(language)


def name_hint(name: str) -> str | None:
    """What to write for a name that the language does not have."""
    hint = _FUNCTIONS.get(name)
    if hint is None and (dtype := dtype_hint(name)):
        return dtype
    if hint is not None:
        return f"write tl.{hint}" if hint in _public() else hint
    return nearest_name(name, _public())


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like another; private names do not count."""
    by_lower = {each.lower(): each for each in known if not each.startswith("_")}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.65)
    return f"did you mean '{by_lower[close[0]]}'?" if close else None


def module_hint(module: str, name: str) -> str | None:
    """What to write for ``module.name`` where no module has that name."""
    if module not in _MODULES:
        return None
    return f"write tl.{name}" if name in _public() else name_hint(name)


def attribute_hint(value: Any, name: str) -> str | None:
    """What to write for an attribute that an object does not have."""
    if value is language:
        return name_hint(name)
    if not isinstance(value, (Value, InMemory)):
        return nearest_name(name, dir(value))
    if isinstance(value, Value) and name in _METHODS:
        return _METHODS[name]
    if isinstance(value, InMemory) and hasattr(language.Tile, name):
        return f"load it first: tl.load({value._element()}).{name}"
    if name in _public():
        return f"write tl.{name}(x)"
    if name in _FUNCTIONS or dtype_hint(name):
        return name_hint(name)
    return nearest_name(name, dir(value))


def argument_hint(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> tuple[str, str | None] | None:
    """What is wrong with the arguments of a function of the language, and a hint.

    None if the function takes them.
    """
    try:
        signature = inspect.signature(function)
        signature.bind(*args, **kwargs)
    except ValueError:
        return None
    except TypeError as error:
        owner = "x" if isinstance(function, MethodType) else "tl"
        what = f"{owner}.{function.__name__}"
        names = [*signature.parameters]
        for name in kwargs:
            if name not in names:
                return f"{what} has no argument '{name}'", _argument(name, names)
        return f"{what}: {error}", f"it takes {what}{_without_types(signature)}"
    return None


def _argument(name: str, known: list[str]) -> str:
    hint = _ARGUMENTS.get(name)
    if hint in known:
        return f"write {hint}="
    if hint is not None and " " in hint:
        return hint
    return nearest_name(name, known) or f"its arguments are {', '.join(known)}"


def _without_types(signature: inspect.Signature) -> str:
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=empty))


@functools.cache
def _public_names() -> dict[int, str]:
    """The names of the functions of the language, by their identity."""
    return {id(getattr(language, name)): name for name in language.__all__}


def public_name(callee: Any) -> str | None:
    """The name that users write for a function of the language, after ``tl.``."""
    return _public_names().get(id(callee))


def library_of(callee: Any) -> str | None:
    """The library that computes with arrays and has a function, such as numpy."""
    for owner in (callee, type(getattr(callee, "__self__", None)), type(callee)):
        name = getattr(owner, "__module__", None) or ""
        if isinstance(getattr(callee, "__self__", None), ModuleType):
            name = name or callee.__self__.__name__
        if name.partition(".")[0] in _LIBRARIES:
            return str(name.partition(".")[0])
    return None


def library_hint(node: ast.Call) -> str:
    """What to call instead of a function of a library."""
    name = ast.unparse(node.func).rpartition(".")[2]
    hint = _FUNCTIONS.get(name, name)
    if hint in _public():
        return f"write tl.{hint}"
    return hint if name in _FUNCTIONS else "compute with the functions of tl"
