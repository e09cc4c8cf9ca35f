//===- Disassemble.h - Instructions of a code object ------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_TARGET_DISASSEMBLE_H
#define TILEWS_TARGET_DISASSEMBLE_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace tilews {

/// What LLVM's scheduling model says of an instruction, in cycles.
struct InstructionCycles {
  /// Until its result can be used.
  unsigned latency = 0;
  /// The unit that it occupies longest, such as `HWXDL`; empty if none.
  std::string unit;
  /// For how long.
  unsigned occupied = 0;
};

/// An instruction of a code object.
struct DisassembledInstruction {
  uint64_t address;
  unsigned size;
  /// As an assembler reads it, on one line.
  std::string text;
  InstructionCycles timing;
};

/// Instructions of a code object, and the chip that they are for.
struct Disassembly {
  std::string chip;
  std::vector<DisassembledInstruction> instructions;
};

/// Disassembles the code of an AMD code object (HSACO). Bytes that are no
/// instruction are skipped: code is padded.
llvm::Expected<Disassembly> disassemble(llvm::StringRef codeObject);

} // namespace tilews

#endif // TILEWS_TARGET_DISASSEMBLE_H
