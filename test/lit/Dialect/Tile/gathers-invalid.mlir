// RUN: tilews-opt %s --split-input-file --verify-diagnostics

func.func @rank(%a: memref<?x?xf16>, %r: tensor<64xi32>) {
  // expected-error @+1 {{index of shape (64) does not fit the fragment of shape (64, 32): expected the same rank, and extents that are equal or 1}}
  %0 = tile.gather %a[0, 0] [64, 32] at(0 = %r : tensor<64xi32>) : memref<?x?xf16> -> tensor<64x32xf16>
  return
}

// -----

func.func @extent(%a: memref<?x?xf16>, %r: tensor<32x1xi32>) {
  // expected-error @+1 {{index of shape (32, 1) does not fit the fragment of shape (64, 32)}}
  %0 = tile.gather %a[0, 0] [64, 32] at(0 = %r : tensor<32x1xi32>) : memref<?x?xf16> -> tensor<64x32xf16>
  return
}

// -----

func.func @mask(%a: memref<?x?xf16>, %m: tensor<64x16xi1>) {
  // expected-error @+1 {{mask of shape (64, 16) does not fit the fragment of shape (64, 32)}}
  %0 = tile.gather %a[0, 0] mask(%m : tensor<64x16xi1>) : memref<?x?xf16> -> tensor<64x32xf16>
  return
}

// -----

func.func @bools(%a: memref<?x?xf16>, %r: tensor<64x1xi1>) {
  // expected-error @+1 {{has indices of type i1, expected wider integers; a mask of i1 is given by 'mask'}}
  %0 = tile.gather %a[0, 0] [64, 32] at(0 = %r : tensor<64x1xi1>) : memref<?x?xf16> -> tensor<64x32xf16>
  return
}

// -----

func.func @dimension(%a: memref<?x?xf16>, %r: tensor<64x1xi32>) {
  // expected-error @+1 {{has indices along dimension 2, expected different dimensions of a buffer of rank 2}}
  %0 = tile.gather %a[0, 0] [64, 32] at(2 = %r : tensor<64x1xi32>) : memref<?x?xf16> -> tensor<64x32xf16>
  return
}

// -----

func.func @twice(%a: memref<?x?xf16>, %r: tensor<64x1xi32>, %t: tensor<64x32xf16>) {
  // expected-error @+1 {{has indices along dimension 0, expected different dimensions of a buffer of rank 2}}
  tile.scatter %t to %a[0, 0] [64, 32] at(0 = %r : tensor<64x1xi32>, 0 = %r : tensor<64x1xi32>) : tensor<64x32xf16> to memref<?x?xf16>
  return
}

// -----

func.func @sizes(%a: memref<?x?xf16>, %m: tensor<64x32xi1>) {
  // expected-error @+1 {{region has sizes (1, 32), but the fragment has shape (64, 32)}}
  %0 = tile.gather %a[0, 0] [1, 32] mask(%m : tensor<64x32xi1>) : memref<?x?xf16> -> tensor<64x32xf16>
  return
}

// -----

func.func @trailing(%a: memref<?x?xf16>, %r: tensor<64x1xi32>) {
  // expected-error @+1 {{region has sizes (64, 1), but the fragment has shape (64, 32)}}
  %0 = tile.gather %a[0, 0] [64, 1] at(0 = %r : tensor<64x1xi32>) : memref<?x?xf16> -> tensor<64x32xf16>
  return
}

// -----

func.func @types(%a: memref<?x?xf16>, %r: tensor<64x1xi32>, %t: tensor<64x32xf32>) {
  // expected-error @+1 {{buffer has element type 'f16', but the fragment has 'f32'}}
  tile.scatter %t to %a[0, 0] [64, 32] at(0 = %r : tensor<64x1xi32>) : tensor<64x32xf32> to memref<?x?xf16>
  return
}

// -----

func.func @old(%n: memref<?xi32>, %b: tensor<256xi32>) {
  // expected-error @+1 {{the old values have type 'tensor<256xi64>', expected that of the new ones, 'tensor<256xi32>'}}
  %0 = tile.atomic_scatter <add> %b to %n[0] [256] at(0 = %b : tensor<256xi32>) : tensor<256xi32> to memref<?xi32> -> tensor<256xi64>
  return
}

// -----

