"""Handles of operations, values and blocks that a pass or a function made invalid.

Each test runs in a process of its own, so that a crash is a failure.
"""

import subprocess
import sys

import pytest

PRELUDE = """
import gc, io, sys
import numpy as np
import pytest
from kernels import pipelined_zoo
from tilews import CompileError, compiler, ir, passes, schedule, sim
from tilews.passmanager import PassManager

CASE = {case.name: case for case in pipelined_zoo.CASES}["gemm-s3"]
GONE = "has been invalidated"

def build():
    module = CASE.kernel.build("sm_90a", **CASE.constants)
    passes.run(module, "tile-lower-persistent,canonicalize,cse")
    return module

def planned():
    module = build()
    kernel = schedule.find_kernel(module)
    schedule.annotate_instructions(kernel)
    schedule.plan_pipeline(schedule.pipelined_loops(kernel))
    return module

def collect(module):
    '''Handles of all kinds into a module.'''
    kernel = schedule.find_kernel(module)
    (loop,) = schedule.pipelined_loops(kernel)
    ops = [kernel, loop, kernel.operation, *schedule.operations_to_schedule(loop)]
    block = loop.operation.regions[0].blocks[0]
    values = [*block.arguments, *[r for op in block.operations for r in op.results]]
    lists = [kernel.operation.regions, block.operations, block.arguments,
             loop.operation.operands, loop.operation.results,
             loop.operation.attributes]
    iterators = [iter(block.operations), iter(loop.operation.regions[0].blocks),
                 *[v.uses for v in values]]
    uses = [use for v in values for use in v.uses]
    points = [ir.InsertionPoint(loop), ir.InsertionPoint.at_block_begin(block)]
    return kernel, loop, ops, block, values, lists, iterators, uses, points

def use(handles):
    '''Uses all handles in every way; returns how many uses were refused.'''
    kernel, loop, ops, block, values, lists, iterators, uses, points = handles
    arguments = CASE.arguments(np.random.default_rng(0))
    calls = []
    for op in ops:
        names = [n for n in dir(op) if n not in ("dump", "__del__")]
        calls += [lambda op=op, n=n: getattr(op, n) for n in names]
        calls += [
            lambda op=op: str(op), lambda op=op: op.operation.verify(),
            lambda op=op: list(op.operation.attributes),
            lambda op=op: op.operation.parent, lambda op=op: op.operation.block,
            lambda op=op: op.operation.clone(ip=False),
            lambda op=op: op.operation.get_asm(binary=True),
            lambda op=op: op.operation.walk(lambda o: ir.WalkResult.ADVANCE),
            lambda op=op: op.operation.move_before(loop),
            lambda op=op: op.operation.move_after(kernel),
            lambda op=op: op.operation.is_before_in_block(loop),
            lambda op=op: ir.InsertionPoint(op), lambda op=op: ir.SymbolTable(op),
            lambda op=op: PassManager.parse("any(cse)", op.context).run(op),
            lambda op=op: sim.run(op, None, arguments),
            lambda op=op: sim.run(kernel, None, [op]),
            lambda op=op: passes.run(op, "cse"),
            lambda op=op: compiler.compile_module(op),
        ]
    for value in values:
        names = [n for n in dir(value) if n != "dump"]
        calls += [lambda v=value, n=n: getattr(v, n) for n in names]
        calls += [
            lambda v=value: str(v), lambda v=value: v.get_name(),
            lambda v=value: hash(v), lambda v=value: v == values[0],
            lambda v=value: list(v.uses),
            lambda v=value: v.replace_all_uses_with(values[0]),
            lambda v=value: v.set_type(v.type), lambda v=value: v.owner,
        ]
    calls += [lambda n=n: getattr(block, n) for n in dir(block)]
    calls += [
        lambda: str(block), lambda: list(block), lambda: block.append(loop),
        lambda: block.add_argument(
            ir.IndexType.get(kernel.context), ir.Location.unknown(kernel.context)),
        lambda: block.region.blocks[0], lambda: block.create_before(),
        lambda: block.append_to(kernel.operation.regions[0]),
    ]
    for each in lists:
        calls += [lambda l=each: len(l), lambda l=each: list(l), lambda l=each: l[0]]
    calls += [lambda i=i: list(i) for i in iterators]
    for each in uses:
        calls += [lambda u=each: u.owner, lambda u=each: u.operand_number]
    def insert(point):
        with ir.Location.unknown(kernel.context), point:
            ir.Operation.create("tile.barrier")
    calls += [lambda p=p: insert(p) for p in points]
    calls += [lambda p=p: p.block.owner for p in points]
    options = [(), (kernel,), (loop,), (loop, 2), (values[0], 2), (loop, values[0]),
               (loop, *values[:3]), (values[0],), (values[0], values[1]),
               ([loop],), (kernel, values), ([values[0]],)]
    for name in schedule.__all__:
        function = getattr(schedule, name)
        calls += [lambda f=function, o=o: f(*o) for o in options]
    for name in passes.__all__:
        calls += [lambda f=getattr(passes, name): f(kernel)]
        calls += [lambda f=getattr(passes, name): f(loop)]
    refused = done = 0
    for call in calls:
        try:
            call()
            done += 1
        except Exception as error:
            refused += GONE in str(error)
    gc.collect()
    return refused, done
"""

