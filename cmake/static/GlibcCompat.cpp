//===- GlibcCompat.cpp - Run with an older C library ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A static build contains Debian 12's LLVM, which calls arc4random. That is its
// only symbol that glibc has since 2.36 and not before 2.34. This definition,
// hidden from other libraries, lets the build run with the older glibc.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <sys/random.h>

extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() {
  uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != sizeof value) {
  }
  return value;
}
