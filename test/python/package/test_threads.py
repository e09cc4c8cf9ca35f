"""Threads that use one context: each gets its own errors, and nothing crashes.

Long calls release the interpreter lock, so what they report may come while another
thread parses, compiles or changes IR. Each test runs in a process of its own.
"""

import subprocess
import sys

import pytest

PRELUDE = """
import gc, io, sys, threading
import numpy
from tilews import CompileError, compiler, ir, passes, schedule, sim

TEXT = '''
gpu.module @m {
  gpu.func @k(%A: memref<4xf32>) kernel attributes {tile.grid = affine_map<() -> (1)>,
      tile.threads = 32 : i32} {
    gpu.return
  }
}
'''
WRONG = '''
gpu.module @m {
  gpu.func @k(%A: memref<64xf32>, %B: memref<64xf8E5M2>) kernel attributes {
      tile.grid = affine_map<() -> (1)>, tile.threads = 64 : i32} {
    %x = tile.load %A : memref<64xf32> -> tensor<64xf32>
    %f = arith.truncf %x : tensor<64xf32> to tensor<64xf8E5M2>
    tile.store %f to %B : tensor<64xf8E5M2> to memref<64xf8E5M2>
    gpu.return
  }
}
'''
LONG = TEXT + '"a.b"() : () -> ()\\n' * 2000
context = ir.Context()
context.allow_unregistered_dialects = True
failures = []

def repeat(*functions, times=40):
    '''Calls each function many times, all at once.'''
    sys.setswitchinterval(1e-5)
    def work(function):
        try:
            for number in range(times):
                function(number)
        except BaseException as error:
            failures.append(error)
            raise
    threads = [threading.Thread(target=work, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures

def parse_wrong(number, text=""):
    try:
        ir.Module.parse(text + f"wrong_{number}", context)
    except ir.MLIRError as error:
        assert len(error.error_diagnostics) == 1, error
        assert f"wrong_{number}" in str(error), error
    else:
        raise AssertionError("parsed")
"""

WAYS = {
    # Errors of a compilation without the lock once became Python objects of the
    # thread that parsed.
    "errors": """
        module = ir.Module.parse(WRONG, context)
        def compile_wrong(number):
            try:
                compiler.compile_module(module, "gfx942")
            except CompileError as error:
                assert str(error).count("error:") == 1, error
                assert "cannot convert 'f32' to 'f8E5M2'" in str(error), error
            else:
                raise AssertionError("compiled")
        def parse_long(number):
            parse_wrong(number, LONG)
        repeat(compile_wrong, parse_long, compile_wrong, parse_long)
    """,
    # The context's flag for its errors was changed and restored by each thread.
    "passes": """
        module = ir.Module.parse(TEXT, context)
        def run(number):
            try:
                passes.run(module, "canonicalize,cse")
            except CompileError as error:
                raise AssertionError("refused") from error
        repeat(run, run, parse_wrong, times=300)
        assert not context.emit_error_diagnostics
    """,
    # Operations were erased that a thread had found after they were invalidated.
    "handles": """
        module = ir.Module.parse(TEXT, context)
        def run(number):
            passes.run(module, "cse")
        def look(number):
            try:
                kernel = schedule.find_kernel(module)
                for op in kernel.regions[0].blocks[0].operations:
                    str(op)
                kernel.attributes["mark"] = ir.UnitAttr.get(context)
            except RuntimeError as error:
                assert "invalidated" in str(error), error
        repeat(run, look, look, times=1000)
    """,
    # A handler in Python is called for what its interpreter lock covers.
    "handlers": """
        module = ir.Module.parse(TEXT, context)
        seen = []
        def handle(diagnostic):
            seen.append(diagnostic.message)
            return True
        def attach(number):
            handler = context.attach_diagnostic_handler(handle)
            ir.Location.unknown(context).emit_error("mine")
            handler.detach()
        def compile_wrong(number):
            try:
                compiler._tilews.Compilation(module, "sm_1x", 0, "", True, [])
            except CompileError as error:
                assert "sm_1x" in str(error), error
            else:
                raise AssertionError("compiled")
        repeat(attach, compile_wrong, compile_wrong, times=200)
        assert set(seen) == {"mine"}, set(seen)
    """,
    # A file's `write` ran while MLIR printed, and could erase what it printed.
    "print": """
        class Eraser:
            def write(self, text):
                for op in list(module.body.operations):
                    op.operation.erase()
        class Refusing:
            def write(self, text):
                raise ValueError("no space")
        for flags in ({}, {"binary": True}):
            module = ir.Module.parse(LONG, context)
            module.operation.print(file=Eraser(), **flags)
            assert not list(module.body.operations)
        module = ir.Module.parse(LONG, context)
        def write_text(file):
            module.operation.print(file=file)
        for write in (write_text, module.operation.write_bytecode):
            try:
                write(Refusing())
            except ValueError as error:
                assert "no space" in str(error)
            else:
                raise AssertionError("written")
            try:
                write("/dev/full")
            except OSError as error:
                assert "No space left" in str(error), error
            else:
                raise AssertionError("written")
    """,
    # Locks are taken only where there are threads: a change meanwhile is refused.
    "pools": """
        module = ir.Module.parse(TEXT, context)
        def change(done, blocks):
            for call in (lambda: context.enable_multithreading(False),
                         lambda: context.set_thread_pool(ir.ThreadPool())):
                try:
                    call()
                except RuntimeError as error:
                    seen.append(str(error))
        seen = []
        sim.run(module, "k", [numpy.zeros(4, "f4")], progress=change)
        assert seen and all("cannot change while" in text for text in seen)
        # The context keeps its pool.
        context.set_thread_pool(ir.ThreadPool())
        gc.collect()
        module = ir.Module.parse(TEXT.replace("@k", "@j") + TEXT.replace("@m", "@n"),
                                 context)
        passes.run(module, "builtin.module(gpu.module(gpu.func(cse)))")
        for enable in (False, True):
            context.enable_multithreading(enable)
            passes.run(module, "builtin.module(gpu.module(gpu.func(cse)))")
    """,
    # Python unwound the stacks of threads that were running at its end.
    "compilations at the end": """
        def work():
            while True:
                module = ir.Module.parse(TEXT, ir.Context())
                compiler.compile_module(module, "sm_90a").asm
                done.set()
        done = threading.Event()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        done.wait()
    """,
    "simulations at the end": """
        def report(blocks, all_blocks):
            done.set()
        def work():
            while True:
                module = ir.Module.parse(TEXT, ir.Context())
                array = numpy.zeros(4, "f4")
                sim.run(module, "k", [array], grid=9, threads=2, progress=report)
        done = threading.Event()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        done.wait()
    """,
    # Messages quote their input, whatever it is.
    "bytes": """
        for text in (b'"a.b"() {x = \\xff} : () -> ()', b'\\xff\\xfe',
                     b'"\\xff"() : () -> ()', b'#\\xff = 1',
                     b'module @"\\xff" { "a"() {x = "\\xff"} : () -> () }'):
            try:
                str(ir.Module.parse(text, context))
            except ir.MLIRError as error:
                assert "error" in str(error).lower(), error
    """,
}


@pytest.mark.parametrize("way", WAYS)
def test_threads_of_one_context(way):
    code = PRELUDE + "\n" + "\n".join(line[8:] for line in WAYS[way].splitlines())
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stderr[-3000:]}"
