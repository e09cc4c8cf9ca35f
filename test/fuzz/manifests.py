"""Feeds mutated launch manifests to the launcher.

A manifest is refused with a LaunchError that names the key, or its kernel is launched
on a driver that only records. Nothing else may happen. Inputs are made from a number.
With a state, a run that is interrupted goes on where it was:

    python test/fuzz/manifests.py --count 1000000 --state build/manifests.json
    python test/fuzz/manifests.py --first 4711 --count 1 --show
"""

import argparse
import contextlib
import copy
import ctypes
import json
import math
import os
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("TILEWS_BUILD_DIR", ROOT / "build/dev"))
sys.path.insert(0, str(BUILD / "python_packages"))

from tilews import runtime  # noqa: E402 (found by the path above)
from tilews.fuzz import apart  # noqa: E402
from tilews.fuzz.long_run import LongRun  # noqa: E402
from tilews.runtime import LaunchError  # noqa: E402
from tilews.runtime.launch import Launcher  # noqa: E402

SEEDS = [
    path.read_text()
    for path in sorted((Path(__file__).parent / "manifests").glob("*.json"))
]

#: Manifests that are done together, and the seconds for them, on a busy machine too.
TOGETHER = 100
TIMEOUT = 120.0
#: How often a process does so, and its memory beyond what it has at the start.
LIFETIME = 1000
MEMORY = 2 << 30

#: Values that take the place of others, or are inserted.
VALUES = (
    *(None, True, False, 0, 1, -1, 2, 3, 128, 2**31, 2**63, -(2**63), 2**64, 10**5000),
    *(
        1.0,
        1.5,
        float("nan"),
        float("inf"),
        "",
        "x",
        "f32",
        "i4",
        "i64",
        "\0",
        "buffer",
    ),
    *(
        [],
        {},
        [1, 1, 1],
        [[0, 1]],
        {"scalar": 0},
        {"extent": [0, 9]},
        {"kind": "scalar"},
    ),
    {"op": "floordiv", "args": [1, 0]},
    {"op": "mul", "args": [{"stride": [0, 0]}, -1]},
)


class ImaginaryArray:
    """An array on an imaginary GPU, as a buffer of a manifest wants it."""

    def __init__(self, argument: dict[str, Any], number: int) -> None:
        names = {"M": 128, "N": 64, "K": 64}
        self.shape = tuple(
            extent if isinstance(extent, int) else names.get(extent, 64)
            for extent in argument["shape"]
        )
        bits = runtime.arrays.element_bits(argument["dtype"]) or 8
        kind = "f" if argument["dtype"] in ("f16", "f32", "f64") else "i"
        self.__cuda_array_interface__ = {
            "shape": self.shape,
            "typestr": f"<{kind}{bits // 8}",
            "data": ((number + 1) << 40, False),
            "strides": None,
            "version": 3,
        }


def mutate(number: int) -> Any:
    """The manifest of a number: a seed with some edits."""
    rng = random.Random(number)
    holder = [json.loads(rng.choice(SEEDS))]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        # An edit is left out if its manifest has become too deep for it.
        with contextlib.suppress(RecursionError):
            _edit(holder, rng)
    return holder[0]


def _edit(root: list[Any], rng: random.Random) -> None:
    places = _places(root)
    # The whole manifest is one place of hundreds.
    holder, key = rng.choice(places)
    kind = rng.randrange(7)
    if kind == 0 and holder is not root:
        del holder[key]
    elif kind == 1:
        holder[key] = copy.deepcopy(rng.choice(VALUES))
    elif kind == 2 and type(holder[key]) is int:
        holder[key] += rng.choice((-1, 1, 2, -(2**31), 2**31, 2**62))
    elif kind == 3 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(rng.choice((*VALUES, holder[key]))))
    elif kind == 4 and isinstance(holder, dict):
        holder[rng.choice(("x", "dtype", "op", "scalar", "extent"))] = holder.pop(key)
    elif kind == 5:
        other, name = rng.choice(places)
        holder[key] = copy.deepcopy(other[name])
    elif kind == 6:
        for _ in range(rng.choice((1, 50, 150))):
            holder[key] = {"op": "add", "args": [holder[key], 1]}


