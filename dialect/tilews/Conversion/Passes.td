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
           "Width of index arithmetic: 32 or 64 bits; 32 requires that no buffer "
           "has more than 2^31-1 elements, which the launch checks">
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
    fragment becomes a vector in the registers of one thread, a shared buffer
    becomes a pointer into the arena of the kernel, and a kernel becomes an
    `llvm.func`. Matmuls become `wgmma` or `mma.sync`, as `tile.inst` says, or
    plain arithmetic. Copies become TMA, `cp.async`, or vector loads and stores.
    Scalar code stays in `arith`, `scf` and `memref`, which upstream passes
    convert.

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
    Like `--convert-tile-to-nvvm`. Matmuls become `mfma` (CDNA) or `wmma`
    (RDNA). Copies become vector loads and stores. Exchanges between lanes use
    data parallel primitives. Barriers become `s_barrier` with fences around it.

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

def PrefetchOperandsPass
    : Pass<"tile-prefetch-operands", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Read the first operands of a matmul in the iteration before";
  let description = [{
    For AMD GPUs, after `--convert-tile-to-rocdl`. The loop has one matmul, starts with
    a wait and a barrier, and its copies write shared memory directly. It multiplies by its
    last operands only after it has waited for the next tile and has read that one's
    first operands. So the matrix units work while the waves wait and read.

    The wait leaves copies in flight, and the matmul has three steps or more: else the
    waves would wait for copies. Waits, barriers, copies and reads keep their order. The last iteration reads the
    operands of a tile after it, which the loop after it reads again.

    Before:

    ```mlir
    scf.for %i = %lb to %ub step %s iter_args(%acc = %zero) {
      rocdl.s.waitcnt 3956
      rocdl.s.barrier
      rocdl.load.to.lds ...
      rocdl.sched.barrier 193
      %a = llvm.load %p : !llvm.ptr<3> -> vector<8xf16>
      %0 = rocdl.mfma.f32.32x32x16.f16 %a, ...
      %b = llvm.load %q : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %1 = rocdl.mfma.f32.32x32x16.f16 %b, ...
    ```

    After:

    ```mlir
    %first = scf.if %any { rocdl.s.waitcnt 3956; rocdl.s.barrier; llvm.load ... }
    scf.for %i = %lb to %ub step %s iter_args(%acc = %zero, %a = %first) {
      rocdl.load.to.lds ...
      rocdl.sched.barrier 193
      %0 = rocdl.mfma.f32.32x32x16.f16 %a, ...
      %b = llvm.load %q : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      rocdl.s.waitcnt 3956
      rocdl.s.barrier
      %next = llvm.load %p : !llvm.ptr<3> -> vector<8xf16>
      %1 = rocdl.mfma.f32.32x32x16.f16 %b, ...
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
    "::mlir::LLVM::LLVMDialect"
  ];
}

def ExpandMathPass : Pass<"tile-expand-math", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Expand math functions for which the GPUs have no instruction";
  let description = [{
    GPUs of both vendors have a fast instruction for `exp2` in f32, and AMD has one for
    `log2`. For the other functions, tilews links no library. This pass computes `exp`
    from `exp2`, and logarithms on NVIDIA, `expm1` and `tanh` by polynomials. `sin`, `cos`
    and `tan` reduce their argument exactly. `powf` multiplies for a constant integer, and
    otherwise computes a logarithm in two numbers. `arith.remf` is a long division.
    Powers of integers are computed by repeated squaring. `erf`, `atan`, `log1p`
    and related functions use the polynomials of upstream. Narrower types are computed in f32. It is an error if a function
    of f64 remains.

    `exp2` is the bare instruction (PTX ISA, "ex2": `ex2.approx.ftz`; AMD:
    `v_exp_f32`). Results below 2^-126 are therefore zero, and so is `exp` of
    numbers below -87.3.

    Before:

    ```mlir
    %y = math.exp %x : vector<4xf32>
    ```

    After:

    ```mlir
    %high = arith.constant dense<1.44269502> : vector<4xf32>
    %low = arith.constant dense<1.92596303E-8> : vector<4xf32>
    %p = arith.mulf %x, %low : vector<4xf32>
    %s = math.fma %x, %high, %p : vector<4xf32>
    %0 = vector.extract %s[0] : f32 from vector<4xf32>
    %1 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%0) : (f32) -> f32
    ... // The other three.
    %y = vector.from_elements %1, %3, %5, %7 : vector<4xf32>
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect",
    "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"
  ];
}

