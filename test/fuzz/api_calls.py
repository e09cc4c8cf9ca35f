"""Random sequences of public calls on live modules, with handles that may be stale.

A sequence keeps objects of all kinds: modules, operations, blocks, values, iterators,
insertion points. Each step takes some of them and calls something public, in a few
sequences from several threads. The pool forgets nothing when a pass invalidates what
it holds. Python errors are expected; the process must live.
"""

import gc
import random
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from tilews.passmanager import PassManager

import signatures
from tilews import CompileError, compiler, ir, passes, schedule, sim

#: The objects that a sequence holds at most.
POOL = 400
CHIPS = ("sm_80", "sm_90a", "gfx942", "none")
NAMES = ("tile.stage", "tile.order", "tile.num_stages", "sym_name", "value", "mark")
TEXTS = (
    "3 : i32",
    "-1 : i64",
    "unit",
    "[0]",
    '"x"',
    "2147483647 : i32",
    "affine_map<()->()>",
)
PARTS = ("cse", "canonicalize", "tile-plan-pipeline", "tilews-lay-out", "nonsense")


class Sequence:
    """One sequence of calls; the same number makes the same calls."""

    def __init__(self, number: int, cases: list[Any]):
        self.number = number
        self.rng = random.Random(number)
        self.cases = cases
        self.pool: list[Any] = []
        self.case = self.rng.choice(cases)
        self.done: dict[str, int] = {}

    @staticmethod
    def has_threads(number: int) -> bool:
        return number % 10 == 9

    def run(self) -> dict[str, int]:
        """Makes the calls; returns how many there were of each kind, and errors."""
        self._add(self._build())
        self._add(self._build_other(self.rng))
        threads = 3 if self.has_threads(self.number) else 1
        seeds = [self.rng.random() for _ in range(threads)]
        workers = [threading.Thread(target=self._steps, args=(s,)) for s in seeds[1:]]
        for worker in workers:
            worker.start()
        self._steps(seeds[0])
        for worker in workers:
            worker.join()
        self.pool.clear()
        gc.collect()
        return self.done

    def _steps(self, seed: float) -> None:
        rng = random.Random(seed)
        actions: list[Callable[[random.Random], Any]] = [
            *[self._read] * 6,
            *[self._navigate] * 6,
            *[self._call_method] * 4,
            *[self._call_typed] * 8,
            *[self._make] * 4,
            self._build_other,
            *[self._call_schedule] * 5,
            *[self._run_passes] * 3,
            *[self._set_attribute] * 3,
            self._insert,
            self._simulate,
            self._compile,
            self._parse,
            self._drop,
        ]
        for _ in range(rng.randint(5, 40)):
            action = rng.choice(actions)
            name = action.__name__.lstrip("_")
            try:
                self._add(action(rng))
            except Exception as error:
                # Refused calls are what this is about. Exceptions hold frames.
                error.__traceback__ = None
                name += " refused"
            self.done[name] = self.done.get(name, 0) + 1

    # --- Objects ------------------------------------------------------------------

    def _build(self) -> ir.Module:
        """The case in a context of its own."""
        return ir.Module.parse(_text_of(self.case), ir.Context())

    def _add(self, found: Any) -> None:
        if found is None or isinstance(found, str | bytes | bool | int | float):
            return
        items = found[:8] if isinstance(found, list | tuple) else [found]
        self.pool.extend(items)
        del self.pool[: max(0, len(self.pool) - POOL)]

    def _pick(self, rng: random.Random, *kinds: type) -> Any:
        pool = list(self.pool)
        fitting = [item for item in pool if isinstance(item, kinds)] if kinds else pool
        # Now and then an object of a wrong kind.
        return rng.choice(fitting if fitting and rng.random() < 0.9 else pool)

    def _operation(self, rng: random.Random) -> Any:
        return self._pick(rng, ir.Operation, ir.OpView, ir.Module)

    @staticmethod
    def _is_public(name: str) -> bool:
        return name not in signatures.SKIPPED and not name.startswith("_")

    # --- Calls --------------------------------------------------------------------

    def _read(self, rng: random.Random) -> Any:
        item = self._pick(rng)
        names = [name for name in dir(item) if self._is_public(name)]
        found = getattr(item, rng.choice(names))
        return None if callable(found) else found

    def _navigate(self, rng: random.Random) -> Any:
        op = self._operation(rng)
        op = op.operation
        way = rng.randrange(7)
        if way == 0:
            return [block for region in op.regions for block in region.blocks]
        if way == 1:
            return [
                inner for r in op.regions for b in r.blocks for inner in b.operations
            ]
        if way == 2:
            return [*op.results, *op.operands]
        if way == 3:
            return [iter(self._pick(rng, ir.Block)), op.parent, op.block]
        if way == 4:
            value = self._pick(rng, ir.Value)
            return [value.owner, *value.uses]
        if way == 5:
            found: list[Any] = []

            def visit(inner):
                found.append(inner)
                if rng.random() < 0.02:
                    inner.erase()
                return ir.WalkResult.ADVANCE

            op.walk(
                visit, rng.choice([ir.WalkOrder.PRE_ORDER, ir.WalkOrder.POST_ORDER])
            )
            return rng.sample(found, min(8, len(found)))
        return [next(self._pick(rng)), next(self._pick(rng))]

    def _call_method(self, rng: random.Random) -> Any:
        item = self._pick(rng)
        names = [name for name in dir(item) if self._is_public(name)]
        method = getattr(item, rng.choice(names))
        if not callable(method):
            return method
        arguments = [self._pick(rng) for _ in range(rng.choice((0, 0, 1, 1, 2)))]
        return method(*arguments)

    def _call_typed(self, rng: random.Random) -> Any:
        """Calls a method, or assigns to a property: with arguments of its kinds."""
        item = self._pick(rng)
        names = [name for name in dir(type(item)) if self._is_public(name)]
        name = rng.choice([*names, "__setitem__", "__getitem__"])
        maker = signatures.Maker(rng, list(self.pool))
        member = getattr(type(item), name, None)
        if isinstance(member, property):
            if member.fset is None or rng.random() < 0.3:
                return getattr(item, name)
            kinds = signatures.parameters(member.fset.__nb_signature__[0][0])
            return setattr(item, name, maker.make(kinds[-1][1]))
        return maker.call(getattr(item, name))

    def _make(self, rng: random.Random) -> Any:
        """Makes an attribute, a type, a location, a map or an operation."""
        kind = rng.choice(signatures.CLASSES)
        names = [name for name in dir(kind) if self._is_public(name)]
        maker = signatures.Maker(rng, list(self.pool))
        function = getattr(kind, rng.choice(names)) if names else kind
        return maker.call(function) if callable(function) else None

    def _build_other(self, rng: random.Random) -> Any:
        """A module, and parts of which more can be made, in another context."""
        module = self._build()
        with module.context, ir.Location.unknown() as place:
            dim = ir.AffineExpr.get_dim(0)
            return [
                module,
                place,
                ir.F32Type.get(),
                ir.Attribute.parse(rng.choice(TEXTS[:6])),
                dim + 3,
                ir.AffineMap.get(1, 0, [dim * 2]),
                ir.Location.name("there"),
                ir.IntegerType.get_signless(32),
            ]

    def _call_schedule(self, rng: random.Random) -> Any:
        function = getattr(schedule, rng.choice(schedule.__all__))
        kernel = self._operation(rng)
        if rng.random() < 0.7:
            kernel = schedule.find_kernel(self._pick(rng, ir.Module))
        first = kernel
        if rng.random() < 0.5:
            first = rng.choice([schedule.pipelined_loops(kernel), self._pick(rng)])
            if isinstance(first, list) and rng.random() < 0.5:
                first = first[0]
        more = [rng.choice([2, -1, 2**31, None, self._pick(rng)])] * (
            rng.random() < 0.3
        )
        return function(first, *more)

    def _run_passes(self, rng: random.Random) -> Any:
        op = self._operation(rng)
        if rng.random() < 0.3:
            PassManager.parse("any(cse)", op.context).run(op)
            return None
        return passes.run(op, ",".join(rng.choices(PARTS, k=rng.randint(1, 3))))

    def _set_attribute(self, rng: random.Random) -> Any:
        op = self._operation(rng).operation
        name = rng.choice(NAMES)
        if rng.random() < 0.2:
            del op.attributes[name]
        else:
            op.attributes[name] = ir.Attribute.parse(rng.choice(TEXTS), op.context)
        return op.attributes

    def _insert(self, rng: random.Random) -> Any:
        place = self._pick(rng, ir.Operation, ir.Block, ir.InsertionPoint)
        point = (
            place if isinstance(place, ir.InsertionPoint) else ir.InsertionPoint(place)
        )
        operands = [self._pick(rng, ir.Value)] * rng.randint(0, 2)
        with ir.Location.unknown(self._pick(rng, ir.Module).context), point:
            made = ir.Operation.create("tile.barrier", operands=operands)
        return [point, made]

    def _simulate(self, rng: random.Random) -> None:
        arguments = self.case.arguments(np.random.default_rng(0))
        sim.run(self._pick(rng, ir.Module), None, arguments, threads=rng.randint(1, 2))

    def _compile(self, rng: random.Random) -> Any:
        kernel = compiler.compile_module(self._operation(rng), rng.choice(CHIPS))
        return kernel.mlir(rng.choice(["tile", "planned", "laid_out", "target", "x"]))

    def _parse(self, rng: random.Random) -> Any:
        module = self._pick(rng, ir.Module)
        text = str(module)
        if rng.random() < 0.3:
            text = text[: rng.randrange(len(text))]
        return ir.Module.parse(text, module.context)

    def _drop(self, rng: random.Random) -> Any:
        rng.shuffle(self.pool)
        del self.pool[: len(self.pool) // 2]
        gc.collect()
        return self._build()


#: By the name of a case.
_TEXTS: dict[str, str] = {}


def _text_of(case: Any) -> str:
    """A case as the frontend builds it, with its locations: made once a process.

    The frontend takes longer than all calls of a sequence, and is tested elsewhere.
    """
    if case.name not in _TEXTS:
        module = case.kernel.build("sm_90a", **case.constants)
        passes.run(module, "tile-lower-persistent,canonicalize,cse")
        _TEXTS[case.name] = module.operation.get_asm(enable_debug_info=True)
    return _TEXTS[case.name]


def run(number: int, cases: list[Any]) -> dict[str, int]:
    """Runs one sequence in this process."""
    try:
        return Sequence(number, cases).run()
    except CompileError as error:
        raise AssertionError(f"a case does not build: {error}") from error
