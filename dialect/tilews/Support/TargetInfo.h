//===- TargetInfo.h - Facts about a GPU -------------------------*- C++ -*-===//
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

/// The facts about a GPU that the compiler uses, all derived from the chip's
/// name.
///
/// Example: "sm_90a" has arch 90, archSpecific, warps of 32 threads and 227 KiB
/// of shared memory per block.
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
  /// NVIDIA: whether the chip's name ends in `a` or `f`, which enables the
  /// instructions of its architecture (wgmma, tcgen05).
  bool archSpecific = false;
  unsigned warpSize = 32;
  /// The largest dynamic shared memory of a block, in bytes.
  int64_t maxSharedBytes = 0;
  unsigned maxThreads = 1024;

  bool isNVIDIA() const { return vendor == Vendor::NVIDIA; }
  bool isAMD() const { return vendor == Vendor::AMD; }
  /// Returns whether copies to shared memory run on while their threads go on:
  /// cp.async, or on gfx950 loads that write 16 bytes of a lane directly.
  bool hasCpAsync() const { return isNVIDIA() ? arch >= 80 : arch == 0x950; }
  /// Returns whether there are barriers in shared memory (mbarrier).
  bool hasMBarriers() const { return isNVIDIA() && arch >= 80; }
  /// Returns whether warpgroups can exchange registers (setmaxnreg).
  bool hasRegisterDonation() const {
    return isNVIDIA() && arch >= 90 && archSpecific;
  }
  bool hasTma() const { return isNVIDIA() && arch >= 90; }
  bool hasWgmma() const { return isNVIDIA() && arch == 90 && archSpecific; }
  /// Returns whether an instruction multiplies and adds bf16 and rounds once.
  bool hasBf16Fma() const { return isNVIDIA() && arch >= 80; }
  bool hasMfma() const {
    return isAMD() &&
           (arch == 0x908 || arch == 0x90a || arch == 0x942 || arch == 0x950);
  }
  bool hasWmma() const { return isAMD() && arch >= 0x1100; }
  /// Whether lanes can read a transposed matrix from shared memory
  /// (ds_read_b64_tr_b16 and ds_read_b64_tr_b8).
  bool hasTransposedReads() const { return isAMD() && arch == 0x950; }
  /// Says which types of fp8 the chip converts, as the end of an error.
  llvm::StringRef describeFp8() const;

  /// Returns the names of all known chips.
  static llvm::ArrayRef<llvm::StringLiteral> getKnownChips();
  /// Returns the target of a chip's name. The error lists the known chips.
  static mlir::FailureOr<TargetInfo>
  get(llvm::StringRef chip,
      llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
  /// Returns the target of the `gpu.module` around `op`: its first
  /// `#nvvm.target` or `#rocdl.target`. Emits an error at the module if it has
  /// none.
  static mlir::FailureOr<TargetInfo> get(mlir::Operation *op);
  /// Returns the warp size for the kernel around `op`; 32 if its module has no
  /// target yet.
  static unsigned getWarpSize(mlir::Operation *op);
  /// Makes `chip` the only target of a gpu.module. Emits an error if the module
  /// is already lowered for another one.
  static mlir::LogicalResult set(mlir::Operation *module, llvm::StringRef chip);
};

} // namespace tilews

#endif // TILEWS_SUPPORT_TARGETINFO_H
