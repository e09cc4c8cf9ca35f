//===- main.cpp - tilews-reduce -------------------------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Tools.h"

int main(int argc, char **argv) { return tilewsReduceMain(argc, argv); }
