// REQUIRES: test-passes
// RUN: tilews-opt %s --test-tile-layout-candidates -o /dev/null | FileCheck %s

gpu.module @layouts [#nvvm.target<chip = "sm_80">] {
  // The load and the store want wide vectors, the reduction whole rows in a warp.
  // CHECK-LABEL: kernel @reduction
  // CHECK-NEXT: node 0: %0
  // CHECK-NEXT: node 1: %1
  // CHECK-NEXT: edge 0 -> 1: operand 0 of %1 = tile.reduce %0
  // CHECK-NEXT: node 0: %0
  // CHECK-NEXT:   reads %arg0 64x64, at most 4 elements at a time
  // CHECK-NEXT:   access by %0 = tile.load %arg0: #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>
  // CHECK-NEXT: node 1: %1
  // CHECK-NEXT:   writes %arg1 64, at most 4 elements at a time
  // CHECK-NEXT:   access by tile.store %1, %arg1: #tile.fragment<thread = (64, 2):(1*d0, 0), value = ():()>
  // CHECK-NEXT:   access by %0 = tile.load %arg0, via %1 = tile.reduce %0: #tile.fragment<thread = (16, 8):(0, 1*d0), value = (8):(8*d0)>
  // CHECK-NEXT: costs:
  // CHECK-NEXT: conversion of tensor<64xf32> from #tile.fragment<thread = (16, 8):(0, 1*d0), value = (8):(8*d0)> to #tile.fragment<thread = (16, 2, 4):(0, 8*d0, 2*d0), value = (2, 4):(1*d0, 16*d0)>: 292
  // CHECK-NEXT: conversion of tensor<64xf32> from #tile.fragment<thread = (16, 8):(0, 1*d0), value = (8):(8*d0)> to #tile.fragment<thread = (64, 2):(1*d0, 0), value = ():()>: 1096, in scratch
  // CHECK-NEXT: reads memref<64x64xf32> as tensor<64x64xf32>, at most 4 elements at a time, in #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>: 1280
  // CHECK-NEXT: writes memref<64xf32> as tensor<64xf32>, at most 4 elements at a time, in #tile.fragment<thread = (64, 2):(1*d0, 0), value = ():()>: 64
  // CHECK-NEXT: writes memref<64xf32> as tensor<64xf32>, at most 4 elements at a time, in #tile.fragment<thread = (16, 8):(0, 1*d0), value = (8):(8*d0)>: 320
  // CHECK-NEXT: writes memref<64xf32> as tensor<64xf32>, at most 4 elements at a time, in #tile.fragment<thread = (16, 2, 4):(0, 8*d0, 2*d0), value = (2, 4):(1*d0, 16*d0)>: 192
  // CHECK-NEXT: choices:
  // CHECK-NEXT: %0: #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>, widest accesses of 'tile.load' (1 of 1)
  // CHECK-NEXT: %1: #tile.fragment<thread = (16, 8):(0, 1*d0), value = (8):(8*d0)>, widest accesses of 'tile.load' (2 of 2)
  gpu.func @reduction(%A: memref<64x64xf32>, %C: memref<64xf32>) kernel {
    %x = tile.load %A[0, 0] : memref<64x64xf32> -> tensor<64x64xf32>
    %s = tile.reduce <sum> %x {axis = 1 : i64} : tensor<64x64xf32> -> tensor<64xf32>
    tile.store %s to %C[0] : tensor<64xf32> to memref<64xf32>
    gpu.return
  }

  // A type that has a layout leaves no other candidate.
  // CHECK-LABEL: kernel @given
  // CHECK-NEXT: node 0: %0, type has #tile.fragment<thread = (32, 4):(1*d1, 16*d0), value = (2, 16):(32*d1, 1*d0)>
  // CHECK-NEXT: node 1: %1, type has #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (32):(2*d0)>
  // CHECK-NEXT: edge 0 -> 1: operand 0 of %1 = tile.convert_layout %0
  // CHECK-NEXT: node 0: %0
  // CHECK-NEXT:   reads %arg0 64x64, at most 4 elements at a time
  // CHECK-NEXT:   type of %0 = tile.load %arg0: #tile.fragment<thread = (32, 4):(1*d1, 16*d0), value = (2, 16):(32*d1, 1*d0)>
  // CHECK-NEXT: node 1: %1
  // CHECK-NEXT:   writes %arg0 64x64, at most 4 elements at a time
  // CHECK-NEXT:   type of %1 = tile.convert_layout %0: #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (32):(2*d0)>
  // CHECK-NEXT: costs:
  // CHECK-NEXT: conversion of tensor<64x64xf32> from #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (32):(2*d0)> to #tile.fragment<thread = (4, 16, 2):(2*d0, 4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>: 1976, in scratch
  // CHECK-NEXT: conversion of tensor<64x64xf32> from #tile.fragment<thread = (32, 4):(1*d1, 16*d0), value = (2, 16):(32*d1, 1*d0)> to #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (32):(2*d0)>: 1976, in scratch
  // CHECK-NEXT: reads memref<64x64xf32> as tensor<64x64xf32, #tile.fragment<thread = (32, 4):(1*d1, 16*d0), value = (2, 16):(32*d1, 1*d0)>>, at most 4 elements at a time, in #tile.fragment<thread = (32, 4):(1*d1, 16*d0), value = (2, 16):(32*d1, 1*d0)>: 2048
  // CHECK-NEXT: writes memref<64x64xf32> as tensor<64x64xf32, #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (32):(2*d0)>>, at most 4 elements at a time, in #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (32):(2*d0)>: 2048
  // CHECK-NEXT: writes memref<64x64xf32> as tensor<64x64xf32, #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (32):(2*d0)>>, at most 4 elements at a time, in #tile.fragment<thread = (4, 16, 2):(2*d0, 4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>: 1280
  // CHECK-NEXT: choices:
  // CHECK-NEXT: %0: #tile.fragment<thread = (32, 4):(1*d1, 16*d0), value = (2, 16):(32*d1, 1*d0)>, given by a type (1 of 1)
  // CHECK-NEXT: %1: #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (32):(2*d0)>, given by a type (1 of 1)
  gpu.func @given(%A: memref<64x64xf32>) kernel {
    %x = tile.load %A[0, 0] : memref<64x64xf32> -> tensor<64x64xf32, #tile.fragment<thread = (32, 4):(1*d1, 16*d0), value = (2, 16):(32*d1, 1*d0)>>
    %y = tile.convert_layout %x : tensor<64x64xf32, #tile.fragment<thread = (32, 4):(1*d1, 16*d0), value = (2, 16):(32*d1, 1*d0)>> to tensor<64x64xf32, #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (32):(2*d0)>>
    tile.store %y to %A[0, 0] : tensor<64x64xf32, #tile.fragment<thread = (64, 2):(1*d1, 1*d0), value = (32):(2*d0)>> to memref<64x64xf32>
    gpu.return
  }

  // A carried value, its initial constant and the result: one node, without the constant.
  // CHECK-LABEL: kernel @carried
  // CHECK-NEXT: node 0: %cst
  // CHECK-NEXT: node 1: %0, %arg3
  // CHECK-NEXT: node 2: %1
  // CHECK-NEXT: node 3: %2
  // CHECK-NEXT: edge 3 -> 1: operand 0 of scf.yield %2
  // CHECK-NEXT: edge 1 -> 3: operand 0 of %2 = arith.addf %arg3, %1
  // CHECK-NEXT: edge 2 -> 3: operand 1 of %2 = arith.addf %arg3, %1
  // CHECK-NEXT: node 1: %0, %arg3
  // CHECK-NEXT:   writes %arg0 64x64, at most 4 elements at a time
  // CHECK-NEXT:   access by tile.store %0, %arg0: #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>
  // CHECK-NEXT: node 2: %1
  // CHECK-NEXT:   reads %arg0 64x64, at most 4 elements at a time
  // CHECK-NEXT:   access by %1 = tile.load %arg0, %arg2: #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>
  // CHECK-NEXT: node 3: %2
  // CHECK-NEXT:   access by tile.store %0, %arg0, via scf.yield %2: #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>
  // CHECK-NEXT: costs:
  // CHECK-NEXT: writes memref<?x64xf32> as tensor<64x64xf32>, at most 4 elements at a time, in #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>: 1280
  // CHECK-NEXT: reads memref<?x64xf32> as tensor<64x64xf32>, at most 4 elements at a time, in #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>: 1280
  // CHECK-NEXT: choices:
  // CHECK-NEXT: %0, %arg3: #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>, widest accesses of 'tile.store' (1 of 1)
  // CHECK-NEXT: %1: #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>, widest accesses of 'tile.load' (1 of 1)
  // CHECK-NEXT: %2: #tile.fragment<thread = (16, 8):(4*d1, 1*d0), value = (4, 8):(1*d1, 8*d0)>, widest accesses of 'tile.store' (1 of 1)
  gpu.func @carried(%A: memref<?x64xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : tensor<64x64xf32>
    %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) {
      %x = tile.load %A[%i, 0] : memref<?x64xf32> -> tensor<64x64xf32>
      %s = arith.addf %acc, %x : tensor<64x64xf32>
      scf.yield %s : tensor<64x64xf32>
    }
    tile.store %r to %A[0, 0] : tensor<64x64xf32> to memref<?x64xf32>
    gpu.return
  }

  // Rows of 24 elements, which no power of two divides evenly, with dynamic bounds.
  // CHECK-LABEL: kernel @odd_rows
  // CHECK-NEXT: node 0: %0
  // CHECK-NEXT: node 0: %0
  // CHECK-NEXT:   reads %arg0 40x24, at most 1 elements at a time
  // CHECK-NEXT:   writes %arg0 40x24, at most 1 elements at a time
  // CHECK-NEXT:   access by %0 = tile.load %arg0, %arg1: #tile.fragment<thread = (8, 16):(1*d1, 1*d0), value = (3, 3):(8*d1, 16*d0)>
  // CHECK-NEXT: costs:
  // CHECK-NEXT: reads memref<?x?xf32> as tensor<40x24xf32>, at most 1 elements at a time, in #tile.fragment<thread = (8, 16):(1*d1, 1*d0), value = (3, 3):(8*d1, 16*d0)>: 576
  // CHECK-NEXT: writes memref<?x?xf32> as tensor<40x24xf32>, at most 1 elements at a time, in #tile.fragment<thread = (8, 16):(1*d1, 1*d0), value = (3, 3):(8*d1, 16*d0)>: 576
  // CHECK-NEXT: choices:
  // CHECK-NEXT: %0: #tile.fragment<thread = (8, 16):(1*d1, 1*d0), value = (3, 3):(8*d1, 16*d0)>, widest accesses of 'tile.load' (1 of 1)
  gpu.func @odd_rows(%A: memref<?x?xf32>, %i: index) kernel {
    %x = tile.load %A[%i, 0] : memref<?x?xf32> -> tensor<40x24xf32>
    tile.store %x to %A[0, %i] : tensor<40x24xf32> to memref<?x?xf32>
    gpu.return
  }
}