WAYS = {
    "refused run": """
        module = build()
        handles = collect(module)
        for wrong in ("tile-annotate-instructions,convert-tile-to-nvvm", "nonsense"):
            with pytest.raises(CompileError):
                passes.run(module, wrong)
        # The module is as it was, and so are its handles.
        kernel, loop = handles[:2]
        assert schedule.find_kernel(module).operation == kernel.operation
        schedule.annotate_instructions(kernel)
        schedule.plan_pipeline(loop)
        assert "tile.stage" in str(module)
        assert len(schedule.multi_version_buffers(loop)) == 1
        use(handles)
    """,
    "passes": """
        module = build()
        handles = collect(module)
        passes.run(module, "canonicalize,tile-annotate-instructions,tile-plan-pipeline")
        refused, _ = use(handles)
        assert refused > 300, refused
        schedule.find_kernel(module)
        assert module.operation.verify()
    """,
    "each pass": """
        for name in passes.__all__:
            if name == "expand":
                continue
            module = build()
            handles = collect(module)
            try:
                getattr(passes, name)(module, *(["cse"] if name == "run" else []))
            except CompileError:
                assert str(handles[1])
                continue
            with pytest.raises(RuntimeError, match=GONE):
                str(handles[1])
    """,
    "upstream's pass manager": """
        module = build()
        handles = collect(module)
        manager = PassManager.parse("builtin.module(cse)", module.context)
        manager.run(module.operation)
        refused, _ = use(handles)
        assert refused > 300, refused
        assert module.operation.verify()
    """,
    "pass manager on a kernel": """
        module = build()
        handles = collect(module)
        manager = PassManager.parse("gpu.func(canonicalize)", module.context)
        manager.run(handles[0])
        assert str(handles[0])
        with pytest.raises(RuntimeError, match=GONE):
            str(handles[1])
        use(handles)
    """,
    "dropped module": """
        module = planned()
        text = str(module)
        handles = collect(module)
        del module
        gc.collect()
        top = handles[1].operation
        while top.parent:
            top = top.parent
        assert str(top) == text.strip() or str(top) in text
        use(handles)
    """,
    "module in an expression": """
        loop = schedule.pipelined_loops(schedule.find_kernel(planned()))[0]
        gc.collect()
        assert "scf.for" in str(loop)
        (op, *_) = [op for op in build().body.operations]
        assert "gpu.module" in str(op)
        copy = build().operation.clone(ip=False).regions[0].blocks[0]
        assert [op.operation.name for op in copy] == ["gpu.module"]
    """,
    "erased": """
        module = build()
        handles = collect(module)
        with pytest.raises(ValueError, match="use its results"):
            next(v for v in handles[1].operands if "arith" in str(v)).owner.erase()
        handles[0].operation.erase()
        refused, _ = use(handles)
        assert refused > 300, refused
        assert module.operation.verify()
    """,
    "detached": """
        module = build()
        handles = collect(module)
        copy = handles[0].operation.clone(ip=False)
        inner = copy.regions[0].blocks[0].operations[0]
        del copy
        gc.collect()
        assert inner.operation.name
        module.body.append(handles[0])
        del handles[0].attributes["sym_name"]
        str(module)
        handles[0].detach_from_parent()
        del module
        gc.collect()
        use(handles)
    """,
    "walk": """
        for order in (ir.WalkOrder.PRE_ORDER, ir.WalkOrder.POST_ORDER):
            module = build()
            seen = []
            def visit(op):
                seen.append(op)
                try:
                    op.erase()
                except ValueError:
                    pass
                return ir.WalkResult.ADVANCE
            module.operation.walk(visit, order)
            assert not list(module.body.operations)
            for op in seen:
                if op is not seen[0]:
                    try:
                        str(op)
                    except RuntimeError as error:
                        assert GONE in str(error)
        module = build()
        for op in module.body:
            op.operation.erase()
    """,
    "walk of replaced operations": """
        for order in (ir.WalkOrder.PRE_ORDER, ir.WalkOrder.POST_ORDER):
            module = build()
            seen = []
            def replace(op):
                seen.append(op.name)
                if len(seen) == 3:
                    passes.run(module, "cse")
                return ir.WalkResult.ADVANCE
            with pytest.raises(RuntimeError, match=GONE):
                module.operation.walk(replace, order)
            assert len(seen) == 3
    """,
    "outside uses": """
        module = build()
        loop = schedule.pipelined_loops(schedule.find_kernel(module))[0]
        value = next(v for v in loop.operands if "arith" in str(v))
        with ir.Location.unknown(module.context):
            user = ir.Operation.create("tile.user", operands=[value], ip=False)
        manager = PassManager.parse("builtin.module(cse)", module.context)
        for change in (
            lambda: passes.run(module, "cse"),
            lambda: manager.run(module.operation),
            lambda: schedule.defer_gemm_waits(schedule.find_kernel(module)),
        ):
            with pytest.raises(ValueError, match="outside uses a value inside"):
                change()
        del module, loop, value, manager, change
        gc.collect()
        del user
    """,
    "callbacks that raise": """
        module = build()
        arguments = CASE.arguments(np.random.default_rng(0))
        def fail(done, blocks):
            raise KeyboardInterrupt
        with pytest.raises(KeyboardInterrupt):
            sim.run(module, None, arguments, progress=fail)
        sim.run(module, None, arguments, progress=lambda done, blocks: None)
    """,
    "threads": """
        import threading
        module = build()
        stop = threading.Event()
        def change():
            while not stop.is_set():
                passes.run(module, "canonicalize,cse")
                kernel = schedule.find_kernel(module)
                kernel.attributes["mark"] = ir.UnitAttr.get(module.context)
        thread = threading.Thread(target=change)
        thread.start()
        try:
            for _ in range(20):
                arguments = CASE.arguments(np.random.default_rng(0))
                try:
                    sim.run(module, None, arguments, threads=2)
                    compiler.compile_module(module, "sm_90a").mlir()
                except RuntimeError as error:
                    # A pass of the other thread replaced the kernel meanwhile.
                    assert "has been invalidated" in str(error), error
        finally:
            stop.set()
            thread.join()
    """,
    "symbols": """
        module = build()
        table = ir.SymbolTable(module.operation)
        (op,) = module.body.operations
        name = ir.StringAttr(op.attributes["sym_name"]).value
        op.operation.erase()
        with pytest.raises(KeyError):
            table[name]
    """,
}

