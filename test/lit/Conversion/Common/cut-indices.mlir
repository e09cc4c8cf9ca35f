// RUN: tilews-opt %s --convert-tile-to-nvvm --verify-diagnostics -o /dev/null
// RUN: sed -e 's/expected-remark/unexpected/' %s > %t.mlir
// RUN: tilews-opt %t.mlir --convert-tile-to-nvvm=index-bitwidth=64 --verify-diagnostics -o /dev/null

// Numbers that may not fit an index of 32 bits are named, unless indices have 64.

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @loop(%n: i64, %x: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-remark @below {{tile-index-0001: a number of type 'i64' becomes an index of 32 bits: what does not fit is cut off, and the interpreter has other results}}
    %end = arith.index_cast %n : i64 to index
    scf.for %i = %c0 to %end step %c1 {
      memref.store %i, %x[%i] : memref<?xindex>
    }
    gpu.return
  }

  gpu.func @unsigned(%n: i32, %m: i32, %x: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    // expected-remark @below {{tile-index-0001: a number of type 'i32' without sign becomes an index of 32 bits}}
    %i = arith.index_castui %n : i32 to index
    memref.store %i, %x[%c0] : memref<?xindex>
    // Its last bit is no sign.
    %long = arith.extui %m : i32 to i64
    // expected-remark @below {{tile-index-0001: a number of type 'i64' becomes}}
    %j = arith.index_cast %long : i64 to index
    memref.store %j, %x[%c0] : memref<?xindex>
    gpu.return
  }

  gpu.func @fitting(%a: i32, %b: i16, %d: index, %x: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %i0 = arith.index_cast %a : i32 to index
    memref.store %i0, %x[%c0] : memref<?xindex>
    %long = arith.extsi %a : i32 to i64
    %i1 = arith.index_cast %long : i64 to index
    memref.store %i1, %x[%c0] : memref<?xindex>
    %short = arith.extui %b : i16 to i64
    %i2 = arith.index_castui %short : i64 to index
    memref.store %i2, %x[%c0] : memref<?xindex>
    %back = arith.index_cast %d : index to i64
    %i3 = arith.index_cast %back : i64 to index
    memref.store %i3, %x[%c0] : memref<?xindex>
    // The other direction.
    %cut = arith.index_cast %d : index to i32
    %i4 = arith.index_cast %cut : i32 to index
    memref.store %i4, %x[%c0] : memref<?xindex>
    gpu.return
  }
}
