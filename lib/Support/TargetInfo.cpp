//===- TargetInfo.cpp - Facts about a GPU ---------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Facts about a chip, from its name alone: the vendor, the architecture number,
// the warp size, the largest shared memory of a block, and the features that
// LLVM is given. A suffix `a` or `f` of an NVIDIA chip enables instructions of
// that architecture only, such as wgmma on sm_90a. Chips that are not in the
// list are errors, so that no kernel is compiled with guessed limits.
//
// The chip of a module is the first target of its gpu.module.
//
//===----------------------------------------------------------------------===//

#include "tilews/Support/TargetInfo.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tilews;

/// Returns the shared memory that a block may request: CUDA C++ Programming
/// Guide, table "Technical Specifications per Compute Capability", minus the 1
/// KiB that the system reserves.
static int64_t getMaxSharedBytes(unsigned sm) {
  switch (sm) {
  case 75:
    return 64 << 10;
  case 80:
  case 87:
    return 163 << 10;
  case 86:
  case 89:
  case 120:
  case 121:
    return 99 << 10;
  default:
    return 227 << 10;
  }
}

ArrayRef<StringLiteral> TargetInfo::getKnownChips() {
  static constexpr StringLiteral chips[] = {
      "sm_75",   "sm_80",   "sm_86",   "sm_87",   "sm_89",   "sm_90",
      "sm_90a",  "sm_100",  "sm_100a", "sm_100f", "sm_103",  "sm_103a",
      "sm_103f", "sm_110",  "sm_110a", "sm_110f", "sm_120",  "sm_120a",
      "sm_120f", "sm_121",  "sm_121a", "sm_121f", "gfx90a",  "gfx942",
      "gfx950",  "gfx1100", "gfx1101", "gfx1102", "gfx1200", "gfx1201"};
  return chips;
}

static bool parseNVIDIA(StringRef chip, TargetInfo &target) {
  if (!chip.consume_front("sm_"))
    return false;
  target.archSpecific = chip.consume_back("a") || chip.consume_back("f");
  if (chip.getAsInteger(10, target.arch))
    return false;
  target.vendor = Vendor::NVIDIA;
  target.triple = "nvptx64-nvidia-cuda";
  // LLVM's default for a chip is the oldest PTX version that supports it.
  target.features = target.arch >= 100 ? "+ptx88" : "+ptx86";
  target.warpSize = 32;
  target.maxSharedBytes = getMaxSharedBytes(target.arch);
  return true;
}

static bool parseAMD(StringRef chip, TargetInfo &target) {
  StringRef number = chip;
  if (!number.consume_front("gfx") || number.getAsInteger(16, target.arch))
    return false;
  target.vendor = Vendor::AMD;
  target.triple = "amdgcn-amd-amdhsa";
  target.warpSize = target.arch < 0x1000 ? 64 : 32;
  target.maxSharedBytes = target.arch == 0x950 ? 160 << 10 : 64 << 10;
  return true;
}

FailureOr<TargetInfo>
TargetInfo::get(StringRef chip,
                llvm::function_ref<InFlightDiagnostic()> emitError) {
  TargetInfo target;
  target.chip = chip.str();
  if (llvm::is_contained(getKnownChips(), chip) &&
      (parseNVIDIA(chip, target) || parseAMD(chip, target)))
    return target;
  return emitError() << "unknown chip '" << chip
                     << "', expected an NVIDIA chip from sm_75 to sm_121 "
                        "(such as sm_80, sm_90a) or an AMD chip (gfx90a, "
                        "gfx942, gfx950, gfx1100, gfx1101, gfx1102, gfx1200, "
                        "gfx1201)";
}

/// Returns the chip of a module's first target; empty if it has none.
static StringRef getChip(gpu::GPUModuleOp module) {
  if (ArrayAttr targets = module.getTargetsAttr()) {
    for (Attribute attr : targets) {
      if (auto nvvm = dyn_cast<NVVM::NVVMTargetAttr>(attr))
        return nvvm.getChip();
      if (auto rocdl = dyn_cast<ROCDL::ROCDLTargetAttr>(attr))
        return rocdl.getChip();
    }
  }
  return {};
}

StringRef TargetInfo::describeFp8() const {
  if (isNVIDIA() ? arch >= 89 : arch == 0x950 || arch >= 0x1200)
    return "; its types of fp8 are 'f8E4M3FN' and 'f8E5M2' (in Python, tl.e4m3 "
           "and tl.e5m2)";
  if (isAMD() && arch == 0x942)
    return "; its types of fp8 are 'f8E4M3FNUZ' and 'f8E5M2FNUZ' (in Python, "
           "tl.e4m3 and tl.e5m2 stand for them)";
  return ", which has no fp8";
}

unsigned TargetInfo::getWarpSize(Operation *op) {
  auto module = op->getParentOfType<gpu::GPUModuleOp>();
  StringRef chip = module ? getChip(module) : StringRef();
  TargetInfo target;
  if (llvm::is_contained(getKnownChips(), chip))
    (void)(parseNVIDIA(chip, target) || parseAMD(chip, target));
  return target.warpSize;
}

FailureOr<TargetInfo> TargetInfo::get(Operation *op) {
  auto module = isa<gpu::GPUModuleOp>(op)
                    ? cast<gpu::GPUModuleOp>(op)
                    : op->getParentOfType<gpu::GPUModuleOp>();
  if (!module)
    return op->emitError("expected to be in a gpu.module with a target");
  if (StringRef chip = getChip(module); !chip.empty())
    return get(chip, [&] { return module.emitError(); });
  return module.emitError("has no target; write gpu.module @")
         << module.getName()
         << " [#nvvm.target<chip = \"sm_90a\">], or give the tool a chip: "
            "--tile-set-target=chip=sm_90a, tilews-translate --chip=sm_90a, "
            "tilews compile --target sm_90a";
}

LogicalResult TargetInfo::set(Operation *op, StringRef chip) {
  auto module = cast<gpu::GPUModuleOp>(op);
  bool isLowered = module.getOps<gpu::GPUFuncOp>().empty();
  auto target = TargetInfo::get(chip, [&] { return module.emitError(); });
  if (failed(target))
    return failure();
  if (isLowered && module.getTargetsAttr()) {
    FailureOr<TargetInfo> before = TargetInfo::get(module);
    if (failed(before))
      return failure();
    if (before->chip != target->chip)
      return module.emitError("is lowered for ")
             << before->chip << " already, found the request for " << chip
             << "; start from the tile dialect instead";
  }
  MLIRContext *context = module.getContext();
  // The parser has not loaded the dialect of a target that the file does not
  // name.
  Attribute attr;
  if (target->isNVIDIA()) {
    context->getOrLoadDialect<NVVM::NVVMDialect>();
    attr = NVVM::NVVMTargetAttr::get(context, /*optLevel=*/3, target->triple,
                                     target->chip, target->features);
  } else {
    context->getOrLoadDialect<ROCDL::ROCDLDialect>();
    attr = ROCDL::ROCDLTargetAttr::get(context, /*optLevel=*/3, target->triple,
                                       target->chip, target->features);
  }
  module.setTargetsAttr(ArrayAttr::get(context, attr));
  return success();
}
