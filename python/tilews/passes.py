"""The passes and pipelines as functions that change a live module.

Each pass of ``docs/passes.md`` is a function here, named like its flag without
``tile-``; its options are keyword arguments::

    module = gemm.build("sm_90a")
    passes.annotate_instructions(module)
    passes.plan_pipeline(module)
    passes.infer_layouts(module, explain=True)

``help(passes.plan_pipeline)`` describes a pass, with IR before and after. Every
function returns the warnings and remarks as a list of str. If a pass fails, the
function raises :class:`~tilews.errors.CompileError` and leaves the module unchanged:
operations that were found in it can still be used. If no pass fails, the operations of
the module are new: look for them again. Older ones raise RuntimeError.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from typing import Any

from . import _observers, _tilews, ir
from .errors import CompileError
from .pass_list import Pass, read_passes
from .passmanager import PassManager
from .pipeline_text import flag_of, inside, split

Messages = list[str]

_PASSES = {one.name: one for one in read_passes()}
_PIPELINES = frozenset(one.flag for one in _PASSES.values() if one.is_pipeline)


# --- Running -------------------------------------------------------------------


def run(module: ir.Module, pipeline: str) -> Messages:
    """Runs passes in the order and notation of ``tilews-opt --pass-pipeline``.

    Args:
        module: the module; it is changed in place.
        pipeline: passes and pipelines of tilews and of upstream MLIR, such as
            ``"tile-infer-layouts{explain=true},canonicalize"``. A pass that is not
            nested in ``gpu.module(...)`` runs on each ``gpu.module``; a pipeline runs
            on the whole module. A text that starts with ``builtin.module(`` is used
            unchanged.

    Returns:
        Warnings and remarks, such as ``gemm.py:12:9: remark: tile-...``.

    Raises:
        CompileError: the text cannot be parsed, has an unknown pass or option, or a
            pass failed. The module is then unchanged.
        TypeError: `module` is no module.
        ValueError: an operation that is not in the module uses a value of it.
    """
    if not isinstance(module, ir.Module):
        raise TypeError(f"module: expected an ir.Module, found {module!r:.80}")
    with module.context:
        manager = _parse(pipeline)
        # A failing pass can leave its module half changed.
        copy = module.operation.clone(ip=False).operation
        messages = _tilews._run_passes(manager, copy)
        module.operation._replace_nested(_tilews._replace_module, module, copy)
    _observers.report(messages)
    return messages


def expand(pipeline: str) -> list[str]:
    """The single passes that :func:`run` runs for a text, with their options.

    A custom pipeline can start from ``expand("tilews-to-nvvm{chip=sm_90a}")``.

    Raises:
        CompileError: the text cannot be parsed, or has an unknown pass or option.
    """
    with ir.Context():
        manager = _parse(pipeline)
    found = []
    for element in split(inside(str(manager))):
        is_nest = element.startswith("gpu.module(")
        found += split(inside(element)) if is_nest else [element]
    return found


def _parse(pipeline: str) -> PassManager:
    text = pipeline.strip()
    if not text.startswith("builtin.module("):
        text = f"builtin.module({','.join(map(_nest, split(text)))})"
    try:
        return PassManager.parse(text)
    except ValueError as error:
        raise CompileError(_explain(pipeline, str(error))) from None


def _nest(element: str) -> str:
    """Nests a pass in ``gpu.module``; pipelines and nested elements stay."""
    flag = flag_of(element)
    is_nested = element.startswith(f"{flag}(")
    return element if is_nested or flag in _PIPELINES else f"gpu.module({element})"


def _explain(pipeline: str, error: str) -> str:
    """One message for a pipeline that cannot be parsed."""
    flags = [one.flag for one in _PASSES.values()]
    unknown = re.search(
        r"'([^']*)' does not refer to a registered pass or pass pipeline", error
    )
    if unknown:
        near = difflib.get_close_matches(unknown.group(1), flags, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return f"unknown pass '{unknown.group(1)}' in '{pipeline}'{hint}"
    # The user did not write the nesting, so notes on it do not help.
    lines = [line for line in error.splitlines() if "add `gpu.module`" not in line]
    reason = "\n".join(line for line in lines if line.strip())
    return f"cannot parse the passes '{pipeline}': {reason}"


# --- The functions ---------------------------------------------------------------


def _to_text(flag: str, value: Any) -> str:
    """An option with its value as pipelines have it.

    Raises:
        CompileError: pipelines cannot hold the value.
    """
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if re.search(r"[{}'\"]", text):
        raise CompileError(
            f"option '{flag}': expected a value without quotes and braces, found {text}"
        )
    return f'{flag}="{text}"' if re.search(r"[\s,=()]", text) else f"{flag}={text}"


def _make_function(one: Pass) -> Callable[..., Messages]:
    """The function of a pass."""
    flags = {flag.replace("-", "_"): flag for flag in one.options}

    def function(module: ir.Module, **options: Any) -> Messages:
        for name in options.keys() - flags.keys():
            expected = (
                f"its options are: {', '.join(flags)}" if flags else "it has none"
            )
            raise CompileError(f"{one.flag} has no option '{name}'; {expected}")
        values = [
            _to_text(flags[name], value)
            for name, value in options.items()
            if value is not None
        ]
        return run(module, f"{one.flag}{{{' '.join(values)}}}")

    function.__name__ = function.__qualname__ = one.name
    function.__doc__ = _docstring(one, flags)
    signature = inspect.Signature(
        [
            inspect.Parameter(
                "module", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=ir.Module
            ),
            *(
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
                for name in flags
            ),
        ],
        return_annotation=Messages,
    )
    # The attribute that `inspect.signature` reads; typeshed does not declare it.
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def _docstring(one: Pass, flags: dict[str, str]) -> str:
    parts = [f"{one.summary[0].upper()}{one.summary[1:]} (``--{one.flag}``)."]
    if one.description:
        parts.append(one.description)
    arguments = ["Args:", "    module: is changed."]
    arguments += [f"    {name}: {one.options[flag]}." for name, flag in flags.items()]
    parts.append("\n".join(arguments))
    parts.append("Returns:\n    Warnings and remarks.")
    parts.append(
        "Raises:\n    CompileError: the pass failed, or an option is none of its "
        "options or has\n        a value it cannot have. The module is as it was."
    )
    return "\n\n".join(parts)


for _one in _PASSES.values():
    globals()[_one.name] = _make_function(_one)

__all__ = ["expand", "run", *_PASSES]


def __getattr__(name: str) -> Any:
    near = difflib.get_close_matches(name, __all__, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else ""
    raise AttributeError(f"tilews has no pass '{name}'{hint}")
