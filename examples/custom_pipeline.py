"""A schedule made in Python: the passes that pipeline a kernel, step by step.

Functions of ``tilews.schedule`` schedule the same matmul twice: once by the steps of
the default pipeline with other choices, and once by hand, with the channel and the
cursors. The reference interpreter checks both, and both are compiled for Hopper.
"""

import numpy as np

import support
import tilews
import tilews.language as tl
from tilews import compiler, ir, passes, schedule, sim
from tilews.dialects import tile

STEPS = 4


@tilews.kernel(threads=128)
def gemm(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["K, N:8", tl.f16],
    C: tl.Tensor["M, N:8", tl.f32],
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


def by_steps(module: ir.Module) -> None:
    """The default steps, with more slots than stages, and with registers by hand."""
    kernel = schedule.find_kernel(module)
    schedule.annotate_instructions(kernel)
    (loop,) = schedule.pipelined_loops(kernel)
    schedule.plan_pipeline(loop, num_stages=3)
    # The producer may run two iterations further ahead than in the plan.
    (channel,) = schedule.multi_version_buffers(loop, depth=5)
    assert len(channel.buffers) == 2
    schedule.specialize(kernel, registers={"math": 232, "load": 40})
    schedule.defer_gemm_waits(kernel)


def by_hand(module: ir.Module) -> None:
    """The same channel, made operation by operation."""
    kernel = schedule.find_kernel(module)
    schedule.annotate_instructions(kernel)
    (loop,) = schedule.pipelined_loops(kernel)
    body = [op.operation.opview for op in loop.regions[0].blocks[0].operations]
    copies = [op for op in body if isinstance(op, tile.CopyOp)]
    (matmul,) = (op for op in body if isinstance(op, tile.GemmOp))

    buffers = [copy.dest for copy in copies]
    versions = [schedule.version_buffer(buffer, STEPS) for buffer in buffers]
    with ir.InsertionPoint(loop):
        channel = schedule.make_channel(versions, "tma")
    with ir.InsertionPoint.at_block_begin(kernel.body.blocks[0]):
        producer = schedule.make_cursor(STEPS)
        consumer = schedule.make_cursor(STEPS)

    # The cursors are used like variables.
    with ir.InsertionPoint(copies[0]):
        schedule.acquire(channel, producer)
    for copy, buffer, versioned in zip(copies, buffers, versions, strict=True):
        schedule.use_version(copy, buffer, versioned, producer)
        schedule.use_version(matmul, buffer, versioned, consumer)
    with ir.InsertionPoint.after(copies[-1]):
        schedule.commit(channel, producer)
        schedule.advance(producer)
        schedule.wait(channel, consumer)
    with ir.InsertionPoint.after(matmul):
        schedule.release(channel, consumer)
        schedule.advance(consumer)
    # Now the loop carries them as SSA values.
    schedule.carry_cursors(kernel, [producer, consumer])
    schedule.specialize(kernel)


def example(m: int = 72, n: int = 136, k: int = 328) -> list[np.ndarray]:
    """Small integers, so that sums are exact: A, B and an empty C."""
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (m, k)).astype(np.float16)
    b = random.integers(-3, 4, (k, n)).astype(np.float16)
    return [a, b, np.zeros((m, n), np.float32)]


def main() -> None:
    for make_schedule in (by_steps, by_hand):
        module = gemm.build("sm_90a")
        make_schedule(module)
        passes.run(module, "canonicalize,cse")
        a, b, c = example()
        sim.run(module, None, [a, b, c])
        support.report(make_schedule.__name__, c, a.astype("f8") @ b.astype("f8"))
        compiled = compiler.compile_module(module, "sm_90a")
        copies = compiled.ptx.count("cp.async.bulk.tensor")
        print(f"    compiled for {compiled.target}: {copies} TMA copies")


if __name__ == "__main__":
    main()
