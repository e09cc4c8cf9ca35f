//===- Passes.td - Conversions out of the tile dialect -----*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_CONVERSION_PASSES_TD
#define TILEWS_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

class ConvertTilePass<string flag> : Pass<flag, "::mlir::gpu::GPUModuleOp"> {
  let options = [
    Option<"indexBitwidth", "index-bitwidth", "unsigned", /*default=*/"32",
           "Width of index arithmetic: 32, if no buffer has more than 2^31-1 "
           "elements (the launch checks), or 64">
  ];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
    "::mlir::ROCDL::ROCDLDialect", "::mlir::vector::VectorDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect",
    "::mlir::gpu::GPUDialect"
  ];
}

def ConvertTileToNVVMPass : ConvertTilePass<"convert-tile-to-nvvm"> {
  let summary = "Turn tile operations into per-thread code for NVIDIA GPUs";
  let description = [{
    Needs layouts (`--tile-infer-layouts`), a memory plan
    (`--tile-plan-shared-memory`) and barriers (`--tile-insert-barriers`). A
    fragment becomes a vector of one thread's registers, a shared buffer a
    pointer into the kernel's arena, a kernel an `llvm.func`. Matrix products
    become `wgmma` or `mma.sync` as `tile.inst` says, or plain arithmetic;
    copies become `cp.async` or vector loads and stores. Scalar code stays in
    `arith`, `scf` and `memref`; upstream's conversions take it from there.

    Before:
    ```mlir
    %t = tile.load %A[%m, 0] : memref<64x64xf32> -> tensor<64x64xf32, #layout>
    ```
    After, for 128 threads:
    ```mlir
    %thread = nvvm.read.ptx.sreg.tid.x : i32
    %p = llvm.getelementptr %base[%offset] : (!llvm.ptr, i32) -> !llvm.ptr, i32
    %r = llvm.load %p {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
    ...
    %t = vector.from_elements %e0, %e1, ... : vector<32xf32>
    ```
  }];
}

def ConvertTileToROCDLPass : ConvertTilePass<"convert-tile-to-rocdl"> {
  let summary = "Turn tile operations into per-thread code for AMD GPUs";
  let description = [{
    As `--convert-tile-to-nvvm`, with `mfma` (CDNA) or `wmma` (RDNA) for matrix
    products, vector loads and stores for copies, data parallel primitives for
    exchanges between lanes, and fences around `s_barrier`.

    Before:
    ```mlir
    %d = tile.gemm %as, %bs, %c {tile.inst = #tile.inst<mfma>, transpose_rhs}
      : memref<32x8xf16, #layout, #wg>, memref<32x8xf16, #layout, #wg> -> tensor<32x32xf32, #acc>
    ```
    After:
    ```mlir
    %a = llvm.load %p {alignment = 8 : i64} : !llvm.ptr<3> -> vector<4xf16>
    %b = llvm.load %q {alignment = 8 : i64} : !llvm.ptr<3> -> vector<4xf16>
    %d = rocdl.mfma.f32.32x32x8f16 %a, %b, %c, %zero, %zero, %zero
      : (vector<4xf16>, vector<4xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
    ```
  }];
}

def ExpandMathPass : Pass<"tile-expand-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Rewrite math functions that the GPUs have no instruction for";
  let description = [{
    Both vendors have fast instructions for `exp2` and `log2` in f32, and no
    library of the others is linked. `exp`, `log`, `log10` and `tanh` are
    computed from those two; `powf`, the hyperbolic functions and the inverse of
    `sqrt` from others; `sin`, `cos`, `erf`, `atan`, `log1p`, `expm1` and their
    relatives by upstream's polynomials. Narrower types are computed in f32. A
    function of f64 that remains is an error.

    `exp2` is the bare instruction (PTX ISA, "ex2": `ex2.approx.ftz`; AMD:
    `v_exp_f32`): results below 2^-126 are zero, and so is what `exp` of numbers
    below -87.3 gives.

    Before:
    ```mlir
    %y = math.exp %x : vector<4xf32>
    ```
    After:
    ```mlir
    %c = arith.constant dense<1.44269502> : vector<4xf32>
    %s = arith.mulf %x, %c : vector<4xf32>
    %0 = vector.extract %s[0] : f32 from vector<4xf32>
    %1 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%0) : (f32) -> f32
    ... // The other three.
    %y = vector.from_elements %1, %3, %5, %7 : vector<4xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"
  ];
}

def ConvertThreadsToLLVMPass
    : Pass<"convert-tile-threads-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn what is left of per-thread code into the LLVM dialect";
  let description = [{
    Runs upstream's conversions of `arith`, `cf`, `index`, `math`, `memref`,
    `ub` and `vector` together, with indices of one width. Unlike upstream's
    pipelines for GPUs it calls no library: `math.sqrt` becomes an intrinsic that
    the backends turn into an instruction. A long vector is made of its elements
    by halves: chains of insertions cost LLVM a time that is quadratic in their
    length.

    ```mlir
    %y = math.sqrt %x : vector<4xf32>
    ```

    becomes

    ```mlir
    %y = llvm.intr.sqrt(%x) : (vector<4xf32>) -> vector<4xf32>
    ```
  }];
  let options = [
    Option<"indexBitwidth", "index-bitwidth", "unsigned", /*default=*/"32",
           "Width of index arithmetic, as for --convert-tile-to-nvvm">
  ];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TILEWS_CONVERSION_PASSES_TD
