"""Writes docs/reference.md and docs/reference/*.md: the names of a kernel's source.

These are the names of tilews.language, and those of tilews that make kernels.

The text is that of the docstrings, in the form that the package uses: a summary,
paragraphs, and the sections Args, Returns, Raises, Attributes and Example. The tests
run the examples.
"""

import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

import tilews.dispatch
import tilews.language as tl

NOTE = "<!-- Generated from docstrings of python/tilews by `make docs`. -->"
WIDTH = 88
#: What sections of docstrings are called on a page.
TITLES = {"Args": "Arguments"}
#: Methods of values that the package itself calls.
INTERNAL = {"dtype_name", "packing", "refuse", "to_ir", "to_memory"}
_SECTION = re.compile(r"^(Args|Returns|Raises|Attributes|Example):$")

#: Each page: its title, its introduction, and the names on it; without a dot, those of
#: tilews.language.
TOPICS = {
    "kernels": (
        "Kernels",
        "What makes a kernel of a function, compiles it and calls it. "
        "[launch.md](../launch.md) has compiled kernels and launches.",
        "tilews.kernel tilews.func tilews.dispatch.Kernel",
    ),
    "types": (
        "Element types and parameters",
        "Element types, and the annotations of the parameters of a kernel. "
        "[language.md](../language.md#parameters) lists the forms of parameters.",
        "DType Tensor constexpr tilews.pack_elements tilews.unpack_elements",
    ),
    "values": (
        "Values",
        "What the variables of a kernel hold. [language.md](../language.md#values) "
        "explains the difference between fragments and buffers.",
        "Scalar Tile Buffer BufferRegion Cursor",
    ),
    "memory": (
        "Memory",
        "Buffers in shared memory, and data that moves between memory and fragments.",
        "alloc_shared copy load store view may_alias with_layout",
    ),
    "shapes": (
        "Fragments and shapes",
        "Functions that make fragments, and that change or join their shapes.",
        "zeros full arange iota reshape transpose permute expand_dims broadcast_to "
        "flip stack cat join split",
    ),
    "elementwise": (
        "Choices, rounding and classes of numbers",
        "Elementwise functions. Operands are fragments, scalars or Python numbers, and "
        "broadcast as in numpy.",
        "where maximum minimum fmax fmin clamp abs floor ceil trunc "
        "round fma cdiv isnan isinf isfinite asm",
    ),
    "math": (
        "Mathematical functions",
        "Elementwise functions of floating point. "
        "[numerics.md](../numerics.md#elementwise-arithmetic) says how they round.",
        "exp exp2 expm1 log log2 log10 log1p pow sqrt rsqrt sin cos tan tanh erf "
        "sigmoid",
    ),
    "integers": (
        "Integers and their bits",
        "Elementwise functions of integers. Those whose names begin with u take the "
        "operands as unsigned, whatever their type.",
        "udiv umod ushr mulhi umulhi popcount clz ctz byte_perm",
    ),
    "reductions": (
        "Reductions",
        "Functions that combine the elements along an axis of a fragment. "
        "[numerics.md](../numerics.md#order-and-determinism) has the "
        "order of sums.",
        "reduce sum max min absmax absmin reduce_and reduce_or reduce_xor any all",
    ),
    "scans": (
        "Scans and order",
        "Running results along an axis, places of extreme elements, sorting, counting.",
        "scan cumsum cummax cummin argmax argmin sort argsort topk histogram",
    ),
    "matmul": (
        "Matrix multiplication",
        "[targets.md](../targets.md) lists the matrix instructions of each chip.",
        "gemm gemm_sp",
    ),
    "control": (
        "The grid, loops and checks",
        "The blocks of a launch, loops over iterations and tiles, and output.",
        "grid block_id num_blocks rasterize use_swizzle range static_range pipelined "
        "persistent print device_assert",
    ),
    "atomics": (
        "Atomic accesses and fences",
        "[numerics.md](../numerics.md#memory-order) explains orders and scopes.",
        "atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor "
        "atomic_exchange atomic_cas atomic_load atomic_store fence",
    ),
    "roles": (
        "Roles and channels",
        "Schedules that the kernel itself writes. "
        "[language.md](../language.md#roles-and-channels) has the rules.",
        "specialize role role_registers channel Channel slot",
    ),
    "random": (
        "Random numbers",
        "Numbers that depend on a seed and an integer only. The functions take numpy "
        "arrays, too, outside of kernels.",
        "rand randn randint philox",
    ),
}

EXAMPLES = """\
In an example with `>>>`, the lines stand in a kernel. Below an expression is what
`tl.print` shows for it. Other examples are programs, with these lines before them:

```python
import numpy as np
import tilews
import tilews.language as tl
```

All examples run in the [interpreter](interpreter.md), because their arrays are numpy
arrays. A `LanguageError` becomes a `tilews.KernelError` with the line of the kernel."""