def ExpandAffinePass : Pass<"tile-expand-affine", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Compute affine operations by plain arithmetic";
  let description = [{
    Does what upstream's `--lower-affine` does, without its promise that
    multiplications do not overflow: arithmetic of a kernel has a result for all operands.

    ```mlir
    %at = affine.apply affine_map<(d0) -> (d0 * 3)>(%i)
    ```

    becomes

    ```mlir
    %c3 = arith.constant 3 : index
    %at = arith.muli %i, %c3 : index
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ExpandControlFlowPass
    : Pass<"tile-expand-control-flow", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Turn loops and guards into branches between blocks";
  let description = [{
    Applies the patterns of upstream's `--convert-scf-to-cf` to one operation after
    the other, the last of a block first. Each pattern moves the rest of its block
    into a new one. In this order an operation is moved once for each operation
    that it is nested in. In upstream's order all operations after each guard are
    moved, and each move is recorded: a thread that loads 4096 elements with guards
    took minutes and gigabytes.

    The variable of a loop may grow beyond the largest number, unless its step is 1 or its
    bounds are constants. Such a loop gets a comparison without sign, or counts its
    iterations: it ends where upstream's patterns make an endless loop. A run-time step
    that is not positive counts as 1.

    ```mlir
    scf.if %on {
      llvm.store %x, %p : vector<4xf32>, !llvm.ptr<1>
    }
    ```

    becomes

    ```mlir
      cf.cond_br %on, ^bb1, ^bb2
    ^bb1:
      llvm.store %x, %p : vector<4xf32>, !llvm.ptr<1>
      cf.br ^bb2
    ^bb2:
    ```
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect"];
}

def ConvertThreadsToLLVMPass
    : Pass<"convert-tile-threads-to-llvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Convert the remaining per-thread code to the LLVM dialect";
  let description = [{
    Runs the upstream conversions of `arith`, `cf`, `index`, `math`, `memref`,
    `ub` and `vector` together, with indices of one width. Unlike the upstream
    pipelines for GPUs, it calls no library: `math.sqrt` becomes an intrinsic
    that the backends select as an instruction. A long vector is built from its
    elements in halves, because LLVM takes quadratic time for a chain of
    insertions.

    Shifts, divisions and conversions to integers have a result for all operands
    ([dialect.md](dialect.md) lists them), where upstream's conversions leave it
    undefined. Operands that are constants in range need no code for this, and on
    NVIDIA GPUs neither do `<<`, `arith.shrui` and conversions from f32 to 32 bits,
    whose instructions have these results.

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

def AddLineTablesPass
    : Pass<"tile-add-line-tables", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Let device code say which source line each instruction is from";
  let description = [{
    Adds the debug information that LLVM needs to keep the lines of locations: a
    subprogram for each function, and for each function that was inlined. No
    instruction changes. A PTX file gets `.file` and `.loc` directives, which `ptxas`
    turns into a table of the cubin, and an AMD code object gets DWARF's line table.
    Compilations run this pass after the pipelines, unless they are asked not to
    (`--line-info=false`).

    A function without a place in a file stays as it is, and so does one that has debug
    information.

    Before:

    ```mlir
    llvm.func @scale(%x: f32) -> f32 {
      %y = llvm.fmul %x, %x : f32 loc(callsite("square"("k.py":6:9) at "k.py":13:9))
      llvm.return %y : f32 loc("k.py":14:5)
    } loc("k.py":10:1)
    ```

    After:

    ```mlir
    #file = #llvm.di_file<"k.py" in "">
    #unit = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, ...>
    #scale = #llvm.di_subprogram<compileUnit = #unit, name = "scale", line = 10, ...>
    #square = #llvm.di_subprogram<compileUnit = #unit, name = "square", ...>
    llvm.func @scale(%x: f32) -> f32 {
      %y = llvm.fmul %x, %x : f32 loc(callsite(fused<#square>["k.py":6:9] at "k.py":13:9))
      llvm.return %y : f32 loc("k.py":14:5)
    } loc(fused<#scale>["k.py":10:1])
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TILEWS_CONVERSION_PASSES_TD
