//===- TargetInfo.h - What tilews knows of a GPU ----------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_SUPPORT_TARGETINFO_H
#define TILEWS_SUPPORT_TARGETINFO_H

#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"
#include <string>

namespace tilews {

enum class Vendor { NVIDIA, AMD };

/// A GPU as the compiler sees it: everything is derived from the chip's name.
struct TargetInfo {
  Vendor vendor = Vendor::NVIDIA;
  /// `sm_90a`, `gfx942`.
  std::string chip;
  /// LLVM's triple, and the subtarget features beyond the chip's own.
  std::string triple;
  std::string features;
  /// NVIDIA: the SM number (80, 90, 120). AMD: the hexadecimal gfx number
  /// (0x942, 0x950, 0x1100).
  unsigned arch = 0;
  /// NVIDIA: the chip's name ends in `a` (or `f`): its own instructions
  /// (wgmma, tcgen05) are there.
  bool archSpecific = false;
  unsigned warpSize = 32;
  /// Most dynamic shared memory a block may ask for, in bytes.
  int64_t maxSharedBytes = 0;
  unsigned maxThreads = 1024;

  bool isNVIDIA() const { return vendor == Vendor::NVIDIA; }
  bool isAMD() const { return vendor == Vendor::AMD; }
  bool hasCpAsync() const { return isNVIDIA() && arch >= 80; }
  /// Barriers in shared memory that count arrivals.
  bool hasMBarriers() const { return isNVIDIA() && arch >= 80; }
  /// Whether warpgroups can give registers to each other (setmaxnreg).
  bool hasRegisterDonation() const {
    return isNVIDIA() && arch >= 90 && archSpecific;
  }
  bool hasTma() const { return isNVIDIA() && arch >= 90; }
  bool hasWgmma() const { return isNVIDIA() && arch == 90 && archSpecific; }
  bool hasMfma() const {
    return isAMD() &&
           (arch == 0x908 || arch == 0x90a || arch == 0x942 || arch == 0x950);
  }
  bool hasWmma() const { return isAMD() && arch >= 0x1100; }

  /// All chips that there are.
  static llvm::ArrayRef<llvm::StringLiteral> getKnownChips();
  /// The target of a chip's name; an error says which chips are known.
  static mlir::FailureOr<TargetInfo>
  get(llvm::StringRef chip,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// The target of the `gpu.module` around `op` (its first `#nvvm.target` or
  /// `#rocdl.target`); an error at the module if it has none.
  static mlir::FailureOr<TargetInfo> get(mlir::Operation *op);
  /// The threads of a warp of the kernel around `op`; 32 if its module has no
  /// target yet.
  static unsigned getWarpSize(mlir::Operation *op);
  /// Makes `chip` the only target of a gpu.module; an error if the module is
  /// lowered for another one already.
  static mlir::LogicalResult set(mlir::Operation *module, llvm::StringRef chip);
};

} // namespace tilews

#endif // TILEWS_SUPPORT_TARGETINFO_H