func.func @bitwise(%n: memref<?xf32>, %b: tensor<256xi32>, %v: tensor<256xf32>) {
  // expected-error @+1 {{'xor' takes integers, found 'f32'}}
  tile.atomic_scatter <xor> %v to %n[0] [256] at(0 = %b : tensor<256xi32>) : tensor<256xf32> to memref<?xf32>
  return
}

// -----

!s = memref<64x32xf16, #gpu.address_space<workgroup>>
func.func @vector(%a: memref<?x?xf16>, %r: memref<32xi32>, %s: !s) {
  // expected-error @+1 {{has rows of type 'memref<32xi32>', expected a vector of 64 elements of i32 or i64, the size of the region along dimension 0}}
  tile.copy %a[0, 0] at(0 = %r : memref<32xi32>) to %s : memref<?x?xf16> to !s
  return
}

// -----

!s = memref<64x32xf16, #gpu.address_space<workgroup>>
func.func @elements(%a: memref<?x?xf16>, %r: memref<64xi8>, %s: !s) {
  // expected-error @+1 {{has rows of type 'memref<64xi8>', expected a vector of 64 elements of i32 or i64}}
  tile.copy %a[0, 0] at(0 = %r : memref<64xi8>) to %s : memref<?x?xf16> to !s
  return
}

// -----

!s = memref<64x32xf16, #gpu.address_space<workgroup>>
func.func @place(%a: memref<?x?xf16>, %r: memref<64xi32>, %s: !s) {
  // expected-error @+1 {{has rows along dimension 3 of a source of rank 2}}
  tile.copy %a[0, 0] at(3 = %r : memref<64xi32>) to %s : memref<?x?xf16> to !s
  return
}

// -----

!s = memref<64x32xf16, #gpu.address_space<workgroup>>
func.func @tma(%a: memref<?x?xf16>, %r: memref<64xi32>, %s: !s) {
  // expected-error @+1 {{has rows at indices, which TMA does not copy}}
  tile.copy %a[0, 0] at(0 = %r : memref<64xi32>) to %s {tile.inst = #tile.inst<tma>} : memref<?x?xf16> to !s
  return
}

// -----

!s = memref<64x32xf16, #gpu.address_space<workgroup>>
func.func @limit(%a: memref<?x?xf16>, %n: index, %s: !s) {
  // expected-error @+1 {{has a limit along dimension 2 of a source of rank 2}}
  tile.copy %a[0, 0] to %s limit(2 = %n) : memref<?x?xf16> to !s
  return
}

// -----

!s = memref<64x32xf16, #gpu.address_space<workgroup>>
func.func @two(%a: memref<?x?xf16>, %r: memref<64xi32>, %n: index, %s: !s) {
  // expected-error @+1 {{has rows at indices and a limit along dimension 0, expected one of them}}
  tile.copy %a[0, 0] at(0 = %r : memref<64xi32>) to %s limit(0 = %n) : memref<?x?xf16> to !s
  return
}

// -----

!s = memref<64x32xf16, #gpu.address_space<workgroup>>
func.func @half(%a: memref<?x?xf16>, %s: !s) {
  // expected-error @+1 {{has a limit or its dimension: expected both, or none}}
  tile.copy %a[0, 0] to %s {limit_dim = 0 : i64} : memref<?x?xf16> to !s
  return
}

// -----

func.func @gather(%a: memref<?x?xf16>, %r: tensor<64x1xi32>, %n: index) {
  // expected-error @+1 {{has indices and a limit along dimension 0, expected one of them}}
  %0 = tile.gather %a[0, 0] [64, 32] at(0 = %r : tensor<64x1xi32>) limit(0 = %n) : memref<?x?xf16> -> tensor<64x32xf16>
  return
}

// -----

func.func @scatter(%a: memref<?x?xf16>, %t: tensor<64x32xf16>, %n: index) {
  // expected-error @+1 {{has a limit along dimension 3 of a buffer of rank 2}}
  tile.scatter %t to %a[0, 0] limit(3 = %n) : tensor<64x32xf16> to memref<?x?xf16>
  return
}

// -----

!s = memref<64x32xf16, #gpu.address_space<workgroup>>
func.func @dest(%a: memref<?x?xf16>, %n: index, %s: !s) {
  // expected-error @+1 {{has a limit along dimension 2 of a destination of rank 2}}
  tile.copy %s to %a[0, 0] limit(2 = %n) : !s to memref<?x?xf16>
  return
}
