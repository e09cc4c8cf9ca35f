// RUN: tilews-opt %s --tile-plan-shared-memory --tile-insert-barriers | FileCheck %s
// Existing barriers count: a second run changes nothing.
// RUN: tilews-opt %s --tile-plan-shared-memory --tile-insert-barriers -o %t.once
// RUN: tilews-opt %t.once --tile-insert-barriers -o %t.twice
// RUN: diff %t.once %t.twice

!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!t = tensor<64x64xf16>
!acc = tensor<64x64xf32>
!g = memref<?x?xf16>

gpu.module @hopper [#nvvm.target<chip = "sm_90a">] {
  // Two barriers an iteration: one before the first copy, which overwrites what the
  // iteration before read, and one before the matmul.
  // CHECK-LABEL: gpu.func @gemm
  // CHECK: scf.for
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.copy
  // CHECK-NEXT: tile.copy
  // CHECK-NEXT: tile.barrier {drain_copies, proxy_fence}
  // CHECK-NEXT: tile.gemm
  // CHECK-NEXT: scf.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu.return
  gpu.func @gemm(%A: !g, %B: !g, %zero: !acc, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%c = %zero) -> !acc {
      tile.copy %A[0, %k] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
      tile.copy %B[%k, 0] to %bs {tile.inst = #tile.inst<cp_async>} : !g to !s
      %d = tile.gemm %as, %bs, %c {tile.inst = #tile.inst<wgmma>} : !s, !s -> !acc
      scf.yield %d : !acc
    }
    gpu.return
  }

  // mma.sync reads like other instructions, so there is no fence. The copy is an
  // ordinary one, so there is nothing to drain.
  // CHECK-LABEL: gpu.func @mma
  // CHECK: tile.copy
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.gemm
  gpu.func @mma(%A: !g, %c: !acc) kernel {
    %as = tile.alloc_shared : !s
    tile.copy %A[0, 0] to %as : !g to !s
    %d = tile.gemm %as, %as, %c {tile.inst = #tile.inst<mma>} : !s, !s -> !acc
    gpu.return
  }

  // The barrier before the load has to fence for the matmul, because no barrier comes
  // between the load and the matmul.
  // CHECK-LABEL: gpu.func @early_fence
  // CHECK: tile.store
  // CHECK-NEXT: tile.barrier {proxy_fence}
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.gemm
  gpu.func @early_fence(%a: !t, %c: !acc) kernel {
    %as = tile.alloc_shared : !s
    tile.store %a to %as : !t to !s
    %x = tile.load %as : !s -> !t
    %d = tile.gemm %as, %as, %c {tile.inst = #tile.inst<wgmma>} : !s, !s -> !acc
    gpu.return
  }

  // An existing barrier that does not fence is not enough.
  // CHECK-LABEL: gpu.func @given_barrier
  // CHECK: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.barrier {proxy_fence}
  // CHECK-NEXT: tile.gemm
  gpu.func @given_barrier(%a: !t, %c: !acc) kernel {
    %as = tile.alloc_shared : !s
    tile.store %a to %as : !t to !s
    tile.barrier
    %d = tile.gemm %as, %as, %c {tile.inst = #tile.inst<wgmma>} : !s, !s -> !acc
    gpu.return
  }

  // The first barrier orders %bs. The copy to %as stays in flight across it.
  // CHECK-LABEL: gpu.func @in_flight
  // CHECK: tile.copy
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.barrier {drain_copies}
  // CHECK-NEXT: tile.load
  gpu.func @in_flight(%A: !g, %b: !t) kernel {
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    tile.copy %A[0, 0] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
    tile.store %b to %bs : !t to !s
    %x = tile.load %bs : !s -> !t
    %y = tile.load %as : !s -> !t
    gpu.return
  }

  // %cs takes the bytes of %as: the store waits for the reads of the matmul. wgmma does
  // not read its data, so there is no fence.
  // CHECK-LABEL: gpu.func @reuse
  // CHECK: tile.barrier {proxy_fence}
  // CHECK-NEXT: tile.gemm
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.copy
  gpu.func @reuse(%a: !t, %c: !acc, %C: memref<?x?xf32>) kernel {
    %as = tile.alloc_shared : !s
    %cs = tile.alloc_shared : memref<64x64xf32, #gpu.address_space<workgroup>>
    tile.store %a to %as : !t to !s
    %d = tile.gemm %as, %as, %c {tile.inst = #tile.inst<wgmma>} : !s, !s -> !acc
    tile.store %d to %cs : !acc to memref<64x64xf32, #gpu.address_space<workgroup>>
    tile.copy %cs to %C[0, 0] : memref<64x64xf32, #gpu.address_space<workgroup>> to memref<?x?xf32>
    gpu.return
  }
}

gpu.module @plain [#nvvm.target<chip = "sm_80">] {
  // The copy may still read %A when the store begins: it is waited for first. So
  // is a copy of an argument that may overlap.
  // CHECK-LABEL: @copied_then_written
  // CHECK: tile.copy
  // CHECK-NEXT: tile.barrier {drain_copies}
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.copy
  // CHECK-NEXT: tile.barrier {drain_copies}
  // CHECK-NEXT: tile.store
  gpu.func @copied_then_written(%A: !g, %B: !g, %b: !t) kernel attributes {tile.may_alias = [array<i32: 0, 1>]} {
    %as = tile.alloc_shared : !s
    tile.copy %A[0, 0] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
    tile.store %b to %A[0, 0] : !t to !g
    tile.copy %A[0, 0] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
    tile.store %b to %B[0, 0] : !t to !g
    gpu.return
  }

  // Two reads do not conflict, nor do accesses to different global buffers.
  // CHECK-LABEL: gpu.func @no_hazard
  // CHECK-NOT: tile.barrier
  // CHECK: gpu.return
  gpu.func @no_hazard(%A: !g, %B: !g, %b: !t) kernel {
    %as = tile.alloc_shared : !s
    %x = tile.load %as : !s -> !t
    %y = tile.load %as : !s -> !t
    tile.store %x to %A[0, 0] : !t to !g
    %z = tile.load %B[0, 0] : !g -> !t
    gpu.return
  }

  // One thread may read data that another one has written to global memory.
  // CHECK-LABEL: gpu.func @global
  // CHECK: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: memref.store
  gpu.func @global(%A: !g, %b: !t, %i: index) kernel {
    tile.store %b to %A[0, 0] : !t to !g
    %z = tile.load %A[0, 0] : !g -> !t
    %x = memref.load %A[%i, %i] : !g
    memref.store %x, %A[%i, %i] : !g
    gpu.return
  }

  // CHECK-LABEL: gpu.func @write_after_write
  // CHECK: tile.store
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store
  gpu.func @write_after_write(%b: !t) kernel {
    %as = tile.alloc_shared : !s
    tile.store %b to %as : !t to !s
    tile.store %b to %as : !t to !s
    gpu.return
  }

  // Regions that are known to be disjoint do not conflict.
  // CHECK-LABEL: gpu.func @regions
  // CHECK: tile.store
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  gpu.func @regions(%b: tensor<16x64xf16>) kernel {
    %as = tile.alloc_shared : !s
    tile.store %b to %as[0, 0] : tensor<16x64xf16> to !s
    tile.store %b to %as[16, 0] : tensor<16x64xf16> to !s
    %x = tile.load %as[32, 0] : !s -> tensor<16x64xf16>
    %y = tile.load %as[31, 0] : !s -> tensor<16x64xf16>
    gpu.return
  }

  // The bytes of columns alternate, and disjoint columns have none in common.
  // CHECK-LABEL: gpu.func @columns
  // CHECK: tile.store
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  gpu.func @columns(%b: tensor<64x16xf16>) kernel {
    %as = tile.alloc_shared : !s
    tile.store %b to %as[0, 0] : tensor<64x16xf16> to !s
    %x = tile.load %as[0, 16] : !s -> tensor<64x16xf16>
    %y = tile.load %as[0, 15] : !s -> tensor<64x16xf16>
    gpu.return
  }

  // One barrier after both branches is enough. There is none where there is nothing to
  // order.
  // CHECK-LABEL: gpu.func @branches
  // CHECK: scf.if
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: } else {
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: }
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store
  gpu.func @branches(%b: !t, %p: i1) kernel {
    %as = tile.alloc_shared : !s
    scf.if %p {
      tile.store %b to %as : !t to !s
    } else {
      %x = tile.load %as : !s -> !t
    }
    tile.store %b to %as : !t to !s
    gpu.return
  }

  // A barrier in one branch does not order the other one.
  // CHECK-LABEL: gpu.func @one_branch
  // CHECK: tile.store
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: }
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  gpu.func @one_branch(%b: !t, %p: i1) kernel {
    %as = tile.alloc_shared : !s
    tile.store %b to %as : !t to !s
    scf.if %p {
      %x = tile.load %as : !s -> !t
    }
    %y = tile.load %as : !s -> !t
    gpu.return
  }

  // The second part of the loop runs before the first part of the next iteration, and
  // the loop may end between the two.
  // CHECK-LABEL: gpu.func @while
  // CHECK: scf.while
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: memref.load
  // CHECK: do {
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: scf.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store
  gpu.func @while(%b: tensor<4xi32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    %as = tile.alloc_shared : memref<4xi32, #gpu.address_space<workgroup>>
    scf.while : () -> () {
      %x = memref.load %as[%c0] : memref<4xi32, #gpu.address_space<workgroup>>
      %go = arith.cmpi ne, %x, %zero : i32
      scf.condition(%go)
    } do {
      tile.store %b to %as : tensor<4xi32> to memref<4xi32, #gpu.address_space<workgroup>>
      scf.yield
    }
    tile.store %b to %as : tensor<4xi32> to memref<4xi32, #gpu.address_space<workgroup>>
    gpu.return
  }

  // Only the first iteration needs a barrier before the read of %bs. Later ones need
  // one before the read of %as, which serves both.
  // CHECK-LABEL: gpu.func @redundant
  // CHECK: tile.store
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.store
  gpu.func @redundant(%b: !t, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : !s
    %bs = tile.alloc_shared : !s
    %cs = tile.alloc_shared : !s
    tile.store %b to %bs : !t to !s
    scf.for %i = %c0 to %n step %c1 {
      %x = tile.load %as : !s -> !t
      %y = tile.load %bs : !s -> !t
      tile.store %y to %cs : !t to !s
      %z = tile.load %cs : !s -> !t
      tile.store %z to %as : !t to !s
    }
    gpu.return
  }

  // Atomic operations of one kind commute. A read of the result does not.
  // CHECK-LABEL: gpu.func @atomics
  // CHECK: tile.atomic_rmw <add>
  // CHECK-NEXT: tile.atomic_rmw <add>
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.atomic_rmw <max>
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  gpu.func @atomics(%b: tensor<4xi32>) kernel {
    %as = tile.alloc_shared : memref<4xi32, #gpu.address_space<workgroup>>
    tile.atomic_rmw <add> %b to %as : tensor<4xi32> to memref<4xi32, #gpu.address_space<workgroup>>
    tile.atomic_rmw <add> %b to %as : tensor<4xi32> to memref<4xi32, #gpu.address_space<workgroup>>
    tile.atomic_rmw <max> %b to %as : tensor<4xi32> to memref<4xi32, #gpu.address_space<workgroup>>
    %x = tile.load %as : memref<4xi32, #gpu.address_space<workgroup>> -> tensor<4xi32>
    gpu.return
  }

  // The barrier inside of a reduction serves all other accesses, too. Its scratch
  // memory is read after that barrier, and must not be written before the next one.
  // CHECK-LABEL: gpu.func @scratch
  // CHECK: tile.store
  // CHECK-NEXT: tile.reduce
  // CHECK-NEXT: tile.load
  // CHECK: scf.for
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.reduce {{.*}} -> tensor<f32>
  // CHECK-NEXT: }
  gpu.func @scratch(%b: tensor<256xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %as = tile.alloc_shared : memref<256xf32, #gpu.address_space<workgroup>>
    tile.store %b to %as : tensor<256xf32> to memref<256xf32, #gpu.address_space<workgroup>>
    %r = tile.reduce <sum> %b {axis = 0 : i64} : tensor<256xf32> -> tensor<f32>
    %x = tile.load %as : memref<256xf32, #gpu.address_space<workgroup>> -> tensor<256xf32>
    scf.for %i = %c0 to %n step %c1 {
      %s = tile.reduce <sum> %x {axis = 0 : i64} : tensor<256xf32> -> tensor<f32>
    }
    gpu.return
  }

  // A reduction does not wait for copies in flight.
  // CHECK-LABEL: gpu.func @scratch_and_copy
  // CHECK: tile.copy
  // CHECK-NEXT: tile.reduce
  // CHECK-NEXT: tile.barrier {drain_copies}
  // CHECK-NEXT: tile.load
  gpu.func @scratch_and_copy(%A: !g, %b: tensor<256xf32>) kernel {
    %as = tile.alloc_shared : !s
    tile.copy %A[0, 0] to %as {tile.inst = #tile.inst<cp_async>} : !g to !s
    %r = tile.reduce <sum> %b {axis = 0 : i64} : tensor<256xf32> -> tensor<f32>
    %x = tile.load %as : !s -> !t
    gpu.return
  }

  // An access to a view is one to its buffer, and scalar accesses count.
  // CHECK-LABEL: gpu.func @views
  // CHECK: tile.store
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: memref.store
  gpu.func @views(%b: !t, %x: f16) kernel {
    %c0 = arith.constant 0 : index
    %as = tile.alloc_shared : !s
    %v = tile.view %as : !s to memref<4096xf16, #gpu.address_space<workgroup>>
    tile.store %b to %as : !t to !s
    %y = tile.load %v : memref<4096xf16, #gpu.address_space<workgroup>> -> tensor<4096xf16>
    memref.store %x, %as[%c0, %c0] : !s
    gpu.return
  }

  // CHECK-LABEL: gpu.func @persistent
  // CHECK: tile.persistent
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.load
  gpu.func @persistent(%b: !t, %n: index) kernel {
    %as = tile.alloc_shared : !s
    tile.persistent (%x) in (%n) {
      tile.store %b to %as : !t to !s
      %y = tile.load %as : !s -> !t
    }
    gpu.return
  }
}

gpu.module @roles [#nvvm.target<chip = "sm_90a">] {
  // Writes by all threads are complete before the roles start. In a role, accesses that
  // a channel orders need no barrier. Other buffers need one, which synchronizes the
  // threads of the role.
  // CHECK-LABEL: gpu.func @roles
  // CHECK: tile.store
  // CHECK: tile.channel
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.specialize {
  // CHECK-NEXT: tile.role @math
  // CHECK-NOT: tile.barrier
  // CHECK: tile.gemm
  // CHECK: tile.store
  // CHECK-NEXT: tile.barrier{{$}}
  // CHECK-NEXT: tile.load
  // CHECK: tile.role @load
  // CHECK-NOT: tile.barrier
  gpu.func @roles(%A: memref<64x64xf16>, %a: tensor<64xf32>, %c: !acc, %n: index) kernel attributes {tile.threads = 160 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %ts = tile.alloc_shared : memref<64xf32, #gpu.address_space<workgroup>>
    %cs = tile.alloc_shared : memref<64x64xf32, #gpu.address_space<workgroup>>
    %as = tile.alloc_shared : memref<2x64x64xf16, #gpu.address_space<workgroup>>
    tile.store %a to %ts : tensor<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : memref<2x64x64xf16, #gpu.address_space<workgroup>> -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(4) {
        %q = tile.cursor : !tile.cursor<2>
        %zero = arith.constant dense<0.0> : !acc
        %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %p = %q) -> (!acc, !tile.cursor<2>) {
          tile.wait %ch[%p] : !tile.channel<2>
          %s = tile.slot %as[%p] : memref<2x64x64xf16, #gpu.address_space<workgroup>> -> memref<64x64xf16, #gpu.address_space<workgroup>>
          %d = tile.gemm %s, %s, %x {tile.inst = #tile.inst<wgmma>} : memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x64xf16, #gpu.address_space<workgroup>> -> !acc
          tile.release %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %d, %next : !acc, !tile.cursor<2>
        }
        tile.store %r#0 to %cs : !acc to memref<64x64xf32, #gpu.address_space<workgroup>>
        %l = tile.load %cs : memref<64x64xf32, #gpu.address_space<workgroup>> -> !acc
        %t = tile.load %ts : memref<64xf32, #gpu.address_space<workgroup>> -> tensor<64xf32>
      }
      tile.role @load warps(1) {
        %q = tile.cursor : !tile.cursor<2>
        %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %q) -> (!tile.cursor<2>) {
          tile.acquire %ch[%p] : !tile.channel<2>
          %s = tile.slot %as[%p] : memref<2x64x64xf16, #gpu.address_space<workgroup>> -> memref<64x64xf16, #gpu.address_space<workgroup>>
          tile.copy %A to %s {tile.inst = #tile.inst<tma>} : memref<64x64xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}