def language() -> dict[str, Any]:
    """The names of the language, of which some are loaded when they are asked for."""
    return {name: getattr(tl, name) for name in dict.fromkeys([*vars(tl), *dir(tl)])}


def public_names() -> list[str]:
    """The names of the language: all that are neither private nor modules."""
    return sorted(
        name
        for name, item in language().items()
        if not name.startswith("_") and not inspect.ismodule(item)
    )


def find(name: str) -> Any:
    """What a name of :data:`TOPICS` stands for."""
    item = tilews if "." in name else tl
    for part in name.removeprefix("tilews.").split("."):
        item = getattr(item, part)
    return item


def full(name: str) -> str:
    """A name as the source of a kernel has it."""
    return name if "." in name else f"tl.{name}"


def home(name: str) -> str:
    """The page of a name, without its ending.

    Raises:
        ValueError: no topic has it; then :data:`TOPICS` needs it.
    """
    if isinstance(find(name), tl.DType):
        return "types"
    for page, (_, _, names) in TOPICS.items():
        if name in names.split():
            return page
    raise ValueError(f"no page of the reference has tl.{name}: see docs/reference.py")


def sections(item: Any) -> dict[str, str]:
    """The parts of a docstring: its text under "", and its sections by name."""
    found: dict[str, list[str]] = {"": []}
    name = ""
    for line in (inspect.getdoc(item) or "").splitlines():
        head = _SECTION.match(line)
        if head:
            name = head[1]
            found[name] = []
        else:
            # A line without indentation ends a section.
            name = "" if line and not line.startswith(" ") else name
            found[name].append(line)
    parts = {key: "\n".join(lines).strip("\n") for key, lines in found.items()}
    return {key: textwrap.dedent(text) for key, text in parts.items()}


def entries(section: str) -> list[tuple[str, str]]:
    """The names of a section such as Args, each with its text."""
    found: list[tuple[str, list[str]]] = []
    for line in section.splitlines():
        start = re.match(r"(\*?\w[\w, *]*): (.*)", line)
        if start:
            found.append((start[1], [start[2]]))
        elif found:
            found[-1][1].append(line.removeprefix("    "))
    return [(name, "\n".join(lines).strip()) for name, lines in found]


# --- Markdown ---------------------------------------------------------------------


def markdown(text: str, up: str = "") -> str:
    """Text of a docstring as Markdown: spans, roles and blocks of code.

    Args:
        text: the text.
        up: the path from the page to the pages of the reference.
    """

    def role(match: re.Match[str]) -> str:
        kind, name = match.groups()
        short = name.removeprefix("tl.")
        found = language().get(short)
        if kind in ("func", "class", "data") and found and not inspect.ismodule(found):
            return f"[`tl.{short}`]({up}{home(short)}.md#{anchor(short)})"
        return f"`{name}`"

    lines, block = [], False
    for line in text.splitlines():
        if block and line and not line.startswith("    "):
            lines.append("```\n")
            block = False
        lines.append(line[4:] if block else line)
        if line.endswith("::"):
            lines[-1] = line[:-1]
            lines += ["", "```python"]
            block = True
    text = "\n".join([*lines, "```"] if block else lines)
    text = text.replace("```python\n\n", "```python\n")
    text = re.sub(r":(\w+):`([\w.]+)`", role, text)
    return re.sub(r"(?<!`)``(?!`)(.+?)(?<!`)``(?!`)", r"`\1`", text, flags=re.S)


def anchor(name: str) -> str:
    """The anchor of the heading of a name."""
    if isinstance(find(name), tl.DType):
        name = "DType"
    return full(name).replace(".", "").lower()


def signature(name: str, item: Any) -> str:
    """A call of the item, with the types of parameters that say something."""
    found = inspect.signature(item)
    parameters = list(parameter_texts(found.parameters.values()))
    returns = found.return_annotation
    tail = "" if returns in ("Any", "None", None) else f" -> {returns}"
    text = f"{full(name)}({', '.join(parameters)}){tail}"
    if len(text) <= WIDTH:
        return text
    lines = (f"    {parameter}," for parameter in parameters)
    return "\n".join([f"{full(name)}(", *lines, f"){tail}"])


