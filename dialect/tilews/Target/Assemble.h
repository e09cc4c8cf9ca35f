//===- Assemble.h - The last step to a binary -------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_ASSEMBLE_H
#define TILEWS_TARGET_ASSEMBLE_H

#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include <optional>
#include <string>

namespace tilews {

/// Returns the path of `ptxas`: on PATH, in the `bin` of CUDA_HOME or
/// CUDA_PATH, or in one of `directories`.
std::optional<std::string>
findPtxas(llvm::ArrayRef<std::string> directories = {});

/// Assembles PTX to a cubin. `log` receives the report of `ptxas -v`.
mlir::FailureOr<std::string>
assemblePtx(llvm::StringRef ptx, llvm::StringRef chip,
            llvm::ArrayRef<std::string> directories, mlir::Location loc,
            std::string &log);

/// Links an AMD relocatable object to a loadable code object (HSACO).
mlir::FailureOr<std::string> linkCodeObject(llvm::StringRef object,
                                            mlir::Location loc);

} // namespace tilews

#endif // TILEWS_TARGET_ASSEMBLE_H
