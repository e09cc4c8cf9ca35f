//===- TileDialect.td - The tile dialect -------------------*- tablegen -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_DIALECT_TILE_IR_TILEDIALECT_TD
#define TILEWS_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/DialectBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tilews::tile";
  let summary = "Whole-tile operations of GPU kernels";
  let description = [{
    The tile dialect describes a GPU kernel by what happens to whole tiles:
    copies between memories, matrix products, reductions and scans. Everything
    else is upstream MLIR. Kernels are `gpu.func`s in a `gpu.module` that names
    its `#nvvm.target` or `#rocdl.target`; control flow is `scf`; elementwise
    math is `arith` and `math` on tensors.

    Values:

    * **Global and shared memory** are memrefs. Shared memory lives in
      `#gpu.address_space<workgroup>` and may carry a `#tile.shared` layout.
    * **Fragments** are tensors with value semantics, held in the registers of
      the kernel's threads. A `#tile.fragment` encoding says which thread holds
      which element; it is absent until `--tile-infer-layouts` has run.
    * **Scalars** are uniform: every thread computes the same value, and a
      scalar `memref.store` happens once. A condition or a loop bound is
      therefore the same for all threads.

    `arith.truncf` to an fp8 type saturates, infinity included, and keeps NaN.

    The semantics of a kernel without layouts are sequential: one operation
    after the other, as the reference interpreter executes them. Every later
    form of the kernel has to equal it.

    Attributes on a kernel (`gpu.func`):

    | attribute | type | meaning |
    |---|---|---|
    | `tile.threads` | `i32` | threads in a block, a multiple of the warp size |
    | `tile.grid` | `affine_map<()[s0, ...] -> (x, y, z)>` | grid extents; the symbols are, argument by argument, a memref's dynamic extents and an integer argument's value |
    | `tile.cluster` | `array<i32: x, y, z>` | thread block cluster (NVIDIA sm_90 and later) |
    | `tile.rasterize` | `#tile.rasterize` | order in which block ids visit the output tiles |
    | `tile.role_registers` | `{math = 232, load = 40}` | registers of a thread of the roles that `--tile-specialize-warps` makes: multiples of 8 from 24 to 256 |
    | `tile.shared_bytes` | `i64` | size of the shared memory arena, set by `--tile-plan-shared-memory` |
    | `tile.arguments` | `[{type = memref<?x?xf16>, tile.name = "A", ...}, ...]` | only on the `llvm.func` a kernel became: the type and the attributes of the arguments it had |
    | `tile.tensor_maps` | `[{argument = 0, dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle = #tile.swizzle<span128>}, ...]` | only on the `llvm.func` a kernel became: the tensor maps that are its last parameters |

    Attributes on a kernel's arguments, all but the first on memrefs only:

    | attribute | type | meaning |
    |---|---|---|
    | `tile.name` | `str` | the argument's name, for messages |
    | `tile.symbols` | `["M", "K", ...]` | names of the extents, `""` for none; extents of one name are equal in all arguments; checked at launch |
    | `tile.divisible` | `array<i64: ...>` | one divisor a dimension: the extent is a multiple of it; checked at launch |
    | `tile.alignment` | `i64` | alignment of the base pointer in bytes, 16 if absent; checked at launch |

    Attributes on loops and operations:

    | attribute | on | meaning |
    |---|---|---|
    | `tile.num_stages` | `scf.for` | `i32`: stages of the software pipeline wanted for this loop |
    | `tile.split_k` | `scf.for` | `i32`: blocks that share the turns of this loop, `--tile-split-k` |
    | `tile.stream_k` | `scf.for` | unit: the blocks of the launch share the turns of this loop in all tiles of a `tile.persistent`, `--tile-stream-k` |
    | `tile.ping_pong` | `scf.for`, `tile.persistent` | two roles take the turns of this loop alternately, `--tile-ping-pong`; no turn may need what another one writes |
    | `tile.stage`, `tile.order` | operations of such a loop | `i32`: the stage of the pipeline the operation belongs to, and its place among the loop's operations; set by `--tile-plan-pipeline` or by hand |
    | `tile.inst` | copies and matrix products | `#tile.inst`: the instruction the operation becomes |
    | `tile.layout` | operations that make one fragment | `#tile.fragment`: the layout that `--tile-infer-layouts` gives the fragment |
    | `tile.offset` | `tile.alloc_shared`, `tile.channel`, operations with scratch | `i64`: byte offset in the shared memory arena |
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"
  ];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasConstantMaterializer = 1;

  let extraClassDeclaration = [{
    /// Names of the dialect's discardable attributes.
    static constexpr ::llvm::StringLiteral kThreads = "tile.threads";
    static constexpr ::llvm::StringLiteral kGrid = "tile.grid";
    static constexpr ::llvm::StringLiteral kCluster = "tile.cluster";
    static constexpr ::llvm::StringLiteral kRasterize = "tile.rasterize";
    static constexpr ::llvm::StringLiteral kRoleRegisters = "tile.role_registers";
    static constexpr ::llvm::StringLiteral kSharedBytes = "tile.shared_bytes";
    static constexpr ::llvm::StringLiteral kArguments = "tile.arguments";
    static constexpr ::llvm::StringLiteral kTensorMaps = "tile.tensor_maps";
    static constexpr ::llvm::StringLiteral kName = "tile.name";
    static constexpr ::llvm::StringLiteral kSymbols = "tile.symbols";
    static constexpr ::llvm::StringLiteral kDivisible = "tile.divisible";
    static constexpr ::llvm::StringLiteral kAlignment = "tile.alignment";
    static constexpr ::llvm::StringLiteral kNumStages = "tile.num_stages";
    static constexpr ::llvm::StringLiteral kSplitK = "tile.split_k";
    static constexpr ::llvm::StringLiteral kStreamK = "tile.stream_k";
    static constexpr ::llvm::StringLiteral kPingPong = "tile.ping_pong";
    static constexpr ::llvm::StringLiteral kStage = "tile.stage";
    static constexpr ::llvm::StringLiteral kOrder = "tile.order";
    static constexpr ::llvm::StringLiteral kInst = "tile.inst";
    static constexpr ::llvm::StringLiteral kLayout = "tile.layout";
    static constexpr ::llvm::StringLiteral kOffset = "tile.offset";

    void registerTypes();
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILEDIALECT_TD