def parameter_texts(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    """Parameters as they are written, with annotations as the source has them."""
    starred = False
    for one in parameters:
        is_rest = one.kind is one.VAR_POSITIONAL
        if one.kind is one.KEYWORD_ONLY and not starred:
            yield "*"
        starred |= is_rest or one.kind is one.KEYWORD_ONLY
        stars = "**" if one.kind is one.VAR_KEYWORD else "*" * is_rest
        text = f"{stars}{one.name}"
        typed = one.annotation not in ("Any", one.empty) and not stars
        if typed:
            text += f": {one.annotation}"
        if one.default is not one.empty:
            text += f" = {one.default!r}" if typed else f"={one.default!r}"
        yield text


def fence(text: str) -> str:
    return f"```python\n{text}\n```"


def bullet(name: str, text: str) -> str:
    return textwrap.indent(f"`{name}`: {text}", "  ").replace("  ", "* ", 1)


def describe(name: str) -> Iterator[str]:
    """The entry of a name, in parts."""
    item = find(name)
    yield f"## {full(name)}"
    if name == "Tensor" or not inspect.isclass(item):
        yield fence(signature(name, item))
    parts = sections(item)
    yield markdown(parts.pop(""))
    for title in ("Args", "Attributes"):
        if title in parts:
            lines = [bullet(*entry) for entry in entries(markdown(parts[title]))]
            yield "\n".join([f"**{TITLES.get(title, title)}**\n", *lines])
    if "Returns" in parts:
        yield f"**Returns** {markdown(parts['Returns'])}"
    if "Raises" in parts:
        lines = [bullet(*entry) for entry in entries(markdown(parts["Raises"]))]
        yield "\n".join(["**Raises**\n", *lines])
    if inspect.isclass(item):
        yield from describe_members(item)
    if item is tl.DType:
        yield table_of_types()
    if "Example" in parts:
        yield f"**Example**\n\n{fence(parts['Example'])}"


def members(cls: type) -> dict[str, Any]:
    """The public methods and properties of a class of the language."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        # Operations on elements refuse a cursor.
        inherits = cls is not tl.Cursor or base is cls
        if not base.__module__.startswith("tilews.") or not inherits:
            continue
        for name, item in vars(base).items():
            is_member = inspect.isfunction(item) or isinstance(item, property)
            is_public = not name.startswith("_") and name not in INTERNAL
            if name == "_call_anew":  # What C++ does not do of a call.
                name = "__call__"
            is_public |= name == "__call__"
            if is_member and is_public and inspect.getdoc(item):
                found[name] = item
    return found


def describe_members(cls: type) -> Iterator[str]:
    lines = []
    for name, item in members(cls).items():
        is_method = inspect.isfunction(item)
        call = name
        if is_method:
            _, *parameters = inspect.signature(item).parameters.values()
            own = "" if name == "__call__" else name
            call = f"{own}({', '.join(parameter_texts(parameters))})"
        parts = sections(item)
        text = markdown(parts.pop(""))
        for title, section in parts.items():
            listed = [bullet(*entry) for entry in entries(markdown(section))]
            what = "\n".join(listed) or markdown(section)
            text += f"\n\n{TITLES.get(title, title)}:\n\n{what}"
        lines.append(bullet(call, text))
    if lines:
        yield "\n".join(["**Methods and properties**\n", *lines])


def table_of_types() -> str:
    rows = ["| name | bits | array | MLIR |", "|---|---|---|---|"]
    for name, item in language().items():
        if isinstance(item, tl.DType):
            array = f"{item.numpy.type.__module__}.{item.numpy.name}"
            rows.append(f"| `tl.{name}` | {item.bits} | `{array}` | `{item.mlir}` |")
    return "\n".join(rows)


# --- The pages --------------------------------------------------------------------


def summary(name: str) -> str:
    """The first sentence of a docstring, for the table of all names."""
    if isinstance(find(name), tl.DType):
        return "An element type."
    text = sections(find(name))[""].partition("\n\n")[0]
    return re.split(r"(?<=\w[.:;])\s", " ".join(text.split()))[0].rstrip(":;") or ""


def render() -> dict[str, str]:
    """The text of each page, by its path in docs."""
    known = {name for _, _, names in TOPICS.values() for name in names.split()}
    pages = {}
    index = ["# Reference of the language", EXAMPLES]
    for page, (title, introduction, names) in TOPICS.items():
        text = [NOTE, f"# {title}", introduction]
        rows = ["| name | |", "|---|---|"]
        for name in names.split():
            text += describe(name)
        listed = [name for name in public_names() if home(name) == page]
        listed += [name for name in names.split() if "." in name]
        for name in sorted(listed, key=str.lower):
            link = f"[`{full(name)}`](reference/{page}.md#{anchor(name)})"
            rows.append(f"| {link} | {markdown(summary(name), 'reference/')} |")
        pages[f"reference/{page}.md"] = clean(text)
        index += [f"## {title}", "\n".join(rows)]
    missing = {name for name in known if "." not in name} - {*public_names()}
    if missing:
        raise ValueError(f"tilews.language has no {', '.join(sorted(missing))}")
    pages["reference.md"] = clean([NOTE, *index])
    return pages


def clean(parts: list[str]) -> str:
    text = "\n\n".join(parts)
    text = re.sub(r"[ \t]+$", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text) + "\n"
