// RUN: tilews-opt %s --tile-assign-registers | FileCheck %s

!buf = memref<128x128xf16, #gpu.address_space<workgroup>>

gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  // The sums take 128 registers and the second matmul 64, of 168 at most. The load role
  // becomes a warpgroup with 24 registers.
  // CHECK-LABEL: gpu.func @crowded
  // CHECK-SAME: tile.threads = 384 : i32
  // CHECK: tile.role @math warps(8) registers(240)
  // CHECK: tile.role @load warps(4) registers(24)
  gpu.func @crowded(%Y: memref<128x256xf32>, %Z: memref<128x128xf32>) kernel attributes {tile.threads = 288 : i32} {
    %a = tile.alloc_shared : !buf
    %b = tile.alloc_shared : memref<128x256xf16, #gpu.address_space<workgroup>>
    tile.specialize {
      tile.role @math warps(8) {
        %zero = arith.constant dense<0.0> : tensor<128x256xf32>
        %none = arith.constant dense<0.0> : tensor<128x128xf32>
        %x = tile.gemm %a, %b, %zero : !buf, memref<128x256xf16, #gpu.address_space<workgroup>> -> tensor<128x256xf32>
        %y = tile.gemm %a, %a, %none : !buf, !buf -> tensor<128x128xf32>
        tile.store %x to %Y : tensor<128x256xf32> to memref<128x256xf32>
        tile.store %y to %Z : tensor<128x128xf32> to memref<128x128xf32>
      }
      tile.role @load warps(1) {
      }
    }
    gpu.return
  }

  // 128 registers and 40 for everything else are 168. Masks and rows that are
  // recomputed at their uses do not count.
  // CHECK-LABEL: gpu.func @fits
  // CHECK-SAME: tile.threads = 288 : i32
  // CHECK: tile.role @math warps(8) {
  // CHECK: tile.role @load warps(1) {
  gpu.func @fits(%Y: memref<128x256xf32>, %v: f32) kernel attributes {tile.threads = 288 : i32} {
    %a = tile.alloc_shared : !buf
    %b = tile.alloc_shared : memref<128x256xf16, #gpu.address_space<workgroup>>
    tile.specialize {
      tile.role @math warps(8) {
        %zero = arith.constant dense<0.0> : tensor<128x256xf32>
        %x = tile.gemm %a, %b, %zero : !buf, memref<128x256xf16, #gpu.address_space<workgroup>> -> tensor<128x256xf32>
        %row = tile.iota {axis = 0 : i64} : tensor<128x256xi32>
        %column = tile.iota {axis = 1 : i64} : tensor<128x256xi32>
        %mask = arith.cmpi sge, %row, %column : tensor<128x256xi32>
        %y = arith.select %mask, %x, %zero : tensor<128x256xi1>, tensor<128x256xf32>
        tile.store %y to %Y : tensor<128x256xf32> to memref<128x256xf32>
      }
      tile.role @load warps(1) {
      }
    }
    gpu.return
  }

  // The other role needs 64 registers for what it copies, and 40 for everything else. The
  // block has 2016 for each lane: 8 x 200 + 4 x 104.
  // CHECK-LABEL: gpu.func @busy
  // CHECK: tile.role @math warps(8) registers(200)
  // CHECK: tile.role @load warps(4) registers(104)
  gpu.func @busy(%A: memref<128x128xf16>, %Y: memref<128x256xf32>, %Z: memref<128x128xf32>) kernel attributes {tile.threads = 384 : i32} {
    %a = tile.alloc_shared : !buf
    %b = tile.alloc_shared : memref<128x256xf16, #gpu.address_space<workgroup>>
    tile.specialize {
      tile.role @math warps(8) {
        %zero = arith.constant dense<0.0> : tensor<128x256xf32>
        %none = arith.constant dense<0.0> : tensor<128x128xf32>
        %x = tile.gemm %a, %b, %zero : !buf, memref<128x256xf16, #gpu.address_space<workgroup>> -> tensor<128x256xf32>
        %y = tile.gemm %a, %a, %none : !buf, !buf -> tensor<128x128xf32>
        tile.store %x to %Y : tensor<128x256xf32> to memref<128x256xf32>
        tile.store %y to %Z : tensor<128x128xf32> to memref<128x128xf32>
      }
      tile.role @load warps(4) {
        tile.copy %A to %a {tile.inst = #tile.inst<simt>} : memref<128x128xf16> to !buf
      }
    }
    gpu.return
  }

  // Numbers of registers that are given are kept.
  // CHECK-LABEL: gpu.func @given
  // CHECK: tile.role @math warps(8) registers(200)
  // CHECK: tile.role @load warps(4) {
  gpu.func @given(%Y: memref<128x256xf32>, %Z: memref<128x128xf32>) kernel attributes {tile.threads = 384 : i32} {
    %a = tile.alloc_shared : !buf
    %b = tile.alloc_shared : memref<128x256xf16, #gpu.address_space<workgroup>>
    tile.specialize {
      tile.role @math warps(8) registers(200) {
        %zero = arith.constant dense<0.0> : tensor<128x256xf32>
        %none = arith.constant dense<0.0> : tensor<128x128xf32>
        %x = tile.gemm %a, %b, %zero : !buf, memref<128x256xf16, #gpu.address_space<workgroup>> -> tensor<128x256xf32>
        %y = tile.gemm %a, %a, %none : !buf, !buf -> tensor<128x128xf32>
        tile.store %x to %Y : tensor<128x256xf32> to memref<128x256xf32>
        tile.store %y to %Z : tensor<128x128xf32> to memref<128x128xf32>
      }
      tile.role @load warps(4) {
      }
    }
    gpu.return
  }

  // The addresses of copies in nested loops take more than 24 registers. The other role
  // can spare them.
  // CHECK-LABEL: gpu.func @nest
  // CHECK: tile.role @math warps(8) registers(232)
  // CHECK: tile.role @load warps(4) registers(40)
  gpu.func @nest(%Y: memref<128x256xf32>, %Z: memref<128x128xf32>, %n: index) kernel attributes {tile.threads = 288 : i32} {
    %a = tile.alloc_shared : !buf
    %b = tile.alloc_shared : memref<128x256xf16, #gpu.address_space<workgroup>>
    tile.specialize {
      tile.role @math warps(8) {
        %zero = arith.constant dense<0.0> : tensor<128x256xf32>
        %none = arith.constant dense<0.0> : tensor<128x128xf32>
        %x = tile.gemm %a, %b, %zero : !buf, memref<128x256xf16, #gpu.address_space<workgroup>> -> tensor<128x256xf32>
        %y = tile.gemm %a, %a, %none : !buf, !buf -> tensor<128x128xf32>
        tile.store %x to %Y : tensor<128x256xf32> to memref<128x256xf32>
        tile.store %y to %Z : tensor<128x128xf32> to memref<128x128xf32>
      }
      tile.role @load warps(1) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        scf.for %i = %c0 to %n step %c1 {
          scf.for %j = %c0 to %n step %c1 {
          }
        }
      }
    }
    gpu.return
  }

  // Roles of any number share 2016 registers by their needs, here 200, 104 and 40. Those
  // of the first one are at the limit of 240.
  // CHECK-LABEL: gpu.func @three
  // CHECK: tile.role @wide warps(4) registers(240)
  // CHECK: tile.role @narrow warps(4) registers(192)
  // CHECK: tile.role @rows warps(4) registers(72)
  gpu.func @three(%A: memref<64x64xf16>, %Y: memref<64x320xf32>, %Z: memref<64x128xf32>) kernel attributes {tile.threads = 384 : i32} {
    %a = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    %b = tile.alloc_shared : memref<64x320xf16, #gpu.address_space<workgroup>>
    %c = tile.alloc_shared : memref<64x128xf16, #gpu.address_space<workgroup>>
    tile.specialize {
      tile.role @wide warps(4) {
        %zero = arith.constant dense<0.0> : tensor<64x320xf32>
        %x = tile.gemm %a, %b, %zero : memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x320xf16, #gpu.address_space<workgroup>> -> tensor<64x320xf32>
        tile.store %x to %Y : tensor<64x320xf32> to memref<64x320xf32>
      }
      tile.role @narrow warps(4) {
        %zero = arith.constant dense<0.0> : tensor<64x128xf32>
        %x = tile.gemm %a, %c, %zero : memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x128xf16, #gpu.address_space<workgroup>> -> tensor<64x128xf32>
        tile.store %x to %Z : tensor<64x128xf32> to memref<64x128xf32>
      }
      tile.role @rows warps(4) {
        tile.copy %A to %a {tile.inst = #tile.inst<cp_async>} : memref<64x64xf16> to memref<64x64xf16, #gpu.address_space<workgroup>>
      }
    }
    gpu.return
  }

  // Roles of equal need get equal numbers: 8 registers for one of them would be left.
  // CHECK-LABEL: gpu.func @equal
  // CHECK-COUNT-3: warps(4) registers(160)
  // CHECK: tile.role @load warps(4) registers(24)
  gpu.func @equal(%Y: memref<64x256xf32>) kernel attributes {tile.threads = 416 : i32} {
    %a = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    %b = tile.alloc_shared : memref<64x256xf16, #gpu.address_space<workgroup>>
    tile.specialize {
      tile.role @first warps(4) {
        %zero = arith.constant dense<0.0> : tensor<64x256xf32>
        %x = tile.gemm %a, %b, %zero : memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x256xf16, #gpu.address_space<workgroup>> -> tensor<64x256xf32>
        tile.store %x to %Y : tensor<64x256xf32> to memref<64x256xf32>
      }
      tile.role @second warps(4) {
        %zero = arith.constant dense<0.0> : tensor<64x256xf32>
        %x = tile.gemm %a, %b, %zero : memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x256xf16, #gpu.address_space<workgroup>> -> tensor<64x256xf32>
        tile.store %x to %Y : tensor<64x256xf32> to memref<64x256xf32>
      }
      tile.role @third warps(4) {
        %zero = arith.constant dense<0.0> : tensor<64x256xf32>
        %x = tile.gemm %a, %b, %zero : memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x256xf16, #gpu.address_space<workgroup>> -> tensor<64x256xf32>
        tile.store %x to %Y : tensor<64x256xf32> to memref<64x256xf32>
      }
      tile.role @load warps(1) {
      }
    }
    gpu.return
  }

  // Two roles that only start copies, or one that is no whole warpgroup and computes, keep
  // all registers where they are.
  // CHECK-LABEL: gpu.func @kept
  // CHECK-SAME: tile.threads = 192 : i32
  // CHECK-NOT: registers(
  gpu.func @kept(%Y: memref<64x512xf32>) kernel attributes {tile.threads = 192 : i32} {
    %a = tile.alloc_shared : memref<64x64xf16, #gpu.address_space<workgroup>>
    %b = tile.alloc_shared : memref<64x512xf16, #gpu.address_space<workgroup>>
    tile.specialize {
      tile.role @math warps(4) {
        %zero = arith.constant dense<0.0> : tensor<64x512xf32>
        %x = tile.gemm %a, %b, %zero : memref<64x64xf16, #gpu.address_space<workgroup>>, memref<64x512xf16, #gpu.address_space<workgroup>> -> tensor<64x512xf32>
        tile.store %x to %Y : tensor<64x512xf32> to memref<64x512xf32>
      }
      tile.role @load warps(1) {
      }
      tile.role @other_load warps(1) {
      }
    }
    gpu.return
  }
}