def _places(root: list[Any]) -> list[tuple[Any, Any]]:
    """All values below `root`, each as what holds it and its key there."""
    places: list[tuple[Any, Any]] = []
    holders: list[Any] = [root]
    for holder in holders:
        keys = holder if isinstance(holder, dict) else range(len(holder))
        places += [(holder, key) for key in keys]
        holders += [holder[key] for key in keys if type(holder[key]) in (dict, list)]
    return places


def launch(manifest: Any) -> str:
    """What becomes of a manifest: ``manifest`` or ``arguments`` refused, or launched.

    Raises:
        AssertionError: the launch gets what no driver takes, or a refusal has no key.
    """
    try:
        launcher = Launcher(manifest)
    except LaunchError as error:
        key = str(error).removeprefix("the launch manifest is wrong: ")
        assert key.split(":")[0].split("[")[0].split(".")[0], error
        return "manifest"
    launcher._device_kind = "cuda"  # That of the arrays below.
    args = [
        ImaginaryArray(argument, i) if argument["kind"] == "buffer" else 1
        for i, argument in enumerate(launcher.arguments)
    ]
    try:
        plan = launcher.prepare(args, None if launcher.manifest["grid"] else (1, 1, 1))
        for tensor_map in plan.tensor_maps:
            tensor_map.update(plan.values[tensor_map.slot], lambda *_: bytes(128))
    except LaunchError:
        return "arguments"
    block = launcher.manifest["block"]
    assert len(block) == 3 and 1 <= math.prod(block) <= 1024
    assert all(type(n) is int and 0 <= n < 2**31 for n in plan.grid)
    # The driver reads as many addresses as the kernel has parameters.
    for address in plan.parameters[: len(launcher.manifest["parameters"])]:
        ctypes.string_at(address, 8)
    for tensor_map in plan.tensor_maps:
        assert all(0 < n <= 2**32 for n in tensor_map.extents)
        assert all(0 < n < 2**40 for n in tensor_map.strides)
    return "launched"


def _work(numbers: Sequence[int]) -> list[str | apart.ProcessFailure]:
    return [_try(number) for number in numbers]


def _try(number: int) -> str | apart.ProcessFailure:
    try:
        return launch(mutate(number))
    except Exception as error:
        return apart.ProcessFailure("wrong", f"{type(error).__name__}: {error}"[:300])


def fuzz(numbers: Sequence[int], jobs: int = 1):
    """Yields each number, and the outcome or what should not have happened.

    A crash or a hang is that of all numbers which were done together.
    """
    parts = [numbers[i : i + TOGETHER] for i in range(0, len(numbers), TOGETHER)]
    for part, found in apart.run(
        _work, parts, jobs=jobs, timeout=TIMEOUT, lifetime=LIFETIME, begin=_begin
    ):
        failed = isinstance(found, apart.ProcessFailure)
        yield from zip(part, [found] * len(part) if failed else found, strict=True)


def _begin() -> None:
    apart.limit_memory(MEMORY)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--state", type=Path, help="file with what was found so far")
    parser.add_argument("--show", action="store_true", help="only print the inputs")
    options = parser.parse_args()
    if options.show:
        for number in range(options.first, options.first + options.count):
            print(number, json.dumps(mutate(number), default=repr))
        return 0
    known = LongRun(options.state, options.first)
    try:
        for number, found in known.run(
            options.count, lambda numbers: fuzz(numbers, options.jobs)
        ):
            if isinstance(found, apart.ProcessFailure):
                known.findings[str(number)] = found.message
                print(f"{number}: {found.message}", flush=True)
            else:
                known.outcomes[found] += 1
    except KeyboardInterrupt:
        print("interrupted")
    print(known.describe("manifests"))
    return 1 if known.findings else 0


if __name__ == "__main__":
    sys.exit(main())
