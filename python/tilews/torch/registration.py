"""Operators of torch: their schemas, and what torch has to know of them.

Torch calls an operator in several ways. With tensors it runs the function. With fake
tensors, which have no elements, it runs the *fake*: torch.compile and torch.export
learn the shapes and types of results so, and nothing is compiled. With tensors that
need gradients it keeps what the backward rule asks for.

Operators that change no argument are made by ``torch.library.Library``, whose calls
take less time than those of ``torch.library.custom_op``. Operators that change
arguments are made by the latter, which tells autograd about the changes.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import torch

from ..dispatch import Kernel
from .gradients import GradientRule
from .kernel_signatures import KernelCall

#: Libraries of operators by namespace. Without them, torch forgets the operators.
_LIBRARIES: dict[str, Any] = {}
#: The schema of an operator, its function, and its fake.
_Parts = tuple[str, Callable[..., Any], Callable[..., Any] | None]


@overload
def op(
    name: str,
    function: Callable[..., Any],
    *,
    outputs: Sequence[str] | Mapping[str, Callable[..., Any] | None] = (),
    mutates: Sequence[str] = (),
    constants: Mapping[str, Any] | None = None,
    fake: Callable[..., Any] | str | None = None,
    backward: Callable[..., Mapping[str, Any]] | None = None,
    vmap: Callable[..., Any] | None = None,
) -> Callable[..., Any]: ...


@overload
def op(
    name: str,
    function: None = None,
    *,
    outputs: Sequence[str] | Mapping[str, Callable[..., Any] | None] = (),
    mutates: Sequence[str] = (),
    constants: Mapping[str, Any] | None = None,
    fake: Callable[..., Any] | str | None = None,
    backward: Callable[..., Mapping[str, Any]] | None = None,
    vmap: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...


def op(
    name: str,
    function: Callable[..., Any] | None = None,
    *,
    outputs: Sequence[str] | Mapping[str, Callable[..., Any] | None] = (),
    mutates: Sequence[str] = (),
    constants: Mapping[str, Any] | None = None,
    fake: Callable[..., Any] | str | None = None,
    backward: Callable[..., Mapping[str, Any]] | None = None,
    vmap: Callable[..., Any] | None = None,
) -> Any:
    """Makes an operator of torch; as a decorator without `function`.

    Args:
        name: the operator's name with its namespace, such as ``"mylib::scale"``.
        function: a kernel, or a Python function that launches kernels and has the
            annotations that ``torch.library.infer_schema`` reads. It returns new
            tensors or None.
        outputs: of a kernel, the parameters that the operator allocates and returns.
            Their extents and types are those that their annotations share with
            arguments. In a dictionary, a function of the operator's arguments makes an
            empty tensor, ``{"Y": lambda x: x.new_empty(8)}``, and None stands for none.
        mutates: the parameters whose tensors change.
        constants: of a kernel, values of parameters that are no arguments of the
            operator, and options of the call such as ``threads``.
        fake: of a function, the name of an argument with the shape and type of the
            result, which is row-major; or a function of the operator's arguments that
            makes empty tensors like the results.
        backward: takes the gradient of the result, or a tuple of them. By the names of
            its further parameters it gets arguments of the operator, and the
            ``result``. It returns the gradients by the names of arguments. It calls
            functions of torch and operators, no kernels.
        vmap: as for ``torch.library.register_vmap``.

    Returns:
        The operator, which is ``torch.ops.mylib.scale.default``, too.

    Raises:
        TypeError: a parameter cannot be one of an operator, or an argument does not
            fit the kind of `function`.
        ValueError: a name is wrong, or the operator exists.

    Example:
        @tilews.kernel
        def add(
            X: tl.Tensor["N", "T"], Y: tl.Tensor["N", "T"], Z: tl.Tensor["N", "T"]
        ):
            i = tl.grid(tl.cdiv(X.shape[0], 256)) * 256
            Z[i] = tl.load(X[i], (256,)) + tl.load(Y[i], (256,))

        plus = tilews.torch.op(
            "mylib::add", add, outputs=["Z"], backward=lambda grad: dict(X=grad, Y=grad)
        )
        z = torch.compile(lambda x: plus(x, x), fullgraph=True)(torch.ones(1000))
        assert (z == 2).all()
    """
    if function is None:
        return functools.partial(
            op,
            name,
            outputs=outputs,
            mutates=mutates,
            constants=constants,
            fake=fake,
            backward=backward,
            vmap=vmap,
        )
    namespace, short = _split(name)
    if isinstance(function, Kernel):
        if fake is not None:
            raise TypeError(
                f"{name}: fake= is for functions, found a kernel; give outputs="
            )
        call = KernelCall(name, function, outputs, tuple(mutates), constants or {})
        parts: _Parts = call.schema, call.run, call.make_fake
    else:
        if outputs or constants:
            raise TypeError(
                f"{name}: outputs= and constants= are for kernels, found "
                f"{function!r:.80}; a function has fake="
            )
        parts = _read_function(name, function, tuple(mutates), fake)
    return _register(namespace, short, parts, bool(mutates), backward, vmap)


def _split(name: str) -> tuple[str, str]:
    """The namespace and the name of an operator.

    Raises:
        ValueError: the name is wrong, or there is such an operator.
    """
    parts = name.split("::") if isinstance(name, str) else []
    if len(parts) != 2 or not all(part.isidentifier() for part in parts):
        raise ValueError(
            f"expected the name of an operator such as 'mylib::scale', found {name!r}"
        )
    namespace, short = parts
    if hasattr(getattr(torch.ops, namespace), short):
        raise ValueError(f"the operator {name} exists already: choose another name")
    return namespace, short


def _read_function(
    name: str,
    function: Callable[..., Any],
    mutates: tuple[str, ...],
    fake: Callable[..., Any] | str | None,
) -> _Parts:
    """The schema of a Python function, the function, and its fake.

    Raises:
        TypeError: it has no fake, or one of its parameters is of another kind.
        ValueError: `mutates` or `fake` names no parameter.
    """
    hints = typing.get_type_hints(function)
    signature = inspect.signature(function)
    parameters = []
    for each in signature.parameters.values():
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            raise TypeError(f"{name}: an operator cannot take *{each.name}")
        annotation = hints.get(each.name, each.empty)
        # Arguments by keyword cannot be tensors; those by place have names, too.
        kind = each.POSITIONAL_OR_KEYWORD
        parameters.append(each.replace(annotation=annotation, kind=kind))
    names = [each.name for each in parameters]
    for given in (*mutates, *([fake] if isinstance(fake, str) else [])):
        if given not in names:
            raise ValueError(
                f"{name}: expected a name of {', '.join(names)}, found {given!r}"
            )
    # In a schema, all that have no default come first.
    parameters.sort(key=lambda each: each.default is not each.empty)

    def prototype() -> None:
        raise NotImplementedError

    result = hints.get("return", signature.empty)
    prototype.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=None if result is type(None) else result
    )
    schema = torch.library.infer_schema(prototype, mutates_args=mutates)
    order = [each.name for each in parameters]
    run = function if order == names and not _has_keywords(signature) else None
    if run is None:

        def run(*args: Any) -> Any:
            return function(**dict(zip(order, args, strict=False)))

    if isinstance(fake, str):
        like = order.index(fake)
        return schema, run, lambda *args: args[like].new_empty(args[like].shape)
    if fake is None and result not in (None, type(None)):
        raise TypeError(
            f"{name}: torch.compile asks for the shapes of results; give fake=, a "
            "function that makes empty tensors, or the name of a like argument"
        )
    return schema, run, fake


def _has_keywords(signature: inspect.Signature) -> bool:
    return any(each.kind == each.KEYWORD_ONLY for each in signature.parameters.values())


def _register(
    namespace: str,
    name: str,
    parts: _Parts,
    is_changing: bool,
    backward: Callable[..., Any] | None,
    vmap: Callable[..., Any] | None,
) -> Any:
    """Registers an operator, and returns it."""
    schema, run, fake = parts
    full = f"{namespace}::{name}"
    rule = GradientRule(full, schema, backward)
    if is_changing:
        if backward is not None:
            raise TypeError(
                f"{full}: an operator that changes arguments has no backward=; return "
                "a new tensor instead"
            )
        made = torch.library.custom_op(
            full, run, mutates_args=rule.changed, schema=schema
        )
        if fake is not None:
            made.register_fake(fake)
    else:
        if namespace not in _LIBRARIES:
            _LIBRARIES[namespace] = torch.library.Library(namespace, "FRAGMENT")
        library = _LIBRARIES[namespace]
        library.define(name + schema, tags=(torch.Tag.pt2_compliant_tag,))
        library.impl(name, _checked(full, run), "CompositeExplicitAutograd")
        torch.library.register_fake(full, fake, lib=library)
        torch.library.register_autograd(
            full, rule.backward, setup_context=rule.keep, lib=library
        )
    if vmap is not None:
        torch.library.register_vmap(full, vmap)
    return getattr(getattr(torch.ops, namespace), name).default


def _checked(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which may not return an argument: torch takes results as new."""

    @functools.wraps(run)
    def call(*args: Any) -> Any:
        result = run(*args)
        for each in result if isinstance(result, (tuple, list)) else (result,):
            if any(each is arg for arg in args):
                raise RuntimeError(
                    f"{name}: expected new tensors as results, found an argument; "
                    "return its clone(), or name it in mutates="
                )
        return result

    return call
