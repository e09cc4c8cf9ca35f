// RUN: tilews-translate %s --kernel=scale --to=manifest | FileCheck %s
// RUN: not tilews-translate %s --to=manifest 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not tilews-translate %s --to=manifest --kernel=gemm 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not tilews-translate %s --to=manifest --kernel=bare 2>&1 | FileCheck %s --check-prefix=BARE

// SEVERAL: error: expected one kernel, found 2; name one
// UNKNOWN: error: has no kernel 'gemm'
// UNKNOWN: note: kernel @scale
// BARE: error: has no 'tile.arguments', from which its launch manifest is made

// CHECK: "arguments": [
// CHECK:      "alignment": 16,
// CHECK:      "divisible": [
// CHECK-NEXT:   1,
// CHECK-NEXT:   8
// CHECK:      "dtype": "bf16",
// CHECK-NEXT: "kind": "buffer",
// CHECK-NEXT: "name": "X",
// CHECK-NEXT: "shape": [
// CHECK-NEXT:   "M",
// CHECK-NEXT:   null
// CHECK:      "strides": [
// CHECK-NEXT:   null,
// CHECK-NEXT:   1
// CHECK:      "dtype": "i32",
// CHECK-NEXT: "kind": "scalar",
// CHECK-NEXT: "name": "arg1",
// CHECK-NEXT: "unsigned": true
// CHECK: "block": [
// CHECK-NEXT: 256,
// CHECK: "cluster": [
// CHECK-NEXT: 2,
// CHECK: "format": 1,
// CHECK: "grid": [
// CHECK:      "args": [
// CHECK:            "extent": [
// CHECK-NEXT:         0,
// CHECK-NEXT:         0
// CHECK:      "op": "ceildiv"
// CHECK:          "scalar": 1
// CHECK: "grid_text": [
// CHECK-NEXT: "ceildiv(M, 128)",
// CHECK-NEXT: "(X.shape[1] + arg1)",
// CHECK-NEXT: "1"
// CHECK: "index_bitwidth": 64,
// CHECK-NEXT: "kernel": "scale",
// CHECK: "parameters": [
// CHECK:      "argument": 0,
// CHECK-NEXT: "dtype": "bf16",
// CHECK-NEXT: "kind": "pointer"
// CHECK:      "dimension": 0,
// CHECK-NEXT: "dtype": "i64",
// CHECK-NEXT: "kind": "extent"
// CHECK:      "dimension": 1,
// CHECK:      "kind": "extent"
// CHECK:      "dimension": 0,
// CHECK:      "kind": "stride"
// CHECK:      "argument": 1,
// CHECK-NEXT: "dtype": "i32",
// CHECK-NEXT: "kind": "scalar"
// CHECK: "resources": {
// CHECK:   "scalar_registers": {{[1-9]}}
// CHECK: "shared_bytes": 4096,
// CHECK: "chip": "gfx942",
gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  llvm.func @scale(%x: !llvm.ptr<1>, %m: i64, %n: i64, %stride: i64, %k: i32)
    attributes {rocdl.kernel, tile.threads = 256 : i32,
      tile.cluster = array<i32: 2, 1, 1>, tile.shared_bytes = 4096 : i64,
      tile.grid = affine_map<()[s0, s1, s2] -> (s0 ceildiv 128, s2 + s1)>,
      tile.arguments = [
        {type = memref<?x?xbf16, strided<[?, 1]>>, tile.name = "X",
         tile.symbols = ["M", ""], tile.divisible = array<i64: 1, 8>},
        {type = i32, tile.unsigned}]} {
    llvm.return
  }
  llvm.func @bare() attributes {rocdl.kernel} {
    llvm.return
  }
}
