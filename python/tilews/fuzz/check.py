"""Checks one random kernel.

Its results have to be the same after every pass, and the verifier has to prove its
schedule.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import itertools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .. import ir, passes, sim
from ..build import target_attribute
from ..compiler import compile_module
from ..errors import CompileError, KernelError
from ..runtime.device_variables import print_limit
from ..runtime.launch_errors import LaunchError
from ..sim._run import find_kernel
from . import on_gpu
from .data import copy_arguments
from .random_program import RandomProgram
from .reference import reference

CHIPS = ("sm_80", "sm_90a", "gfx942", "gfx950")

#: Timing policies of the simulator.
POLICIES = ("earliest", "latest", "random")

#: Passes that only add attributes. What they change is executed after a later pass.
ANNOTATIONS = (
    "tile-set-target",
    "tile-annotate-instructions",
    "tile-plan-pipeline",
    "tile-assign-registers",
)

#: Passes whose changes are small, and are executed after the next pass that is not one
#: of them.
DEFERRED = (*ANNOTATIONS, "tile-lower-persistent", "canonicalize", "tile-infer-layouts")

#: Has to prove schedules, wherever the pipelines run it.
VERIFIER = "tile-verify-schedule"

#: Seconds of the processor for the passes of one chip, or for an emission.
COMPILE_SECONDS = 10.0

#: Operations that a block may execute, many times what any kernel here needs.
MOST_STEPS = 20_000_000


@dataclasses.dataclass(frozen=True)
class FuzzFinding:
    """A fault that a kernel shows.

    Attributes:
        seed: the seed of the kernel.
        kind: one of these:

            * ``invalid``: the kernel itself is wrong;
            * ``build``: the frontend refuses the kernel;
            * ``reference``: numpy and the interpreter compute different results;
            * ``call``: a call fails, or computes what the compiled kernel does not;
            * ``pass``: a pass fails;
            * ``differs``: after a pass, in a build for a chip or on a GPU, the kernel
              has other results, or prints something else;
            * ``error``: the simulation fails after a pass;
            * ``alarm``: the verifier refuses a schedule that runs without a fault;
            * ``unverified``: the verifier cannot decide on a schedule;
            * ``emit``: no device code can be generated;
            * ``slow``: the compilation takes more than :data:`COMPILE_SECONDS`;
            * ``launch``: a GPU refuses the kernel;
            * ``crash`` and ``hang``: the process crashes or hangs;
            * ``memory``: the process takes more than 2 GiB.
        step: the pass, and the chip that it ran for.
        message: the fault in words.
    """

    seed: int
    kind: str
    step: str
    message: str

    def __str__(self) -> str:
        where = f" after {self.step}" if self.step else ""
        return f"seed {self.seed}: {self.kind}{where}: {self.message}"


@dataclasses.dataclass(frozen=True)
class Options:
    """The checks to run.

    Attributes:
        chips: the targets whose pipelines run.
        reference_every: every n-th kernel is compared with numpy; 0 for none.
        emit_every: every n-th kernel is compiled to assembly, for one chip; 0 for none.
        rotates: whether each kernel is checked for one chip only, in rotation.
        on_gpu: whether kernels run on the GPU of this machine. Then the chips are those
            of :func:`.on_gpu.targets`, and only the kernel as written is simulated.
    """

    chips: tuple[str, ...] = CHIPS
    reference_every: int = 4
    emit_every: int = 8
    rotates: bool = False
    on_gpu: bool = False

    def chips_of(self, program: RandomProgram) -> tuple[str, ...]:
        """The targets of a kernel."""
        chips = self.chips
        if program.chips is not None:
            chips = tuple(chip for chip in chips if chip in program.chips)
        if not self.rotates or not chips:
            return chips
        return (chips[program.seed % len(chips)],)


def check(program: RandomProgram, options: Options) -> list[FuzzFinding]:
    """Checks a kernel; the list is empty if it shows no fault."""
    return list(_check(program, options))


def _check(program: RandomProgram, options: Options) -> Iterator[FuzzFinding]:
    seed = program.seed
    try:
        module = program.build()
    except KernelError as error:
        yield FuzzFinding(seed, "build", "", str(error))
        return
    expected = program.arguments()
    try:
        printed = simulate(module, expected)
    except sim.SimulationError as error:
        yield FuzzFinding(seed, "invalid", "", str(error))
        return
    yield from _compare_call(program, expected, printed)
    if options.reference_every and seed % options.reference_every == 0:
        found = program.arguments()
        reference.run(program, found)
        if message := difference(found, expected, exact=program.exact):
            yield FuzzFinding(seed, "reference", "", message)
    for index, chip in enumerate(options.chips_of(program)):
        try:
            own = module_for(program, chip, module)
        except KernelError as error:
            yield FuzzFinding(seed, "build", f"building for {chip}", str(error))
            continue
        results = expected
        if program.chips is not None:
            # The frontend orders sums for the chip, so that they round otherwise.
            results = program.arguments()
            try:
                simulate(own, results)
                message = difference(results, expected, exact=False)
            except sim.SimulationError as error:
                message = str(error)
            if message:
                yield FuzzFinding(seed, "differs", f"building for {chip}", message)
                continue
        if options.on_gpu:
            yield from _run_on_gpu(own, program, results, chip)
            continue
        found = list(_compare_steps(own, program, results, printed, chip))
        yield from found
        # A kernel for several chips is emitted for one of them, in rotation.
        is_due = options.emit_every and (seed // 3 + index) % options.emit_every == 0
        if is_due and not found:
            yield from _emit(with_target(own, chip), seed, chip)


def _compare_call(
    program: RandomProgram, expected: Sequence[Any], printed: Sequence[str]
) -> Iterator[FuzzFinding]:
    """Compares a call of a kernel whose parameters are more than single arguments."""
    if not program.has_forms:
        return
    found = program.arguments()
    try:
        lines = _capture(lambda: program.call(found))
        message = difference(found, expected) or _other_print(lines, printed)
    except (KernelError, LaunchError, sim.SimulationError, TypeError) as error:
        message = str(error)
    if message:
        yield FuzzFinding(program.seed, "call", "", message)


def module_for(
    program: RandomProgram, chip: str, module: ir.Module | None = None
) -> ir.Module:
    """A kernel as written for a chip: a new module.

    Args:
        program: the kernel.
        chip: a GPU.
        module: the kernel as written for no chip, if it is known.

    Raises:
        KernelError: the frontend refuses the kernel.
    """
    if program.chips is not None:
        return program.build(chip)
    return with_target(module or program.build(), chip)


def with_target(module: ir.Module, chip: str) -> ir.Module:
    """A copy of a module for a chip."""
    with module.context, ir.Location.unknown():
        copy = ir.Module.parse(_to_bytes(module))
        targets = ir.ArrayAttr.get([ir.Attribute.parse(target_attribute(chip) or "")])
        copy.body.operations[0].attributes["targets"] = targets
    return copy


@functools.cache
def tile_passes(chip: str) -> tuple[str, ...]:
    """The default pipeline for a chip, up to where threads appear."""
    dialect = "nvvm" if chip.startswith("sm_") else "rocdl"
    steps = passes.expand(f"tilews-to-{dialect}{{chip={chip}}}")
    conversion = f"convert-tile-to-{dialect}"
    end = next(i for i, s in enumerate(steps) if s.startswith(conversion))
    return tuple(steps[:end])


def _to_bytes(module: ir.Module) -> bytes:
    """A module as bytecode."""
    file = io.BytesIO()
    module.operation.write_bytecode(file)
    return file.getvalue()


def _compare_steps(
    module: ir.Module,
    program: RandomProgram,
    expected: Sequence[Any],
    printed: Sequence[str],
    chip: str,
) -> Iterator[FuzzFinding]:
    """Simulates after the passes that change the execution.

    If that finds a fault, simulates again after every pass, to find the one to blame.
    """

    def run(each: bool) -> list[FuzzFinding]:
        return list(_Steps(module, program, expected, printed, chip).run(each))

    found = run(each=False)
    if found and found[0].kind in ("error", "differs"):
        found = run(each=True) or found
    yield from found


class _Steps:
    """The passes for a chip, one after the other on a copy of a module."""

    def __init__(
        self,
        module: ir.Module,
        program: RandomProgram,
        expected: Sequence[Any],
        printed: Sequence[str],
        chip: str,
    ) -> None:
        self.module = with_target(module, chip)
        self.program = program
        self.inputs = program.arguments()
        self.expected = expected
        self.printed = printed
        self.chip = chip
        self._bytes = _to_bytes(self.module)
        #: Whether a pass has changed the module since the last simulation.
        self._is_new = False
        #: Seconds by pass.
        self._seconds: dict[str, float] = {}

    def run(self, each: bool) -> Iterator[FuzzFinding]:
        """The first fault.

        Args:
            each: whether to simulate after each pass, under all policies. Otherwise
                there is a simulation under one policy after each pass that has changed
                the execution, and one under each policy after the last pass.
        """
        steps = tile_passes(self.chip)
        names = [step.partition("{")[0] for step in steps]
        last = max(i for i, name in enumerate(names) if name != VERIFIER)
        for number, (step, name) in enumerate(zip(steps, names, strict=True)):
            found = None
            if name == VERIFIER:
                found = self._verify(names[number - 1])
            else:
                try:
                    self._run_pass(step)
                except CompileError as error:
                    if _is_limit(str(error)):
                        return
                    found = self._find("pass", name, _errors(error))
                else:
                    policy = POLICIES[(self.program.seed + number) % len(POLICIES)]
                    if each or number == last:
                        found = self._simulate(POLICIES, name)
                    elif self._is_due(name):
                        found = self._simulate((policy,), name)
            if found:
                yield found
                return
        yield from self._find_slow()

    def _run_pass(self, step: str) -> list[str]:
        """Runs a pass, and adds its time."""
        begin = time.process_time()
        try:
            return passes.run(self.module, step)
        finally:
            name = step.partition("{")[0]
            before = self._seconds.get(name, 0.0)
            self._seconds[name] = before + time.process_time() - begin

    def _find_slow(self) -> Iterator[FuzzFinding]:
        if sum(self._seconds.values()) > COMPILE_SECONDS:
            order = sorted(self._seconds.items(), key=lambda each: -each[1])
            text = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in order[:3])
            yield self._find("slow", "all passes", text)

    def _is_due(self, name: str) -> bool:
        """Whether to simulate after a pass that has just run."""
        before, self._bytes = self._bytes, _to_bytes(self.module)
        self._is_new |= before != self._bytes and name not in ANNOTATIONS
        return self._is_new and name not in DEFERRED

    def _find(self, kind: str, name: str, message: str) -> FuzzFinding:
        return FuzzFinding(self.program.seed, kind, f"{name} for {self.chip}", message)

    def _simulate(self, policies: Sequence[str], name: str) -> FuzzFinding | None:
        self._is_new = False
        for policy in policies:
            arguments = copy_arguments(self.inputs)
            kind = "error"
            try:
                lines = simulate(self.module, arguments, policy, self.program.seed)
                kind, message = "differs", difference(arguments, self.expected)
                message = message or _other_print(lines, self.printed)
            except sim.SimulationError as error:
                message = str(error)
            if message:
                message = f"{message} (policy {policy})"
                return self._find(kind, name, message)
        return None

    def _verify(self, name: str) -> FuzzFinding | None:
        """Expects a proof; `name` is the pass before."""
        try:
            messages = self._run_pass(VERIFIER)
        except CompileError as error:
            found = self._simulate(POLICIES, name)
            return found or self._find("alarm", name, _errors(error))
        for message in messages:
            if "tile-verify-0001" in message:
                return self._find("unverified", name, message)
        return None


def _run_on_gpu(
    module: ir.Module, program: RandomProgram, expected: Sequence[Any], chip: str
) -> Iterator[FuzzFinding]:
    """Compares what the GPU computes with what the kernel as written does."""
    arguments = program.arguments()
    kind = "differs"
    try:
        on_gpu.run(with_target(module, chip), arguments, chip)
        message = difference(arguments, expected, exact=program.exact)
    except CompileError as error:
        kind, message = "emit", _errors(error)
        if _is_limit(message):
            return
    except LaunchError as error:
        kind, message = "launch", str(error)
    if message:
        yield FuzzFinding(program.seed, kind, f"running on {chip}", message)


def _is_limit(message: str) -> bool:
    """Whether a kernel asks for more than a chip has."""
    # Many buffers with many stages need more than there is; not every chip has fp8.
    return bool(
        re.search("needs .* bytes of shared memory, but", message)
        or re.search("cannot (convert|compute with) '.*f8", message)
    )


def _emit(module: ir.Module, seed: int, chip: str) -> Iterator[FuzzFinding]:
    begin = time.process_time()
    step = f"emission for {chip}"
    try:
        # What a call needs: assembly for AMD would be generated once more.
        kernel = compile_module(module, chip)
        kernel.binary if kernel.vendor == "amd" else kernel.ptx  # noqa: B018
    except CompileError as error:
        message = _errors(error)
        if not _is_limit(message):
            yield FuzzFinding(seed, "emit", step, message)
    if (seconds := time.process_time() - begin) > COMPILE_SECONDS:
        yield FuzzFinding(seed, "slow", step, f"took {seconds:.1f} s")


def _errors(error: CompileError) -> str:
    """The messages of an error without its remarks."""
    lines = str(error).splitlines()
    return "\n".join(line for line in lines if ": remark: " not in line)


def simulate(
    module: ir.Module,
    arguments: Sequence[Any],
    policy: str = "earliest",
    seed: int = 0,
) -> list[str]:
    """Runs the only kernel of a module; updates the arrays.

    Returns:
        The lines that it prints, sorted, because the order of blocks is undefined.
    """
    kernel = find_kernel(module, None)
    has_grid = "tile.grid" in kernel.attributes
    return _capture(
        lambda: sim.run(
            kernel,
            None,
            arguments,
            None if has_grid else 1,
            policy=policy,
            seed=seed,
            max_steps=MOST_STEPS,
            threads=1,
        )
    )


def _capture(run: Callable[[], None]) -> list[str]:
    """The lines that something prints, sorted."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        run()
    return sorted(text.getvalue().splitlines())


