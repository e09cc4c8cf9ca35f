"""Prints digests of the code that tilews makes of every kernel for every target.

Each line has a kernel, a target, and the SHA-256 (its first 16 digits) of each output:
the IR in each phase, and the PTX or AMD's machine code. A kernel that does not compile
has its first error instead. The lines are sorted, so two builds that make the same
code print the same text::

    PYTHONPATH=old/build/dev/python_packages python .ci/code_digests.py > old.txt
    PYTHONPATH=new/build/dev/python_packages python .ci/code_digests.py > new.txt
    diff old.txt new.txt

Positions in source files are left out of the digests.
"""

import argparse
import concurrent.futures
import contextlib
import functools
import hashlib
import multiprocessing
import os
import pathlib
import re
import sys
import time
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[1]
sys.path += [str(ROOT), str(ROOT / "test/python")]

TARGETS = ("sm_80", "sm_90a", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
#: Where a kernel's source stands: in errors, in IR, and in PTX.
POSITION = re.compile(r'[^\s"(]*\.(?:py|mlir)"?:\d+:\d+|^\s*\.(?:loc|file)\b.*\n', re.M)


@functools.cache
def _builds():
    from kernels import everything

    return everything.builds()


def _outputs(name: str, target: str) -> Iterator[tuple[str, bytes | str]]:
    """Each output of a kernel with its name; raises if there is no device code."""
    from amdgcn.binaries import machine_code, without_lines
    from tilews import compiler

    compiled = compiler.compile_module(_builds()[name](target), target)
    for phase in compiler.PHASES:
        # A kernel that is given in a late phase is never in the earlier ones.
        with contextlib.suppress(compiler.CompileError):
            yield phase, compiled.mlir(phase)
    if compiled.vendor == "nvidia":
        yield "ptx", without_lines(compiled.ptx)
    else:
        yield "code", machine_code(compiled.hsaco)


def digest(name: str, target: str) -> str:
    """The line for a kernel and a target."""
    fields = [f"{name} {target}"]
    try:
        for form, output in _outputs(name, target):
            if isinstance(output, str):
                output = POSITION.sub("", output).encode()
            fields.append(f"{form}:{hashlib.sha256(output).hexdigest()[:16]}")
    except Exception as error:
        found = str(error).strip().split("\n")
        text = next((line for line in found if "error:" in line), found[0])
        fields.append(f"{type(error).__name__}: {POSITION.sub('', text).lstrip(': ')}")
    return " ".join(fields)


def _show_progress(done: int, total: int, start: float) -> None:
    seconds = time.monotonic() - start
    end = "\n" if done == total else ""
    print(f"\r{done}/{total} in {seconds:.0f} s", end=end, file=sys.stderr, flush=True)


def main() -> None:
    """Prints the digests of the kernels that the command line chooses."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kernels", default="", help="a part of the kernels' names")
    parser.add_argument("--targets", nargs="+", default=TARGETS, metavar="CHIP")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    options = parser.parse_args()
    names = [name for name in _builds() if options.kernels in name]
    if not names:
        parser.error(f"no kernel has '{options.kernels}' in its name")
    work = [(name, target) for name in names for target in options.targets]
    lines: list[str] = []
    start = time.monotonic()
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(options.jobs, spawn) as pool:
        tasks = [pool.submit(digest, *each) for each in work]
        for done, task in enumerate(concurrent.futures.as_completed(tasks), 1):
            lines.append(task.result())
            if done % 20 == 0 or done == len(tasks):
                _show_progress(done, len(tasks), start)
    print("\n".join(sorted(lines)))


if __name__ == "__main__":
    main()
