// RUN: tilews-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'tile.arguments' describes 4 parameters, found 2}}
llvm.func @k(%a: !llvm.ptr<1>, %m: i32)
  attributes {tile.arguments = [{type = memref<?x?xf16>}, {type = i32}]} {
  llvm.return
}

// -----

// expected-error @below {{'tile.divisible' expects array<i64: ...> with 1 positive divisors, found array<i64: 0>}}
llvm.func @k(%a: !llvm.ptr<1>, %m: i32)
  attributes {tile.arguments = [{type = memref<?xf16>, tile.divisible = array<i64: 0>}]} {
  llvm.return
}

// -----

// expected-error @below {{'tile.arguments' expects dictionaries with the type of a memref or a scalar, found 3 : i64}}
llvm.func @k() attributes {tile.arguments = [3]} {
  llvm.return
}

// -----

// expected-error @below {{'tile.arguments' expects no 'tile.alignment' on a scalar}}
llvm.func @k(%a: i32) attributes {tile.arguments = [{type = i32, tile.alignment = 16 : i64}]} {
  llvm.return
}

// -----

// expected-error @below {{'tile.grid' expects no dimensions and 0 symbols}}
llvm.func @k(%a: !llvm.ptr<1>, %m: i32)
  attributes {tile.grid = affine_map<()[s0] -> (s0 ceildiv 128)>} {
  llvm.return
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.symbols' expects an array of 2 strings, found ["M"]}}
  gpu.func @k(%a: memref<?x?xf16> {tile.symbols = ["M"]}) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.name' expects a string, found 1 : i64}}
  gpu.func @k(%a: memref<?x?xf16> {tile.name = 1 : i64}) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.unsigned' expects a unit attribute, on an integer, found unit}}
  gpu.func @k(%a: f32 {tile.unsigned}) kernel {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.unsigned' expects a unit attribute, on an integer, found true}}
  gpu.func @k(%a: i32 {tile.unsigned = true}) kernel {
    gpu.return
  }
}

// -----

// expected-error @below {{'tile.unsigned' expects a unit attribute, on an integer, found unit}}
llvm.func @k(%a: f32) attributes {tile.arguments = [{type = f32, tile.unsigned}]} {
  llvm.return
}

// -----

// expected-error @below {{'tile.tensor_maps' expects an array of dictionaries on the llvm.func of a kernel, found 1 : i64}}
llvm.func @k() attributes {tile.tensor_maps = 1 : i64} {
  llvm.return
}

// -----

// expected-error @below {{'tile.tensor_maps' expects the number of a memref argument}}
llvm.func @k() attributes {tile.tensor_maps = [{argument = 0 : i64, dims = array<i64: 0>, box = array<i64: 16>, swizzle = #tile.swizzle<none>}]} {
  llvm.return
}

// -----

// expected-error @below {{'tile.tensor_maps' expects a box of extents from 1 to 256, one a dimension}}
llvm.func @k(%a: !llvm.ptr<1>, %m: i32) attributes {tile.arguments = [{type = memref<?xf16>}], tile.tensor_maps = [{argument = 0 : i64, dims = array<i64: 0>, box = array<i64: 512>, swizzle = #tile.swizzle<none>}]} {
  llvm.return
}

// -----

// expected-error @below {{'tile.tensor_maps' expects 'dims' to order 1 to 5 dimensions of the argument}}
llvm.func @k(%a: !llvm.ptr<1>, %m: i32) attributes {tile.arguments = [{type = memref<?xf16>}], tile.tensor_maps = [{argument = 0 : i64, dims = array<i64: 1>, box = array<i64: 16>, swizzle = #tile.swizzle<none>}]} {
  llvm.return
}

// -----

// expected-error @below {{'tile.tensor_maps' expects a window of two numbers: a dimension other than the innermost, one of at most 4, and a size}}
llvm.func @k(%a: !llvm.ptr<1>, %m: i32) attributes {tile.arguments = [{type = memref<?x64xf16>}], tile.tensor_maps = [{argument = 0 : i64, dims = array<i64: 1, 0>, box = array<i64: 64, 16>, swizzle = #tile.swizzle<none>, window = array<i64: 1, 16>}]} {
  llvm.return
}

// -----

// expected-error @below {{'tile.tensor_maps' expects dictionaries of 'argument', 'dims', 'box', 'swizzle' and perhaps 'window', with 'window' perhaps 'outside'}}
llvm.func @k(%a: !llvm.ptr<1>, %m: i32) attributes {tile.arguments = [{type = memref<?x64xf16>}], tile.tensor_maps = [{argument = 0 : i64, dims = array<i64: 1, 0>, box = array<i64: 64, 16>, swizzle = #tile.swizzle<none>, outside}]} {
  llvm.return
}

// -----

// expected-error @below {{'tile.tensor_maps' expects dictionaries of 'argument', 'dims', 'box', 'swizzle' and perhaps 'window', with 'window' perhaps 'outside'}}
llvm.func @k(%a: !llvm.ptr<1>, %m: i32) attributes {tile.arguments = [{type = memref<?x64xf16>}], tile.tensor_maps = [{argument = 0 : i64, dims = array<i64: 1, 0>, box = array<i64: 64, 16>, swizzle = #tile.swizzle<none>, window = array<i64: 0, 16>, outside = true}]} {
  llvm.return
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.may_alias' expects an array of pairs, found array<i32: 0, 1>}}
  gpu.func @k(%a: memref<4xf32>, %b: memref<4xf32>) kernel attributes {tile.may_alias = array<i32: 0, 1>} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.may_alias' expects arrays of two different arguments, such as array<i32: 0, 2>, found array<i32: 1, 1>}}
  gpu.func @k(%a: memref<4xf32>, %b: memref<4xf32>) kernel attributes {tile.may_alias = [array<i32: 1, 1>]} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.may_alias' expects the numbers of memref arguments, found array<i32: 0, 1>}}
  gpu.func @k(%a: memref<4xf32>, %b: i32) kernel attributes {tile.may_alias = [array<i32: 0, 1>]} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.may_alias' expects the numbers of memref arguments, found array<i32: 0, 2>}}
  gpu.func @k(%a: memref<4xf32>, %b: memref<4xf32>) kernel attributes {tile.may_alias = [array<i32: 0, 2>]} {
    gpu.return
  }
}

// -----

gpu.module @m {
  // expected-error @below {{'tile.disjoint' expects the llvm.func of a kernel, found [array<i32: 0, 1>]}}
  gpu.func @k(%a: memref<4xf32>, %b: memref<4xf32>) kernel attributes {tile.disjoint = [array<i32: 0, 1>]} {
    gpu.return
  }
}
