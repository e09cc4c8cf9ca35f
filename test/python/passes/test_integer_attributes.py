"""Each integer that a user can write into the IR has bounds, or works with any value.

Integers of the dialect's attributes and types, in kernels of all phases, become numbers
at the ends of their types. The tools may refuse the result with an error. They must
neither crash nor take long.
"""

import functools
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tilews.compiler import compile_file

ROOT = Path(__file__).parents[3]
OPT = Path(os.environ["TILEWS_BUILD_DIR"]) / "bin" / "tilews-opt"
NUMBERS = [0, -1, 65, 1 << 19, 2**31 - 1, 2**63 - 1]
#: Seconds; each run takes a fraction of one.
TIMEOUT = 60

#: `stage = 1 : i32`, `array<i64: 4, 8>`, `!tile.channel<4>`, `warps(8)`.
_PLACES = re.compile(
    r"(?:[\w.]+ = )(\d+) : i(?:32|64)"
    r"|array<i(?:32|64): ([\d, ]+)>"
    r"|(?:pending|warps|depth|registers|arrivals|bytes|panel|math|load) ?= ?(\d+)"
    r"|!tile\.\w+<(\d+)>|warps\((\d+)\)"
)
PLAN = """
gpu.module @m [#nvvm.target<chip = "{chip}">] {{
  gpu.func @k(%a: memref<?x64xf16>, %c: memref<?x64xf16>)
      kernel attributes {{tile.threads = 128 : i32}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = arith.constant 8 : index
    %s = tile.alloc_shared : memref<1x64xf16, #gpu.address_space<workgroup>>
    scf.for %i = %c0 to %n step %c1 {{
      tile.copy %a[%i, 0] to %s {{tile.stage = 0 : i32, tile.order = 0 : i32}}
        : memref<?x64xf16> to memref<1x64xf16, #gpu.address_space<workgroup>>
      %x = tile.load %s {{tile.stage = 1 : i32, tile.order = 1 : i32}}
        : memref<1x64xf16, #gpu.address_space<workgroup>> -> tensor<1x64xf16>
      tile.store %x to %c[%i, 0] {{tile.stage = 1 : i32, tile.order = 2 : i32}}
        : tensor<1x64xf16> to memref<?x64xf16>
    }} {{tile.num_stages = {stages} : i32}}
    gpu.return
  }}
}}
"""


@functools.cache
def kernels() -> dict[str, tuple[str, str]]:
    """Texts and the passes that they are given to, by name."""
    operations = ROOT / "test/lit/Dialect/Tile/bytecode-operations.mlir"
    found = {"operations": (operations.read_text(), "--canonicalize")}
    for chip in ("sm_80", "sm_90a"):
        flags = f"--tilews-to-nvvm=chip={chip}"
        found[f"plan-{chip}"] = PLAN.format(chip=chip, stages=3), flags
        # Only the verifier bounds the stages of operations here.
        found[f"deep-{chip}"] = PLAN.format(chip=chip, stages=2**31 - 1), flags
        gemm = compile_file(ROOT / "examples" / "gemm.mlir", chip)
        found[f"planned-{chip}"] = gemm.mlir("planned"), flags
        for phase in ("laid_out", "barriers"):
            text = gemm.mlir(phase)
            found[f"{phase}-{chip}"] = text, "--tilews-laid-out-to-nvvm"
    return found


def replacements(text: str) -> Iterator[tuple[str, str]]:
    """Texts with one integer replaced, each kind of place once."""
    seen = set()
    for match in _PLACES.finditer(text):
        for group, digits in enumerate(match.groups()):
            if digits is None:
                continue
            kind = re.sub(r"\d+", "N", match[0])
            if kind in seen:
                continue
            seen.add(kind)
            start, first = match.start(group + 1), digits.split(",")[0]
            for number in NUMBERS:
                changed = text[:start] + str(number) + text[start + len(first) :]
                yield f"{kind}: {number}", changed


NAMES = ["operations"]
NAMES += [
    f"{phase}-{chip}"
    for chip in ("sm_80", "sm_90a")
    for phase in ("plan", "deep", "planned", "laid_out", "barriers")
]


@pytest.mark.parametrize("name", NAMES)
def test_every_integer(name):
    text, flags = kernels()[name]
    count = 0
    for what, changed in replacements(text):
        command = [OPT, "-", "-o", os.devnull, "--mlir-print-op-on-diagnostic=false"]
        done = subprocess.run(
            [*command, flags],
            input=changed,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        assert done.returncode in (0, 1), f"{what}\n{done.stderr[-2000:]}"
        assert done.returncode == 0 or "error:" in done.stderr, what
        count += 1
    assert count >= 4 * len(NUMBERS)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942"])
@pytest.mark.parametrize("stage", [65, 1 << 19, 2**31 - 1])
@pytest.mark.parametrize("stages", [3, 2**31 - 1])
def test_a_stage_has_a_limit(chip, stage, stages):
    vendor = "nvvm" if chip.startswith("sm_") else "rocdl"
    text = PLAN.format(chip=chip, stages=stages)
    text = text.replace("tile.stage = 1", f"tile.stage = {stage}")
    if vendor == "rocdl":
        text = text.replace("#nvvm.target", "#rocdl.target")
    command = [OPT, "-", "-o", os.devnull, "--mlir-print-op-on-diagnostic=false"]
    done = subprocess.run(
        [*command, f"--tilews-to-{vendor}=chip={chip}"],
        input=text,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 1
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    assert len(errors) == 1
    assert f"'tile.stage' expects at most 64, found {stage}" in errors[0]