def _other_print(found: Sequence[str], expected: Sequence[str]) -> str:
    """The first difference of lines that are printed; empty if there is none."""
    # A run prints a limited number of lines. Which these are depends on the order.
    limit = print_limit()
    if found == expected or (limit is not None and len(expected) >= limit):
        return ""
    both = itertools.zip_longest(found, expected, fillvalue="nothing")
    one, other = next(pair for pair in both if pair[0] != pair[1])
    return f"the kernel prints {one!r}, expected {other!r}"


def difference(
    found: Sequence[Any], expected: Sequence[Any], exact: bool = True
) -> str:
    """The first difference of results in words; empty if there is none.

    Args:
        found, expected: the arguments after two runs.
        exact: whether results have to be equal; otherwise differences are allowed that
            a sum of weights in another order explains.
    """
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        if not isinstance(one, np.ndarray) or one.tobytes() == other.tobytes():
            continue
        one, other = one.astype(np.float64), other.astype(np.float64)
        if exact:
            same = (one == other) | (np.isnan(one) & np.isnan(other))
        else:
            same = np.isclose(one, other, rtol=2e-2, atol=0.2, equal_nan=True)
        if not same.all():
            place = tuple(map(int, np.argwhere(~same)[0]))
            return (
                f"argument {index} has {one[place]} at {place}, expected "
                f"{other[place]} ({np.sum(~same)} of {same.size} differ)"
            )
    return ""
