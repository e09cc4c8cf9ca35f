"""Copies of run-time sizes: which tensor map and which box TMA gets, on the CPU.

TMA accesses the start of a tensor map if a box is completely outside of it. The map of
such a copy starts before the array, where there may be no memory. The kernel's LLVM IR
runs on the CPU, and C functions record the boxes. A map is what the launch encodes.
"""

import ctypes
import re

import numpy as np
import pytest

from support.launches import FakeArray
from support.llvm_on_cpu import KernelOnCpu
from targets.tma import windows
from tilews.runtime.launch import Launcher

RECORD = """
#include <stdbool.h>
char tile_shared[65536] __attribute__((aligned(1024)));
struct { void *map; int32_t coords[3]; } boxes[8];
int32_t count;
void llvm_nvvm_cp_async_bulk_tensor_s2g_tile_3d(void *shared, void *map, int32_t x,
    int32_t y, int32_t z, int64_t hint, bool has_hint) {
  boxes[count].map = map;
  boxes[count].coords[0] = x, boxes[count].coords[1] = y, boxes[count].coords[2] = z;
  ++count;
}
int32_t llvm_nvvm_shfl_sync_idx_i32(int32_t mask, int32_t x, int32_t lane, int32_t c) {
  return x;
}
void llvm_nvvm_fence_proxy_async_shared_cta(void) {}
void llvm_nvvm_cp_async_bulk_commit_group(void) {}
void llvm_nvvm_cp_async_bulk_wait_group_read(int32_t left) {}
"""


class Box(ctypes.Structure):
    _fields_ = (("map", ctypes.c_void_p), ("coords", ctypes.c_int32 * 3))


@pytest.fixture(scope="module")
def store_rows():
    return windows.compile_store_rows()


def find_elements(tensor_map, coords):
    """The rows and columns of a box in a map, and the same ones in the array."""
    inside = [
        np.flatnonzero(
            (first + np.arange(box) >= 0) & (first + np.arange(box) < extent)
        )
        for first, box, extent in zip(
            coords, tensor_map.box, tensor_map.extents, strict=True
        )
    ]
    if not all(map(len, inside)):
        return [], [], [], []
    columns, rows, _ = inside
    shift, rest = divmod(tensor_map.shift, tensor_map.strides[0])
    assert not rest
    return rows, columns, rows + coords[1] + coords[2] - shift, columns + coords[0]


@pytest.mark.parametrize("shape", [(700, 64), (700, 52), (1, 32), (40, 4)], ids=str)
def test_boxes(store_rows, shape, tmp_path):
    kernel = KernelOnCpu(store_rows.llvm, "store_rows", tmp_path, RECORD)
    boxes = (Box * 8).in_dll(kernel.library, "boxes")
    count = ctypes.c_int32.in_dll(kernel.library, "count")
    rows, columns = shape
    x = FakeArray((512, 32), "<f4", pointer=1 << 20)
    y = FakeArray(shape, "<f4", pointer=1 << 30)
    plan = Launcher(store_rows.manifest).prepare([x, y, 0, 0, 0])
    window, outside = plan.tensor_maps
    assert window.shift == 512 * window.strides[0]
    assert outside.shift == 0
    memory = np.zeros((512, 32), np.float32)
    storage = [np.zeros(16, np.int64) for _ in plan.tensor_maps]
    by_address = {
        array.ctypes.data: tensor_map
        for array, tensor_map in zip(storage, plan.tensor_maps, strict=True)
    }
    for first, n in [*windows.places(rows, 512), (3, 256), (3, 257), (2**31 - 9, 8)]:
        end = min(first + n, 2**31 - 1)
        for column in (0, 32, 64, 1 << 30, -4, -32, 2**31 - 4, -(2**31)):
            count.value = 0
            sizes = [rows, columns, first, end, column]
            kernel(1, [memory, memory, *sizes, *storage])
            assert count.value == 2
            for number, box in enumerate(boxes[:2]):
                found = find_elements(by_address[box.map], box.coords)
                place = first + 256 * number + np.arange(256)
                exists = (place < min(end, rows)) & (first >= 0)
                across = column + np.arange(32)
                wide = (across >= 0) & (across < columns)
                is_empty = not (exists.any() and wide.any())
                assert (by_address[box.map] is outside) == is_empty, (sizes, number)
                if is_empty:
                    assert not any(map(len, found))
                    continue
                np.testing.assert_array_equal(found[0], np.flatnonzero(exists))
                np.testing.assert_array_equal(found[1], np.flatnonzero(wide))
                np.testing.assert_array_equal(found[2], place[exists])
                np.testing.assert_array_equal(found[3], across[wide])


@pytest.mark.parametrize("shape", [(0, 32), (4, 0)], ids=str)
def test_nothing_is_stored_to_empty_arrays(store_rows, shape, tmp_path):
    """Their map is of a zero that all kernels read."""
    kernel = KernelOnCpu(store_rows.llvm, "store_rows", tmp_path, RECORD)
    memory, storage = np.zeros((512, 32), np.float32), np.zeros(16, np.int64)
    kernel(1, [memory, memory, *shape, 0, 4, 0, storage, storage])
    assert ctypes.c_int32.in_dll(kernel.library, "count").value == 0


def test_coordinates_beyond_32_bits(tmp_path):
    """They do not wrap: what is far outside stays outside."""
    compiled = windows.compile_store_rows(index_bitwidth=64)
    kernel = KernelOnCpu(compiled.llvm, "store_rows", tmp_path, RECORD)
    boxes = (Box * 8).in_dll(kernel.library, "boxes")
    count = ctypes.c_int32.in_dll(kernel.library, "count")
    memory = np.zeros((512, 32), np.float32)
    inner, outer = np.zeros(16, np.int64), np.zeros(16, np.int64)
    for first, column, is_inside in (
        (0, 0, True),
        (0, 2**32, False),
        (0, -(2**32), False),
        (0, 2**31, False),
        (2**32, 0, False),
        (-(2**32), 0, False),
    ):
        sizes = map(np.int64, (700, 64, first, first + 4, column))
        count.value = 0
        kernel(1, [memory, memory, *sizes, inner, outer])
        found = [box.map for box in boxes[: count.value]]
        wanted = [inner if is_inside else outer, outer]
        assert found == [array.ctypes.data for array in wanted], (first, column)
        coords = boxes[0].coords[0]
        assert coords == min(max(column, -(2**31)), 2**31 - 1)


@pytest.mark.parametrize("kernel", [windows.load_rows, windows.load_batch])
def test_loads_use_tma(kernel):
    compiled = kernel.compile("sm_90a")
    assert [
        (recipe["window"]["size"], recipe.get("outside"))
        for recipe in compiled.manifest["tensor_maps"]
    ] == [(64, None), (64, True)]
    (used,) = re.findall(
        r"cp\.async\.bulk\.tensor\..d\.shared.*\[.*\], \[(%rd\d+), {", compiled.ptx
    )
    assert re.search(rf"selp\.b64 \s*{used}, %rd\d+, %rd\d+, %p", compiled.ptx)


@pytest.mark.parametrize("first, n", windows.places(100, 64))
def test_interpreter(first, n):
    x = np.random.default_rng(0).standard_normal((100, 72)).astype(np.float16)
    y = np.full((64, 256), np.nan, np.float16)
    windows.load_rows(x, y, first, n, target="cpu")
    np.testing.assert_array_equal(y, windows.rows_of(x, first, n, y.shape))
