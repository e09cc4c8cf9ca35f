//===- Manifest.h - Launch manifests ----------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch manifest is a JSON object with all facts that a launcher needs, so
// that the launcher needs no MLIR:
//
//   format            version of this format, kManifestFormat
//   kernel            name of the function in the object
//   target            chip, vendor, warp_size
//   index_bitwidth    width of extents and strides as parameters, 32 or 64
//   arguments         what the caller passes, in order. A buffer has name,
//                     dtype, shape (a number, or the name of an extent, or
//                     null), strides in elements (a number or null; `null`
//                     instead of the list for row-major), divisible and
//                     alignment in bytes, and reach if offsets have 32 bits
//                     (tile.reach); a scalar has name, dtype, and unsigned if
//                     it is an integer without sign
//   disjoint          pairs [a, b] of arguments that must not overlap in
//                     memory: the kernel writes a and accesses b; null if not
//                     known
//   parameters        what the kernel receives, in order: kind (pointer,
//                     extent, stride, scalar, tensor_map), dtype, argument,
//                     for extents and strides the dimension, and for tensor
//                     maps, which come last and are 128 bytes aligned to 64,
//                     the number of the map
//   grid              x, y, z as expressions of the arguments: a number,
//                     {"extent": [argument, dimension]}, {"scalar": argument},
//                     or {"op": add|mul|mod|floordiv|ceildiv, "args": [a, b]};
//                     null if the caller chooses
//   grid_text         the same for people
//   block, cluster    x, y, z; cluster is null if there is none
//   shared_bytes      dynamic shared memory to ask for
//   tensor_maps       recipes of the tensor maps among the parameters: the
//                     buffer's argument, dtype and rank; dims, the argument's
//                     dimensions in the map's order, the one with stride one
//                     first; in that order extents, strides in bytes (from the
//                     second on), box and element_strides; swizzle in bytes
//                     (0, 32, 64, 128), l2_promotion in bytes, out_of_bounds;
//                     the window of a map of slices of run-time sizes, with its
//                     position among dims and its size, and outside, which is
//                     true for a map of boxes outside of the array (see
//                     docs/launch.md).
//                     Extents and strides are expressions as for the grid, and
//                     {"stride": [argument, dimension]}, in elements
//   prints            true if the kernels print: __tilews_printed has two i32,
//                     the lines since the launch and their limit, which the
//                     launch sets
//   print_records     message and values (dtype, unsigned, shape) of each print
//                     of an AMD GPU, which writes to the memory whose address
//                     is __tilews_records; not there without one
//   assertions        message and, for fragments, shape of each assertion; not
//                     there without one. __tilews_failure is the address of two
//                     i64 that the host can read after a failure
//                     (docs/launch.md)
//   resources         registers, spills and so on, null if not known
//   code_sha256       of the file with the code, in hexadecimal digits; added
//                     where both are written together
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_MANIFEST_H
#define TILEWS_TARGET_MANIFEST_H

#include "tilews/Support/TargetInfo.h"
#include "tilews/Target/Resources.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/JSON.h"

namespace tilews {

constexpr int64_t kManifestFormat = 1;

/// Returns the kernels of a module, lowered or not.
llvm::SmallVector<mlir::FunctionOpInterface>
getKernels(mlir::gpu::GPUModuleOp module);

/// Returns the manifest of a kernel. `resources` may be null.
mlir::FailureOr<llvm::json::Object>
getManifest(mlir::FunctionOpInterface kernel, const TargetInfo &target,
            const KernelResources *resources);

} // namespace tilews

#endif // TILEWS_TARGET_MANIFEST_H
