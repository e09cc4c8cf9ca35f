//===- ModelText.cpp - The text of a model --------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Opens an atomic step at its first statement and closes it at the next gap, so
// that there are no empty steps:
//
//   step("a"); step("b"); gap(); gap(); step("c"); gap();
//
//   atomic {
//     a;
//     b;
//   }
//   atomic {
//     c;
//   }
//
//===----------------------------------------------------------------------===//

#include "ModelText.h"

using namespace mlir;
using namespace tilews::promela;

void ModelText::put(const Twine &line) {
  text += std::string(size_t(2) * depth, ' ') + line.str() + "\n";
}

void ModelText::step(const Twine &statement) {
  if (!inStep) {
    put("atomic {");
    ++depth;
    inStep = true;
  }
  put(statement + ";");
}

void ModelText::gap() {
  if (!inStep)
    return;
  inStep = false;
  --depth;
  put("};");
}

void ModelText::line(const Twine &text) {
  gap();
  put(text);
}

void ModelText::comment(const Twine &text) { put("/* " + text + " */"); }
