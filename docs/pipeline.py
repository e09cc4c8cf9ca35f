"""Writes docs/pipeline.md: pipeline.md.in with the output of the compiler.

A line of the template such as

    {{sm_90a after tile-plan-pipeline: scf\\.for}}

becomes the IR of the kernel below at that point of the default pipeline. It has the
operations whose first line matches the regular expression, and "..." between them. Long
types get aliases, and long lines are wrapped. ``{{kernel}}`` is the source of the
kernel, ``{{sm_90a ptx: ...}}`` becomes lines of PTX, and ``{{sm_90a tensor_maps}}``
becomes the tensor maps of the launch manifest.
"""

import functools
import inspect
import json
import re
import textwrap
from pathlib import Path

import tilews
import tilews.language as tl
from tilews import passes

TEMPLATE = Path(__file__).with_name("pipeline.md.in")
NOTE = "<!-- Made from pipeline.md.in by `make docs`; edit that. -->"
WIDTH = 92


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["512, 1024", tl.f16],
    B: tl.Tensor["1024, 512", tl.f16],
    C: tl.Tensor["512, 512", tl.f16],
):
    bx, by = tl.grid(512 // 64, 512 // 64)
    As = tl.alloc_shared((64, 64), tl.f16)
    Bs = tl.alloc_shared((64, 64), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(1024 // 64, num_stages=3):
        tl.copy(A[by * 64, k * 64], As)
        tl.copy(B[k * 64, bx * 64], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[by * 64, bx * 64] = acc.to(tl.f16)


# --- The output of the compiler ----------------------------------------------------


@functools.cache
def forms(chip: str) -> dict[str, str]:
    """The kernel before and after each pass of the default pipeline for NVIDIA.

    A key is such as ``after tile-plan-pipeline``. If a pass runs several times, the
    last run counts.
    """
    module = gemm.build(chip)
    found = {}
    for step in passes.expand(f"tilews-to-nvvm{{chip={chip}}}"):
        flag = step.partition("{")[0]
        found[f"before {flag}"] = str(module)
        passes.run(module, step)
        found[f"after {flag}"] = str(module)
    return found


def alias_types(text: str) -> tuple[list[str], str]:
    """Aliases for the types of shared buffers and of fragments with a layout.

    Returns:
        All definitions, and the text without definitions: together the same IR.
    """
    definitions = re.findall(r"^#\w+ = .*$", text, flags=re.M)
    text = re.sub(r"^#\w+ = .*\n", "", text, flags=re.M)
    nested = r"<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>"
    names: dict[str, str] = {}

    def name(match: re.Match) -> str:
        spelled = match.group()
        if "#gpu.address_space<workgroup>" in spelled:
            kind = "shared"
        elif "#tile.fragment" in spelled:
            kind = "fragment"
        else:
            return spelled
        shape = re.match(r"\w+<(\w+)", spelled).group(1)
        if spelled not in names:
            same = [n for n in names.values() if n.startswith(f"!{kind}_{shape}")]
            suffix = f"_{len(same)}" if same else ""
            names[spelled] = f"!{kind}_{shape}{suffix}"
        return names[spelled]

    text = re.sub(rf"\b(?:memref|tensor){nested}", name, text)
    definitions += [f"{short} = {spelled}" for spelled, short in names.items()]
    return definitions, text


def select(text: str, pattern: str) -> list[str]:
    """The lines of operations that match a pattern, and "..." between them."""
    lines, chosen, end = text.splitlines(), [], 0
    for index, line in enumerate(lines):
        if index < end or not re.search(pattern, line):
            continue
        if chosen and index > end:
            chosen.append(re.match(r"\s*", line).group() + "...")
        end = index + 1
        if line.endswith("{"):
            indent = re.match(r"\s*", line).group()
            while not re.match(rf"{indent}\}}(?!.*\{{$)", lines[end]):
                end += 1
            end += 1
        chosen += lines[index:end]
    if not chosen:
        raise ValueError(f"nothing the compiler prints matches '{pattern}'")
    return chosen


def wrap(line: str) -> list[str]:
    """A line as lines that fit a screen."""
    indent = re.match(r"\s*", line).group()
    wrapped = textwrap.wrap(
        line,
        WIDTH,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapped or [""]


def show_ir(text: str, pattern: str) -> str:
    aliases, text = alias_types(text)
    chosen = textwrap.dedent("\n".join(select(text, pattern))).splitlines()
    shown = set(re.findall(r"[#!]\w+", "\n".join(chosen)))
    used = [alias for alias in aliases if alias.split()[0] in shown]
    lines = [*used, *([""] if used else []), *chosen]
    return fence("mlir", [part for line in lines for part in wrap(line)])


def show_ptx(chip: str, pattern: str) -> str:
    """Lines of the PTX, with registers numbered as they appear."""
    chosen = "\n".join(select(gemm.compile(chip).ptx.expandtabs(4), pattern))
    chosen = re.sub(r"^ +", "", chosen, flags=re.M)
    chosen = re.sub(r"\{(%\w+)(?:, %\w+){4,}, (%\w+)\}", r"{\1, ..., \2}", chosen)
    numbers: dict[str, str] = {}
    counts: dict[str, int] = {}

    def rename(match: re.Match) -> str:
        kind = match.group(1)
        if match.group() not in numbers:
            counts[kind] = counts.get(kind, 0) + 1
            numbers[match.group()] = f"%{kind}{counts[kind]}"
        return numbers[match.group()]

    chosen = re.sub(r"%(rd|r|p)\d+", rename, chosen)
    return fence("text", [part for line in chosen.splitlines() for part in wrap(line)])


def show_tensor_maps(chip: str) -> str:
    maps = gemm.compile(chip).manifest["tensor_maps"]
    return fence("json", [part for one in maps for part in wrap(json.dumps(one))])


def fence(language: str, lines: list[str]) -> str:
    return "\n".join([f"```{language}", *lines, "```"])


# --- The page ---------------------------------------------------------------------


def fill(match: re.Match) -> str:
    """The replacement of ``{{...}}``."""
    request, _, pattern = match.group(1).partition(": ")
    if request == "kernel":
        return fence("python", inspect.getsource(gemm.python).splitlines())
    chip, what = request.split(" ", 1)
    if what == "ptx":
        return show_ptx(chip, pattern)
    if what == "tensor_maps":
        return show_tensor_maps(chip)
    return show_ir(forms(chip)[what], pattern)


def render() -> str:
    """The text of docs/pipeline.md."""
    text = re.sub(r"^\{\{(.*)\}\}$", fill, TEMPLATE.read_text(), flags=re.M)
    return f"{NOTE}\n\n{text}"
