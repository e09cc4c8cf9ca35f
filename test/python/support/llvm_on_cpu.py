"""Runs the LLVM IR of a kernel for NVIDIA on the CPU: one block, thread by thread.

Address spaces and attributes of the target are removed, and functions in C stand for
NVIDIA's intrinsics, as the PTX ISA describes the instructions. A kernel that exchanges
values between threads runs on as many threads of the CPU; otherwise barriers do
nothing. Tensor maps are ordinary pointers.
"""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

_CLANG = shutil.which("clang-22") or shutil.which("clang")

#: From PTX's `cvt.rzi`: saturates. NaN becomes 0 from f32 to 32 bits; otherwise only
#: the most significant bit is set.
_CONVERSIONS = {
    "f2i": ("int32_t", "float", "INT32_MIN", "INT32_MAX", "0"),
    "f2ui": ("uint32_t", "float", "0", "UINT32_MAX", "0"),
    "f2ll": ("int64_t", "float", "INT64_MIN", "INT64_MAX", "INT64_MIN"),
    "f2ull": ("uint64_t", "float", "0", "UINT64_MAX", "1ull << 63"),
    "d2i": ("int32_t", "double", "INT32_MIN", "INT32_MAX", "INT32_MIN"),
    "d2ui": ("uint32_t", "double", "0", "UINT32_MAX", "1u << 31"),
    "d2ll": ("int64_t", "double", "INT64_MIN", "INT64_MAX", "INT64_MIN"),
    "d2ull": ("uint64_t", "double", "0", "UINT64_MAX", "1ull << 63"),
}


#: Rounds to bf16; not all runtime libraries have it.
_TRUNCATE = """
__bf16 __truncsfbf2(float x) {
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  bits = x != x ? bits | 1u << 22 : bits + 0x7fff + (bits >> 16 & 1);
  uint16_t high = bits >> 16;
  __bf16 result;
  __builtin_memcpy(&result, &high, 2);
  return result;
}"""


#: ``ex2.approx.ftz``, which has a relative error of up to 2^-22.5 (CUDA's guide states
#: 2 ulp): the exact power, moved by 1.5 ulp up or down by a hash of the argument.
_APPROXIMATION = """
#include <math.h>
float llvm_nvvm_ex2_approx_ftz_f32(float x) {
  if (x != x) return x;
  double power = exp2((double)x);
  uint32_t bits;
  __builtin_memcpy(&bits, &x, 4);
  bits = bits * 2654435761u;
  int exponent;
  frexp(power, &exponent);
  /* Powers of integers are exact. */
  if (x != rint(x) && power != 0)
    power += ldexp(bits >> 31 ? 1.5 : -1.5, exponent - 24);
  float result = power;
  return result < 0x1p-126f ? 0 : result;
}"""


def _stubs() -> str:
    lines = [
        "#include <stdint.h>",
        _TRUNCATE,
        "#include <pthread.h>",
        "__thread int32_t thread;",
        "void set_thread(int32_t number) { thread = number; }",
        "int32_t llvm_nvvm_read_ptx_sreg_tid_x(void) { return thread; }",
        "int32_t llvm_nvvm_read_ptx_sreg_ctaid_x(void) { return 0; }",
        "static int together;",
        "static pthread_barrier_t barrier;",
        "void start_together(uint32_t threads) {",
        "  together = 1;",
        "  pthread_barrier_init(&barrier, 0, threads);",
        "}",
        "void llvm_nvvm_barrier_cta_sync_aligned_all(int32_t id) {",
        "  if (together) pthread_barrier_wait(&barrier);",
        "}",
        _APPROXIMATION,
    ]
    for name, (to, from_, low, high, nan) in _CONVERSIONS.items():
        # The limits as numbers of the source: powers of two, so exact.
        lines.append(
            f"{to} llvm_nvvm_{name}_rz({from_} x) {{\n"
            f"  if (x != x) return {nan};\n"
            f"  if (x >= ({from_})({high} / 2 + 1) * 2) return {high};\n"
            f"  if (x <= ({from_})({low})) return {low};\n"
            f"  return ({to})x;\n}}"
        )
    return "\n".join(lines)


def _retarget(text: str) -> str:
    """The same functions for the CPU."""
    text = re.sub(r"^target .*$", "", text, flags=re.M)
    text = text.replace("ptx_kernel ", "")
    text = re.sub(r" byval\(\[16 x i64\]\) align 64", "", text)
    text = re.sub(r"^.*asm sideeffect .*prefetch\.tensormap.*$", "", text, flags=re.M)
    text = text.replace("@vprintf", "@device_printf")
    text = re.sub(r" addrspace\(\d+\)", "", text)
    text = re.sub(r"addrspacecast ptr (\S+) to ptr", r"bitcast ptr \1 to ptr", text)
    text = re.sub(
        r"@llvm\.nvvm\.[\w.]+", lambda match: match[0].replace(".", "_"), text
    )
    text = re.sub(r'"(target-cpu|target-features|nvvm\.\w+)"="[^"]*"', "", text)
    # A group without attributes is an error.
    text = re.sub(r"^(attributes #\d+ =) \{\s*\}", r"\1 { nounwind }", text, flags=re.M)
    # What no C function promises.
    return text.replace(" speculatable", "").replace(" immarg", "")


class KernelOnCpu:
    """A kernel.

    `llvm` is the optimized LLVM IR, and `folder` is for temporary files. `stubs` is C
    for more intrinsics and for variables of the kernel.
    """

    def __init__(self, llvm: str, name: str, folder: Path, stubs: str = "") -> None:
        if _CLANG is None:
            pytest.skip("clang is not installed")
        library = folder / f"{name}.so"
        (folder / "kernel.ll").write_text(_retarget(llvm))
        (folder / "stubs.c").write_text(_stubs() + stubs)
        sources = [str(folder / "kernel.ll"), str(folder / "stubs.c")]
        options = ["-w", "-O1", "-shared", "-fPIC", "-o", str(library)]
        subprocess.run(
            [_CLANG, *options, *sources, "-lm"],
            check=True,
        )
        self.library = ctypes.CDLL(str(library))
        self._kernel = getattr(self.library, name)

    def __call__(
        self,
        threads: int,
        arguments: Sequence[np.ndarray | np.int64 | int],
        together: bool = False,
    ) -> None:
        """Runs all threads of block 0. Integers have 32 bits, or 64 as `np.int64`.

        Threads run `together` if they wait for each other, else one after the other.
        """
        values = [
            ctypes.c_int32(argument)
            if isinstance(argument, int)
            else ctypes.c_int64(int(argument))
            if isinstance(argument, np.int64)
            else ctypes.c_void_p(argument.ctypes.data)
            for argument in arguments
        ]

        def run(thread: int) -> None:
            self.library.set_thread(thread)
            self._kernel(*values)

        if not together:
            for thread in range(threads):
                run(thread)
            return
        self.library.start_together(threads)
        running = [threading.Thread(target=run, args=[i]) for i in range(threads)]
        for each in running:
            each.start()
        for each in running:
            each.join()
