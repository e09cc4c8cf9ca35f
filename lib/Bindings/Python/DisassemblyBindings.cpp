//===- DisassemblyBindings.cpp - The disassembler in Python ---------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Lists the instructions of an AMD code object, without a tool of LLVM beside
// the package: each with its address, text, and times by LLVM's scheduling
// model. What is no code object raises a ValueError.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Disassembly.h"

#include "mlir/Bindings/Python/Nanobind.h"
#include "mlir/Bindings/Python/NanobindAdaptors.h"
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;

/// Address, size, text, latency, occupied cycles and unit of an instruction.
using InstructionTuple = std::tuple<uint64_t, unsigned, std::string, unsigned,
                                    unsigned, std::string>;

namespace {
/// What the callbacks collect.
struct Collected {
  std::vector<InstructionTuple> instructions;
  std::string text;
};
} // namespace

static std::string toString(MlirStringRef text) {
  return {text.data, text.length};
}

static void addInstruction(TilewsInstruction inst, void *collected) {
  static_cast<Collected *>(collected)->instructions.push_back(
      {inst.address, inst.size, toString(inst.text), inst.latency,
       inst.occupied, toString(inst.unit)});
}

static void setText(MlirStringRef text, void *collected) {
  static_cast<Collected *>(collected)->text = toString(text);
}

static std::pair<std::string, std::vector<InstructionTuple>>
disassemble(const nb::bytes &codeObject) {
  Collected collected;
  MlirStringRef bytes =
      mlirStringRefCreate(codeObject.c_str(), codeObject.size());
  if (mlirLogicalResultIsFailure(
          tilewsDisassemble(bytes, addInstruction, setText, &collected)))
    throw nb::value_error(collected.text.c_str());
  return {collected.text, std::move(collected.instructions)};
}

void populateDisassembly(nb::module_ &m) {
  m.def("disassemble", &disassemble, nb::arg("code_object"),
        "The chip of an AMD code object, and its instructions: tuples of "
        "address, size, text, latency, occupied cycles and unit");
}
