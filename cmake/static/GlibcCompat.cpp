//===- GlibcCompat.cpp - Run with an older C library ----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Debian 12's LLVM calls arc4random of glibc 2.36, its only symbol newer than
// 2.34. A definition of our own lets a static build run with the older one.
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
