//===- DisassemblyCAPI.cpp - The C interface of the disassembler ----------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The disassembler in C: instructions go to a callback one by one, so that no
// list crosses the interface. Errors of LLVM become text, which a second
// callback gets; without an error it gets the name of the chip.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Disassembly.h"
#include "tilews/Target/Disassemble.h"

#include "mlir/CAPI/Support.h"

using namespace mlir;
using namespace tilews;

static MlirStringRef wrapString(StringRef string) {
  return mlirStringRefCreate(string.data(), string.size());
}

MlirLogicalResult tilewsDisassemble(
    MlirStringRef codeObject,
    void (*onInstruction)(TilewsInstruction instruction, void *userData),
    MlirStringCallback onText, void *userData) {
  llvm::Expected<Disassembly> found = disassemble(unwrap(codeObject));
  if (!found) {
    std::string reason = llvm::toString(found.takeError());
    onText(wrapString(reason), userData);
    return mlirLogicalResultFailure();
  }
  for (const DisassembledInstruction &inst : found->instructions)
    onInstruction({inst.address, inst.size, wrapString(inst.text),
                   inst.timing.latency, inst.timing.occupied,
                   wrapString(inst.timing.unit)},
                  userData);
  onText(wrapString(found->chip), userData);
  return mlirLogicalResultSuccess();
}
