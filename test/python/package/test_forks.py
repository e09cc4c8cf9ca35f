"""A process that was forked compiles, and ends, whatever its parent was doing.

It has one thread: pools have lost theirs, and locks of other threads stay locked.
"""

import subprocess
import sys

import pytest

PRELUDE = """
import gc, os, signal, sys, threading, time
os.environ["TILEWS_CACHE"] = "off"
from tilews import compiler, ir, passes
from tilews._support.make_cache import MakeCache

KERNEL = '''gpu.func @k%d(%%A: memref<64xf32> {tile.name = "A"}) kernel attributes {
    tile.grid = affine_map<() -> (1, 1, 1)>, tile.threads = 64 : i32} {
  %%c0 = arith.constant 0 : index
  %%c = arith.constant dense<1.0> : tensor<64xf32>
  tile.store %%c to %%A[%%c0] : tensor<64xf32> to memref<64xf32>
  gpu.return
}
'''
# Several kernels, so that passes work on several threads.
TEXT = "gpu.module @m {" + "".join(KERNEL % number for number in range(8)) + "}"
module = ir.Module.parse(TEXT, ir.Context())

def compile_new():
    module = ir.Module.parse(TEXT, ir.Context())
    assert compiler.compile_module(module, "gfx942", kernel="k1").hsaco

def fork_and_wait(work):
    pid = os.fork()
    if not pid:
        signal.alarm(60)
        work()
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
"""

CASES = {
    "linker": """
        compile_new()
        fork_and_wait(compile_new)
    """,
    "linker of another thread": """
        ended = False
        def link():
            while not ended:
                compile_new()
        thread = threading.Thread(target=link)
        thread.start()
        for _ in range(8):
            fork_and_wait(compile_new)
        ended = True
        thread.join()
    """,
    "threads of a context": """
        passes.run(module, "cse")
        fork_and_wait(lambda: passes.run(module, "cse"))
    """,
    "dropped context": """
        passes.run(module, "cse")
        def drop():
            global module
            module = None
            gc.collect()
        fork_and_wait(drop)
    """,
    "children of children": """
        passes.run(module, "cse")
        def work():
            passes.run(module, "cse")
            fork_and_wait(lambda: passes.run(module, "cse"))
        fork_and_wait(work)
        passes.run(module, "cse")
    """,
    "pool of a context": """
        pool = ir.ThreadPool()
        module.context.set_thread_pool(pool)
        passes.run(module, "cse")
        def work():
            passes.run(module, "cse")
            assert pool.get_max_concurrency() > 0
            ir.Context(thread_pool=pool).enable_multithreading(False)
            fork_and_wait(lambda: passes.run(module, "cse"))
        fork_and_wait(work)
        passes.run(module, "cse")
    """,
    "dropped pool": """
        pool = ir.ThreadPool()
        module.context.set_thread_pool(pool)
        passes.run(module, "cse")
        def drop():
            global module, pool
            module = pool = None
            gc.collect()
        fork_and_wait(drop)
    """,
    "pools of another thread": """
        ended = False
        def make():
            while not ended:
                ir.ThreadPool()
        thread = threading.Thread(target=make)
        thread.start()
        for _ in range(20):
            fork_and_wait(ir.ThreadPool)
        ended = True
        thread.join()
    """,
    "kernel of another thread": """
        kernel = compiler.compile_module(module, "gfx942", kernel="k1")
        locked, done = threading.Event(), threading.Event()
        def hold():
            with kernel._lock:
                locked.set()
                done.wait()
        thread = threading.Thread(target=hold)
        thread.start()
        locked.wait()
        fork_and_wait(lambda: kernel.hsaco)
        done.set()
        thread.join()
    """,
    "value of another thread": """
        cache = MakeCache(4)
        begun, done = threading.Event(), threading.Event()
        def make():
            begun.set()
            done.wait()
            return 1
        thread = threading.Thread(target=cache.get_or_make, args=("key", make))
        thread.start()
        begun.wait()
        def work():
            assert cache.get_or_make("key", lambda: 2) == 2
        # The fork is made while this thread makes a value, too.
        cache.get_or_make("other", lambda: fork_and_wait(work))
        done.set()
        thread.join()
        assert cache.get_or_make("key", lambda: 3) == 1
    """,
}


def run(case):
    source = PRELUDE + "\n".join(line[8:] for line in case.splitlines())
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", CASES)
def test_a_forked_process(name):
    run(CASES[name])


def test_kernels_are_compiled_at_the_same_time():
    """A property of one kernel once kept that of all others waiting."""
    run("""
        kernels = [compiler.compile_module(module, c) for c in ("gfx942", "gfx950")]
        both = threading.Barrier(2, timeout=60)
        get = compiler.CompiledKernel._get
        def meet(self, output):
            both.wait()
            return get(self, output)
        compiler.CompiledKernel._get = meet
        made = []
        threads = [
            threading.Thread(target=lambda k=kernel: made.append(k.asm))
            for kernel in kernels
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 2
        assert kernels[0].asm is kernels[0].asm
    """)
