// RUN: rm -rf %t && split-file --leading-lines %s %t
// RUN: not tilews-translate --to=promela %t/no-schedule.mlir 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not tilews-translate --to=promela %t/persistent.mlir 2>&1 | FileCheck %s --check-prefix=PERSISTENT
// RUN: not tilews-translate --to=promela %t/selected.mlir 2>&1 | FileCheck %s --check-prefix=SELECTED
// RUN: not tilews-translate --to=promela %t/execute.mlir 2>&1 | FileCheck %s --check-prefix=EXECUTE
// RUN: not tilews-translate --to=promela %t/thread.mlir 2>&1 | FileCheck %s --check-prefix=THREAD
// RUN: not tilews-translate --to=promela %t/written.mlir 2>&1 | FileCheck %s --check-prefix=WRITTEN
// RUN: not tilews-translate --to=promela %t/floats.mlir 2>&1 | FileCheck %s --check-prefix=FLOATS
// RUN: not tilews-translate --to=promela %t/large.mlir 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not tilews-translate --to=promela %t/no-slot.mlir 2>&1 | FileCheck %s --check-prefix=NO-SLOT
// RUN: not tilews-translate --to=promela %t/silent.mlir 2>&1 | FileCheck %s --check-prefix=SILENT
// RUN: not tilews-translate --to=promela %t/parts.mlir 2>&1 | FileCheck %s --check-prefix=PARTS
// RUN: not tilews-translate --to=promela %S/../../Verifier/Inputs/shared_copies.mlir 2>&1 | FileCheck %s --check-prefix=CLUSTER

// CLUSTER: shared_copies.mlir:{{[0-9]+}}:{{[0-9]+}}: error: is not exported to Promela: the model has one block, and this is about other blocks of a cluster

//--- no-schedule.mlir
// NOTHING: [[#@LINE+2]]:3: error: has no schedule that could be exported to Promela: neither tile.channel nor tile.mbarrier, and no asynchronous copies or matmuls
gpu.module @m {
  gpu.func @k() kernel {
    gpu.return
  }
}

//--- persistent.mlir
// PERSISTENT: [[#@LINE+6]]:5: error: is not exported to Promela: expected a kernel in which --tile-lower-persistent has replaced it
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%n: index) kernel {
    %a = tile.alloc_shared : !buffer
    %c = tile.channel(%a) {producer = #tile.producer<tma>} : !buffer -> !tile.channel<2>
    tile.persistent (%x) in (%n) {
    }
    gpu.return
  }
}

//--- selected.mlir
// SELECTED: [[#@LINE+9]]:10: error: is not exported to Promela: control flow selects the shared buffer that it accesses
!buffer = memref<16xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%on: i1) kernel {
    %a = tile.alloc_shared : !buffer
    %b = tile.alloc_shared : !buffer
    %f = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<1>
    %c = arith.select %on, %a, %b : !buffer
    tile.mbarrier_ready
    %x = tile.load %c : !buffer -> tensor<16xf32>
    gpu.return
  }
}

//--- execute.mlir
// EXECUTE: [[#@LINE+5]]:7: error: is not exported to Promela: it stands in 'scf.execute_region', expected scf.for, scf.if or scf.while
gpu.module @m {
  gpu.func @k() kernel {
    %f = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<1>
    scf.execute_region {
      tile.barrier
      scf.yield
    }
    gpu.return
  }
}

//--- thread.mlir
// THREAD: [[#@LINE+4]]:11: error: is not exported to Promela: events depend on its value, which the model does not compute
gpu.module @m {
  gpu.func @k(%n: index) kernel {
    %f = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<1>
    %id = gpu.thread_id x
    %on = arith.cmpi slt, %id, %n : index
    scf.if %on {
      tile.barrier
    }
    gpu.return
  }
}

//--- written.mlir
// WRITTEN: [[#@LINE+7]]:11: error: is not exported to Promela: events depend on what it reads, expected memory that the kernel does not write
gpu.module @m {
  gpu.func @k(%mask: memref<16xi1>) kernel {
    %c0 = arith.constant 0 : index
    %true = arith.constant true
    %f = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<1>
    memref.store %true, %mask[%c0] : memref<16xi1>
    %on = memref.load %mask[%c0] : memref<16xi1>
    scf.if %on {
      tile.barrier
    }
    gpu.return
  }
}

//--- floats.mlir
// FLOATS: [[#@LINE+4]]:11: error: is not exported to Promela: events depend on its value, which the model does not compute
gpu.module @m {
  gpu.func @k(%x: f32) kernel {
    %f = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<1>
    %on = arith.cmpf ogt, %x, %x : f32
    scf.if %on {
      tile.barrier
    }
    gpu.return
  }
}

//--- large.mlir
// LARGE: [[#@LINE+4]]:14: error: is not exported to Promela: its integers have 32 bits, found 4294967296
gpu.module @m {
  gpu.func @k(%n: index) kernel {
    %f = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<1>
    %large = arith.constant 4294967296 : index
    %on = arith.cmpi slt, %n, %large : index
    scf.if %on {
      tile.barrier
    }
    gpu.return
  }
}

//--- no-slot.mlir
// NO-SLOT: [[#@LINE+6]]:10: error: is not exported to Promela: it accesses a channel's buffer, expected tile.slot with a cursor
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k() kernel {
    %a = tile.alloc_shared : !buffer
    %c = tile.channel(%a) {producer = #tile.producer<simt>} : !buffer -> !tile.channel<2>
    %x = tile.load %a[0, 0] [1, 16] : !buffer -> tensor<16xf32>
    gpu.return
  }
}

//--- silent.mlir
// SILENT: [[#@LINE+7]]:5: error: is not exported to Promela: it signals no barrier, so nothing can wait for it
!buffer = memref<16xf32, #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%A: memref<16xf32>) kernel {
    %a = tile.alloc_shared : !buffer
    %f = tile.mbarrier {count = 1 : i64} : !tile.mbarrier<1>
    tile.mbarrier_ready
    tile.copy %A to %a {tile.inst = #tile.inst<tma>} : memref<16xf32> to !buffer
    gpu.return
  }
}

//--- parts.mlir
// PARTS: [[#@LINE+13]]:7: error: is not exported to Promela: it writes a part of a view, and the model does not compute which elements of the buffer these are
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!view = memref<4x4xf32, #gpu.address_space<workgroup>>
!barriers = !tile.mbarrier<1>
gpu.module @m {
  gpu.func @k(%A: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %p = arith.constant 0 : i32
    %a = tile.alloc_shared {tile.offset = 0 : i64} : !slot
    %full = tile.mbarrier {count = 32 : i64} : !barriers
    %v = tile.view %a : !slot to !view
    scf.for %i = %c0 to %n step %n {
      %x = tile.load %A[%i] [4] : memref<?xf32> -> tensor<1x4xf32>
      tile.store %x to %v[%i, %c0] : tensor<1x4xf32> to !view
      tile.mbarrier_arrive %full[%p] {by = #tile.agents<threads>} : !barriers
    }
    gpu.return
  }
}
