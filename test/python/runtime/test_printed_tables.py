"""Tables that kernels print on NVIDIA GPUs: LLVM IR that runs on the CPU."""

import ctypes

import numpy as np

import tilews
import tilews.language as tl
from support.llvm_on_cpu import KernelOnCpu

#: The device's printf, which reads its arguments from memory (CUDA C++ Programming
#: Guide, "Formatted Output"), and the shared memory of the block.
DEVICE = r"""
#include <stdio.h>
#include <string.h>
_Alignas(1024) char tile_shared[1 << 16];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
char output[1 << 20];

static int word(const char *format) {  /* Whether an argument has 32 bits. */
  return format[strspn(format, "0123456789")] == 'd';
}

int32_t device_printf(const char *format, const char *arguments) {
  pthread_mutex_lock(&mutex);
  char *end = output + strlen(output);
  for (; *format; ++format) {
    if (*format != '%' || format[1] == '%') {
      *end++ = *format;
      format += *format == '%';
      continue;
    }
    char one[16] = "%";
    size_t length = strcspn(format + 1, "dgux") + 1;
    memcpy(one + 1, format + 1, length);
    int size = word(format + 1) ? 4 : 8;
    arguments = (const char *)(((uintptr_t)arguments + size - 1) & -size);
    if (format[length] == 'g')
      end += sprintf(end, one, *(const double *)arguments);
    else if (size == 4)
      end += sprintf(end, one, *(const int32_t *)arguments);
    else
      end += sprintf(end, one, *(const int64_t *)arguments);
    arguments += size;
    format += length;
  }
  *end = 0;
  pthread_mutex_unlock(&mutex);
  return 0;
}
int32_t llvm_nvvm_read_ptx_sreg_ctaid_y(void) { return 0; }
int32_t llvm_nvvm_read_ptx_sreg_ctaid_z(void) { return 0; }
"""


@tilews.kernel(threads=64)
def printing(X: tl.Tensor["3, 20", tl.f32], B: tl.Tensor["5", tl.i8]):
    tl.grid(1)
    tl.print("x %", tl.load(X))
    tl.print("scalar", tl.load(B[4]).to(tl.i32))
    tl.print("b", tl.load(B), tl.load(B) > 0)
    tl.print("bytes", tl.load(B).to(tl.u8))


TABLE = """\
block (0, 0, 0): x % (0, 0:8)            0         0.25          0.5         0.75\
            1         1.25          1.5         1.75
block (0, 0, 0): x % (0, 8:16)            2         2.25          2.5         2.75\
            3         3.25          3.5         3.75
block (0, 0, 0): x % (0, 16:20)            4         4.25          4.5         4.75
"""


def run(kernel, folder, *arrays):
    """What a kernel prints, line by line."""
    compiled = kernel.compile("sm_90a")
    on_cpu = KernelOnCpu(compiled.llvm, kernel.__name__, folder, DEVICE)
    on_cpu(compiled.manifest["block"][0], arrays, together=True)
    text = ctypes.create_string_buffer(1 << 20)
    ctypes.memmove(text, on_cpu.library.output, 1 << 20)
    return text.value.decode().splitlines()


def test_rows_are_lines(tmp_path):
    x = np.arange(60, dtype=np.float32).reshape(3, 20) / 4
    b = np.array([0, 1, -2, 3, -128], np.int8)
    found = run(printing, tmp_path, x, b)
    assert found[:3] == TABLE.splitlines()
    assert found[9:] == [
        "block (0, 0, 0): scalar -128",
        "block (0, 0, 0): b (0:5)    0    1   -2    3 -128",
        "block (0, 0, 0): b (0:5) 0 1 0 1 0",
        "block (0, 0, 0): bytes (0:5)    0    1  254    3  128",
    ]


@tilews.kernel(threads=128)
def large(X: tl.Tensor["2, 50, 40", tl.i32]):
    tl.grid(1)
    tl.print("x", tl.load(X))


def test_each_element_is_printed_once_and_in_order(tmp_path):
    x = np.arange(4000, dtype=np.int32).reshape(2, 50, 40)
    lines = run(large, tmp_path, x)
    assert len(lines) == 500
    numbers = [line.split(") ")[-1].split() for line in lines]
    np.testing.assert_array_equal(np.concatenate(numbers).astype(int), np.arange(4000))
    assert lines[251].startswith("block (0, 0, 0): x (1, 0, 8:16) ")
