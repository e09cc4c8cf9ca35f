// Gathers and scatters print as they are written; a mask that is true everywhere goes away,
// and without indices and mask a load or a store is left.
//
// RUN: tilews-opt %s | tilews-opt | FileCheck %s
// RUN: tilews-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

gpu.module @m {
  // CHECK-LABEL: gpu.func @gathers
  // CANON-LABEL: gpu.func @gathers
  gpu.func @gathers(%a: memref<?x?xf16>, %r: tensor<64x1xi32>, %c: tensor<1x32xi64>,
                    %e: tensor<64x32xi32>, %m: tensor<64x32xi1>, %k: index, %p: f16) kernel {
    // CHECK: tile.gather %{{.*}}[0, %{{.*}}] [64, 32] at(0 = %{{.*}} : tensor<64x1xi32>) : memref<?x?xf16> -> tensor<64x32xf16>
    %0 = tile.gather %a[0, %k] [64, 32] at(0 = %r : tensor<64x1xi32>) : memref<?x?xf16> -> tensor<64x32xf16>
    // CHECK: tile.gather %{{.*}}[%{{.*}}, 0] [64, 32] at(1 = %{{.*}} : tensor<1x32xi64>) pad %{{.*}} : memref<?x?xf16> -> tensor<64x32xf16>
    %1 = tile.gather %a[%k, 0] [64, 32] at(1 = %c : tensor<1x32xi64>) pad %p : memref<?x?xf16> -> tensor<64x32xf16>
    // CHECK: tile.gather %{{.*}}[0, 0] [1, 1] at(0 = %{{.*}} : tensor<64x1xi32>, 1 = %{{.*}} : tensor<64x32xi32>) mask(%{{.*}} : tensor<64x32xi1>)
    %2 = tile.gather %a[0, 0] [1, 1] at(0 = %r : tensor<64x1xi32>, 1 = %e : tensor<64x32xi32>)
      mask(%m : tensor<64x32xi1>) : memref<?x?xf16> -> tensor<64x32xf16>
    %3 = arith.addf %0, %1 : tensor<64x32xf16>
    %4 = arith.addf %2, %3 : tensor<64x32xf16>
    // CHECK: tile.scatter %{{.*}} to %{{.*}}[0, %{{.*}}] [64, 32] at(0 = %{{.*}} : tensor<64x1xi32>) mask(%{{.*}} : tensor<64x32xi1>) : tensor<64x32xf16> to memref<?x?xf16>
    tile.scatter %4 to %a[0, %k] [64, 32] at(0 = %r : tensor<64x1xi32>) mask(%m : tensor<64x32xi1>)
      : tensor<64x32xf16> to memref<?x?xf16>
    gpu.return
  }

  // CANON-LABEL: gpu.func @masks
  // CANON: tile.load %{{.*}}[%{{.*}}, 0] pad %{{.*}} : memref<?x?xf16> -> tensor<64x32xf16>
  // CANON: tile.gather %{{.*}} at(0 = %{{.*}} : tensor<64x1xi32>) : memref
  // CANON: tile.gather {{.*}} mask(
  // CANON: tile.store %{{.*}} to %{{.*}}[%{{.*}}, 0] : tensor<64x32xf16> to memref<?x?xf16>
  gpu.func @masks(%a: memref<?x?xf16>, %r: tensor<64x1xi32>, %k: index, %p: f16) kernel {
    %true = arith.constant dense<true> : tensor<64x32xi1>
    %false = arith.constant dense<false> : tensor<64x32xi1>
    %0 = tile.gather %a[%k, 0] mask(%true : tensor<64x32xi1>) pad %p : memref<?x?xf16> -> tensor<64x32xf16>
    %1 = tile.gather %a[0, %k] [64, 32] at(0 = %r : tensor<64x1xi32>) mask(%true : tensor<64x32xi1>) : memref<?x?xf16> -> tensor<64x32xf16>
    %2 = tile.gather %a[%k, 0] mask(%false : tensor<64x32xi1>) : memref<?x?xf16> -> tensor<64x32xf16>
    %3 = arith.addf %0, %1 : tensor<64x32xf16>
    %4 = arith.addf %2, %3 : tensor<64x32xf16>
    tile.scatter %4 to %a[%k, 0] mask(%true : tensor<64x32xi1>) : tensor<64x32xf16> to memref<?x?xf16>
    gpu.return
  }

  // With a limit they stay what they are.
  // CHECK-LABEL: gpu.func @limits
  // CANON-LABEL: gpu.func @limits
  gpu.func @limits(%a: memref<?x?xf32>, %m: tensor<64x1xi1>, %k: index, %p: f32) kernel {
    // CHECK: tile.gather %{{.*}}[%{{.*}}, 0] limit(0 = %{{.*}}) pad %{{.*}} : memref<?x?xf32> -> tensor<64x32xf32>
    // CANON: tile.gather %{{.*}}[%{{.*}}, 0] limit(0 = %{{.*}}) pad
    %0 = tile.gather %a[%k, 0] limit(0 = %k) pad %p : memref<?x?xf32> -> tensor<64x32xf32>
    // CHECK: tile.scatter %{{.*}} to %{{.*}}[%{{.*}}, 0] mask(%{{.*}} : tensor<64x1xi1>) limit(1 = %{{.*}}) : tensor<64x32xf32> to memref<?x?xf32>
    tile.scatter %0 to %a[%k, 0] mask(%m : tensor<64x1xi1>) limit(1 = %k) : tensor<64x32xf32> to memref<?x?xf32>
    // CANON: tile.scatter %{{.*}} to %{{.*}}[%{{.*}}, 0] limit(0 = %{{.*}})
    tile.scatter %0 to %a[%k, 0] limit(0 = %k) : tensor<64x32xf32> to memref<?x?xf32>
    // CHECK: tile.atomic_scatter <add> %{{.*}} to %{{.*}}[%{{.*}}, 0] limit(0 = %{{.*}}) : tensor<64x32xf32> to memref<?x?xf32> -> tensor<64x32xf32>
    %1 = tile.atomic_scatter <add> %0 to %a[%k, 0] limit(0 = %k) : tensor<64x32xf32> to memref<?x?xf32> -> tensor<64x32xf32>
    tile.store %1 to %a[0, 0] : tensor<64x32xf32> to memref<?x?xf32>
    gpu.return
  }

  // Old values without uses go away.
  // CHECK-LABEL: gpu.func @updates
  // CANON-LABEL: gpu.func @updates
  gpu.func @updates(%n: memref<?xi32>, %b: tensor<256xi32>, %v: tensor<256xi32>, %o: memref<256xi32>) kernel {
    // CHECK: tile.atomic_scatter <add> %{{.*}} to %{{.*}}[0] [256] at(0 = %{{.*}} : tensor<256xi32>) {scope = #tile.scope<system>} : tensor<256xi32> to memref<?xi32> -> tensor<256xi32>
    // CANON: tile.atomic_scatter <add> {{.*}} : tensor<256xi32> to memref<?xi32>{{$}}
    %0 = tile.atomic_scatter <add> %v to %n[0] [256] at(0 = %b : tensor<256xi32>)
      {scope = #tile.scope<system>} : tensor<256xi32> to memref<?xi32> -> tensor<256xi32>
    // CANON: tile.atomic_scatter <max> {{.*}} -> tensor<256xi32>
    %1 = tile.atomic_scatter <max> %v to %n[0] [256] at(0 = %b : tensor<256xi32>)
      : tensor<256xi32> to memref<?xi32> -> tensor<256xi32>
    tile.store %1 to %o : tensor<256xi32> to memref<256xi32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @copies
  // CHECK: tile.copy %{{.*}}[0, %{{.*}}] at(0 = %{{.*}} : memref<64xi64>) to %{{.*}} : memref<?x?xf16> to memref<64x32xf16, #gpu.address_space<workgroup>>
  gpu.func @copies(%a: memref<?x?xf16>, %r: memref<64xi64>, %k: index) kernel {
    %s = tile.alloc_shared : memref<64x32xf16, #gpu.address_space<workgroup>>
    tile.copy %a[0, %k] at(0 = %r : memref<64xi64>) to %s : memref<?x?xf16> to memref<64x32xf16, #gpu.address_space<workgroup>>
    // CHECK: tile.copy %{{.*}}[%{{.*}}, 0] to %{{.*}} limit(0 = %{{.*}}) : memref<?x?xf16> to memref<64x32xf16, #gpu.address_space<workgroup>>
    tile.copy %a[%k, 0] to %s limit(0 = %k) : memref<?x?xf16> to memref<64x32xf16, #gpu.address_space<workgroup>>
    // CHECK: tile.copy %{{.*}}[0, %{{.*}}] at(0 = %{{.*}} : memref<64xi64>) to %{{.*}} limit(1 = %{{.*}}) :
    tile.copy %a[0, %k] at(0 = %r : memref<64xi64>) to %s limit(1 = %k) : memref<?x?xf16> to memref<64x32xf16, #gpu.address_space<workgroup>>
    gpu.return
  }
}
