"""A schedule that hangs, and how to find the reason without a GPU.

Builds a warp-specialized matmul and removes the releases of its slots: a likely mistake
in a schedule by hand. Then it uses three tools:

* the verifier, which proves or refutes a schedule;
* the simulator, which reports which role waits for which other role;
* the timeline, which shows the events before the hang.

At the end it runs the right schedule and checks the result. If a folder is given, it
writes the timelines hang.json and fixed.json for https://ui.perfetto.dev into it. It
also writes the schedules right.mlir, hang.mlir (without releases) and race.mlir
(without waits), for the commands of docs/debugging.md.
"""

import pathlib
import re
import sys

import numpy as np

import tilews
import tilews.language as tl
from tilews import ir, passes, sim

CHIP = "sm_90a"


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["M, K:64", tl.f16],
    B: tl.Tensor["K, N:64", tl.f16],
    C: tl.Tensor["M, N:64", tl.f32],
) -> None:
    M, K = A.shape
    N = B.shape[1]
    bx, by = tl.grid(tl.cdiv(N, 64), tl.cdiv(M, 64))
    As = tl.alloc_shared((64, 64), tl.f16)
    Bs = tl.alloc_shared((64, 64), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(tl.cdiv(K, 64), num_stages=2):
        tl.copy(A[by * 64, k * 64], As)
        tl.copy(B[k * 64, bx * 64], Bs)
        acc = tl.gemm(As, Bs, acc)
    C[by * 64, bx * 64] = acc


def schedule() -> str:
    """The kernel in phase 3: roles that pass tiles through a channel."""
    module = gemm.build(CHIP)
    for step in passes.expand(f"tilews-to-nvvm{{chip={CHIP}}}"):
        passes.run(module, step)
        if step.startswith("tile-specialize-warps"):
            return str(module)
    raise AssertionError("the default pipeline specializes warps")


def without(operation: str, text: str) -> str:
    """Makes a mistake: leaves out all operations of one kind."""
    broken, count = re.subn(
        rf"^ *{re.escape(operation)} .*\n", "", text, flags=re.MULTILINE
    )
    assert count > 0, f"the schedule has no {operation}"
    return broken


def write_schedules(folder: pathlib.Path) -> None:
    """Writes the right schedule and two wrong ones."""
    right = schedule()
    (folder / "right.mlir").write_text(right)
    (folder / "hang.mlir").write_text(without("tile.release", right))
    (folder / "race.mlir").write_text(without("tile.wait", right))


def arguments() -> list[np.ndarray]:
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (64, 512)).astype(np.float16)
    b = random.integers(-3, 4, (512, 64)).astype(np.float16)
    return [a, b, np.zeros((64, 64), np.float32)]


def verify(module: ir.Module) -> None:
    try:
        passes.verify_schedule(module)
        print("verifier: found nothing wrong\n")
    except tilews.CompileError as error:
        print(f"verifier: refuted\n{error}\n")


def save(trace: sim.Trace, name: str) -> None:
    if len(sys.argv) > 1:
        path = pathlib.Path(sys.argv[1]) / f"{name}.json"
        trace.save(path)
        print(f"wrote {path}\n")


def hang(text: str) -> sim.Trace:
    """Runs the broken schedule. Returns the timeline before the hang."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        verify(module)
        events: list[sim.Event] = []
        try:
            sim.run(module, "gemm", arguments(), record=events)
        except sim.SimulationError as error:
            print(f"simulator:\n{error}\n")
        else:
            raise SystemExit("the broken schedule did not hang")
    trace = sim.make_trace(events, CHIP, "gemm without releases")
    print(trace.summary())
    return trace


def run(text: str) -> sim.Trace:
    """Runs a right schedule, and checks its result. Returns the timeline."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        verify(module)
        values = arguments()
        trace = sim.trace(module, "gemm", values)
    a, b, c = values
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    print("the result is right\n")
    return trace


if __name__ == "__main__":
    good = schedule()
    print("--- without releases ---\n")
    before = hang(without("tile.release", good))
    save(before, "hang")
    print("--- with releases ---\n")
    after = run(good)
    save(after, "fixed")
    print(before.compare(after))
    if len(sys.argv) > 1:
        write_schedules(pathlib.Path(sys.argv[1]))
