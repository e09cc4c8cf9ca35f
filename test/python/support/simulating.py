"""Helpers of the simulator's tests: kernels at each phase, timings, comparison."""

import numpy as np

from kernels import pipelined_case, pipelined_zoo
from tilews import passmanager, sim

_SCHEDULE = (
    "tile-lower-persistent,tile-rasterize-blocks,canonicalize,cse,"
    "tile-annotate-instructions,tile-plan-pipeline,tile-multi-version,"
    "tile-channel-preludes,tile-specialize-warps,tile-defer-gemm-waits,"
    "tile-expand-pipeline,canonicalize,cse"
)
_LAYOUT = f"{_SCHEDULE},tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers"
#: The passes up to each form of a schedule.
PHASES = {
    "scheduled": _SCHEDULE,
    "laid-out": _LAYOUT,
    "barriers": f"{_LAYOUT},tile-lower-channels",
}

#: How a kernel is run, as arguments of ``sim.run``.
TIMINGS = [
    {"policy": "earliest"},
    {"policy": "latest"},
    *({"policy": "random", "seed": seed} for seed in range(5)),
]


def find_case(name: str) -> pipelined_case.PipelinedCase:
    return next(case for case in pipelined_zoo.CASES if case.name == name)


def lower(case: pipelined_case.PipelinedCase, target: str, passes: str = ""):
    """The case's module after `passes`."""
    return run_passes(case.kernel.build(target, **case.constants), passes)


def run_passes(module, passes: str):
    """The module after passes on its kernels."""
    if passes:
        with module.context:
            pipeline = f"builtin.module(gpu.module({passes}))"
            passmanager.PassManager.parse(pipeline).run(module.operation)
    return module


def simulate(case: pipelined_case.PipelinedCase, module, **options) -> list[np.ndarray]:
    """The arrays after the kernel has run."""
    arguments = case.arguments(np.random.default_rng(0))
    sim.run(module, None, arguments, **options)
    return [value for value in arguments if isinstance(value, np.ndarray)]
