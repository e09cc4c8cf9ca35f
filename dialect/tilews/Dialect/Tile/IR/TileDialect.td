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
    The tile dialect describes a GPU kernel by operations on whole tiles: copies
    between memories, matmuls, reductions and scans. Everything else is upstream
    MLIR. A kernel is a `gpu.func` in a `gpu.module` with a `#nvvm.target` or
    `#rocdl.target`. Control flow is `scf`. Elementwise math is `arith` and `math`
    on tensors.

    Values:

    * **Global and shared memory** are memrefs. Shared memory lives in
      `#gpu.address_space<workgroup>` and may carry a `#tile.shared` layout.
    * **Fragments** are tensors with value semantics, held in the registers of
      the kernel's threads. A `#tile.fragment` encoding maps elements to threads
      and registers; it is absent until `--tile-infer-layouts` has run.
    * **Scalars** are uniform: every thread computes the same value, and a scalar
      `memref.store` is performed once. Conditions and loop bounds are therefore
      the same for all threads.

    Every operation of `arith`, `math` and `index` has a result for all operands,
    also where upstream leaves it undefined (poison):

    | operation | result |
    |---|---|
    | `arith.shli`, `arith.shrui` | counts have no sign; a count of the width or more gives 0 |
    | `arith.shrsi` | counts have no sign; a count of the width or more leaves copies of the sign: 0 or -1 |
    | `arith.divsi`, `arith.divui`, `arith.floordivsi`, `arith.ceildivsi`, `arith.ceildivui` | a quotient by 0 is -1: all bits are set. The lowest integer divided by -1 is itself |
    | `arith.remsi`, `arith.remui` | the remainder of a division by 0 is the dividend; that of the lowest integer by -1 is 0 |
    | `arith.fptosi`, `arith.fptoui` | rounds to zero and saturates; NaN becomes 0 |
    | `arith.truncf` to an fp8 type | saturates, also for infinity, and keeps NaN |
    | `arith.truncf` to `f6E2M3FN`, `f6E3M2FN`, `f4E2M1FN` | saturates, also for infinity; NaN becomes 0 |
    | `arith.truncf` to `f8E8M0FNU` | the nearest power of two, the larger of two; at least 2^-127; NaN for zero, negative and too large numbers |

    In memory an element of less than 8 bits takes a byte. `tile.bitcast` makes
    fragments of such elements of bytes, and bytes of them.

    Flags such as `overflow<nsw>`, `exact` and `fastmath<nnan>` are promises: a
    result that breaks its promise is undefined. `ub.poison` is undefined, too.

    A kernel without layouts has sequential semantics: its operations are executed
    one after the other, as the reference interpreter does. Every later form of the
    kernel must compute the same results.

    Attributes on a kernel (`gpu.func`):

    | attribute | type | meaning |
    |---|---|---|
    | `tile.threads` | `i32` | threads in a block, a multiple of the warp size |
    | `tile.grid` | `affine_map<()[s0, ...] -> (x, y, z)>` | grid extents; the symbols are the dynamic extents of memref arguments and the values of integer arguments, in the order of the arguments |
    | `tile.cluster` | `array<i32: x, y, z>` | thread block cluster (NVIDIA sm_90 and later) |
    | `tile.rasterize` | `#tile.rasterize` | order in which block ids visit the output tiles, `--tile-rasterize-blocks` |
    | `tile.role_registers` | `{math = 232, load = 40}` | registers per thread of the roles that `--tile-specialize-warps` makes: multiples of 8 from 24 to 256 |
    | `tile.schedule_limit` | `#tile.schedule_limit` | what a schedule may have: buffers of a loop share a channel where they can (`few_channels`); also, the kernel keeps one role (`one_role`); also, its loops are no pipelines, and nothing else runs asynchronously (`no_pipeline`). Set by `--tile-verify-schedule` when a plan was wrong |
    | `tile.may_alias` | `[array<i32: 0, 2>, ...]` | pairs of memref arguments that may overlap in memory; all others do not, if the kernel writes one of the two; checked at launch |
    | `tile.shared_bytes` | `i64` | size of the shared memory arena, set by `--tile-plan-shared-memory` |
    | `tile.arguments` | `[{type = memref<?x?xf16>, tile.name = "A", ...}, ...]` | only on the `llvm.func` made from a kernel: the types and attributes of the kernel's arguments |
    | `tile.disjoint` | `[array<i32: 2, 0>, ...]` | only on the `llvm.func` made from a kernel: pairs of arguments that must not overlap. The kernel writes the first and accesses the second |
    | `tile.tensor_maps` | `[{argument = 0, dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle = #tile.swizzle<span128>}, ...]` | only on the `llvm.func` made from a kernel: the tensor maps that are its last parameters |

    Attributes on the arguments of a kernel. All except `tile.name` and `tile.unsigned`
    are for memrefs only:

    | attribute | type | meaning |
    |---|---|---|
    | `tile.name` | `str` | name of the argument, for messages |
    | `tile.unsigned` | unit | on integers: the number has no sign; a negative one is refused at launch |
    | `tile.symbols` | `["M", "K", ...]` | names of the extents, `""` for none; extents with the same name are equal, also across arguments; checked at launch |
    | `tile.divisible` | `array<i64: ...>` | a divisor of the extent of each dimension; checked at launch |
    | `tile.alignment` | `i64` | alignment of the base pointer in bytes, 16 if absent; checked at launch |
    | `tile.reach` | `array<i64: ...>` | set by `--convert-tile-to-rocdl`: the extents of the regions of the memref that are accessed by 32-bit offsets in bytes, 0 for a whole extent of the memref; checked at launch |

    Attributes on loops and operations:

    | attribute | on | meaning |
    |---|---|---|
    | `tile.num_stages` | `scf.for` | `i32`: number of stages of the software pipeline requested for this loop, `--tile-plan-pipeline` |
    | `tile.split_k` | `scf.for` | `i32`: number of blocks that share the iterations of this loop, `--tile-split-k` |
    | `tile.stream_k` | `scf.for` | unit: the blocks of the launch share the iterations of this loop over all tiles of a `tile.persistent`, `--tile-stream-k` |
    | `tile.ping_pong` | `scf.for`, `tile.persistent` | unit: two roles run alternate iterations of this loop, `--tile-ping-pong`; the iterations must be independent |
    | `tile.stage`, `tile.order` | operations of a loop with `tile.num_stages` | `i32`: pipeline stage of the operation, and its position among the operations of the loop; set by `--tile-plan-pipeline` or by hand |
    | `tile.inst` | copies and matmuls | `#tile.inst`: the instruction that the operation becomes |
    | `tile.layout` | operations with one fragment as result | `#tile.fragment`: the layout that `--tile-infer-layouts` must assign to the fragment |
    | `tile.offset` | `tile.alloc_shared`, `tile.channel`, operations with scratch | `i64`: byte offset in the shared memory arena |
    | `tile.unsigned` | `tile.print` | `array<i64: ...>`: positions of the printed values whose integers have no sign |
  }];
  let dependentDialects = [
    "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::tensor::TensorDialect"
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
    static constexpr ::llvm::StringLiteral kScheduleLimit =
        "tile.schedule_limit";
    static constexpr ::llvm::StringLiteral kMayAlias = "tile.may_alias";
    static constexpr ::llvm::StringLiteral kDisjoint = "tile.disjoint";
    static constexpr ::llvm::StringLiteral kArguments = "tile.arguments";
    static constexpr ::llvm::StringLiteral kTensorMaps = "tile.tensor_maps";
    static constexpr ::llvm::StringLiteral kName = "tile.name";
    static constexpr ::llvm::StringLiteral kSymbols = "tile.symbols";
    static constexpr ::llvm::StringLiteral kDivisible = "tile.divisible";
    static constexpr ::llvm::StringLiteral kAlignment = "tile.alignment";
    static constexpr ::llvm::StringLiteral kReach = "tile.reach";
    static constexpr ::llvm::StringLiteral kNumStages = "tile.num_stages";
    static constexpr ::llvm::StringLiteral kSplitK = "tile.split_k";
    static constexpr ::llvm::StringLiteral kStreamK = "tile.stream_k";
    static constexpr ::llvm::StringLiteral kPingPong = "tile.ping_pong";
    static constexpr ::llvm::StringLiteral kStage = "tile.stage";
    static constexpr ::llvm::StringLiteral kOrder = "tile.order";
    static constexpr ::llvm::StringLiteral kInst = "tile.inst";
    static constexpr ::llvm::StringLiteral kLayout = "tile.layout";
    static constexpr ::llvm::StringLiteral kOffset = "tile.offset";
    static constexpr ::llvm::StringLiteral kUnsigned = "tile.unsigned";
    static constexpr ::llvm::StringLiteral kBlock = "tile.block";

    /// The version of the dialect in bytecode. A change after which bytecode of
    /// an earlier release would be misread increases it (docs/policy.md).
    static constexpr uint64_t kBytecodeVersion = 3;

    void registerTypes();
    void registerBytecode();
  }];
}

#endif // TILEWS_DIALECT_TILE_IR_TILEDIALECT_TD
