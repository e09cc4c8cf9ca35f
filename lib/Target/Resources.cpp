//===- Resources.cpp - Registers and memory of compiled kernels -----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers, spills and shared memory of compiled kernels, read from the tools'
// own reports. For NVIDIA that is the verbose output of ptxas, whose lines
// belong to the last function that was named:
//
//   ptxas info : Compiling entry function 'gemm' for 'sm_90a'
//   ptxas info : Used 168 registers, used 1 barriers, 1024 bytes smem
//
// For AMD it is the metadata note in the code object. Accumulation registers
// are counted apart from the vector registers, which include them.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/Resources.h"

#include "mlir/IR/Builders.h"
#include "mlir/Target/LLVM/ROCDL/Utils.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace tilews;

/// Returns the number before `unit` in a line such as "Used 24 registers, used
/// 1 barriers, 1024 bytes smem"; zero if there is none.
static int64_t getFigure(StringRef line, StringRef unit) {
  llvm::Regex regex(("([0-9]+) " + unit).str());
  SmallVector<StringRef> groups;
  int64_t figure = 0;
  if (regex.match(line, &groups))
    (void)groups[1].getAsInteger(10, figure);
  return figure;
}

std::vector<KernelResources> tilews::parsePtxasOutput(StringRef output) {
  std::vector<KernelResources> kernels;
  std::vector<std::string> warnings;
  // Properties of device functions are skipped: they follow a "Function
  // properties for" line that does not name the kernel.
  bool inKernel = false;
  for (StringRef line : llvm::split(output, '\n')) {
    line = line.trim();
    auto [prefix, rest] = line.split(": ");
    if (line.contains("Compiling entry function '")) {
      kernels.emplace_back();
      kernels.back().kernel = line.split('\'').second.split('\'').first.str();
      continue;
    }
    if (prefix.contains("warning") || rest.contains("(C7")) {
      warnings.push_back(rest.str());
      continue;
    }
    if (kernels.empty())
      continue;
    KernelResources &kernel = kernels.back();
    if (rest.consume_front("Function properties for "))
      inKernel = rest == kernel.kernel;
    else if (inKernel && line.contains("bytes stack frame")) {
      kernel.stackBytes = getFigure(line, "bytes stack frame");
      kernel.spillStores = getFigure(line, "bytes spill stores");
      kernel.spillLoads = getFigure(line, "bytes spill loads");
    } else if (rest.starts_with("Used ")) {
      kernel.registers = getFigure(line, "registers");
      kernel.staticSharedBytes = getFigure(line, "bytes smem");
    }
  }
  // A warning names its function, if any, inside its text.
  for (const std::string &warning : warnings)
    for (KernelResources &kernel : kernels)
      if (kernels.size() == 1 ||
          StringRef(warning).contains("'" + kernel.kernel + "'"))
        kernel.warnings.push_back(warning);
  return kernels;
}

FailureOr<std::vector<KernelResources>>
tilews::readCodeObjectMetadata(StringRef codeObject, Location loc) {
  Builder builder(loc.getContext());
  auto metadata = ROCDL::getAMDHSAKernelsELFMetadata(
      builder, ArrayRef<char>(codeObject.data(), codeObject.size()));
  if (!metadata)
    return emitError(loc, "the code object has no kernel metadata");
  std::vector<KernelResources> kernels;
  for (auto &[name, attrs] : *metadata) {
    auto get = [&, &attrs = attrs](StringRef key) -> int64_t {
      // LLVM writes 2^32 - 1 for kinds of registers that the chip lacks.
      auto value = dyn_cast_or_null<IntegerAttr>(attrs.get(key));
      return value && value.getInt() != UINT32_MAX ? value.getInt() : 0;
    };
    KernelResources &kernel = kernels.emplace_back();
    kernel.kernel = name.str();
    kernel.accumulationRegisters = get("agpr_count");
    kernel.registers = get("vgpr_count") - kernel.accumulationRegisters;
    kernel.scalarRegisters = get("sgpr_count");
    kernel.staticSharedBytes = get("group_segment_fixed_size");
    kernel.stackBytes = get("private_segment_fixed_size");
    kernel.spillStores = get("vgpr_spill_count") + get("sgpr_spill_count");
  }
  llvm::sort(kernels, [](auto &a, auto &b) { return a.kernel < b.kernel; });
  return kernels;
}