#: Functions of tilews.schedule that replace operations of a kernel.
STEPS = {
    "multi_version_buffers": "schedule.multi_version_buffers(handles[1])",
    "channel_preludes": "schedule.channel_preludes(handles[0])",
    "keep_one_role": "schedule.multi_version_buffers(handles[1]); handles = "
    "collect(module); schedule.keep_one_role(handles[0])",
    "specialize": "schedule.multi_version_buffers(handles[1]); handles = "
    "collect(module); schedule.specialize(handles[0])",
    "expand_pipeline": "schedule.multi_version_buffers(handles[1]); "
    "schedule.keep_one_role(handles[0]); handles = collect(module); "
    "schedule.expand_pipeline(handles[1])",
    "defer_gemm_waits": "schedule.defer_gemm_waits(handles[0])",
    "ping_pong": "schedule.ping_pong(handles[0])",
    "carry_cursors": "schedule.carry_cursors(handles[0], [])",
}


def run_alone(body: str) -> None:
    code = PRELUDE + "\n" + "\n".join(line[8:] for line in body.splitlines())
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd="test/python",
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-3000:]}"


@pytest.mark.parametrize("way", WAYS)
def test_no_use_of_a_stale_handle_crashes(way):
    run_alone(WAYS[way])


@pytest.mark.parametrize("step", STEPS)
def test_functions_invalidate_what_they_replace(step):
    run_alone(f"""
        module = planned()
        handles = collect(module)
        {STEPS[step]}
        # The kernel itself stays; what is in it has to be looked for again.
        assert schedule.find_kernel(module).operation == handles[0].operation
        with pytest.raises(RuntimeError, match=GONE):
            str(handles[1])
        refused, _ = use(handles)
        assert refused > 300, refused
        module.operation.verify()
    """)
