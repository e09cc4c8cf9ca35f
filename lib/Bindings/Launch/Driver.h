//===- Driver.h - Functions of CUDA's driver --------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver's interface as its documentation gives it, so that a build needs
// no CUDA: https://docs.nvidia.com/cuda/cuda-driver-api, cuLaunchKernelEx,
// CUlaunchConfig, CUlaunchAttribute and cuTensorMapEncodeTiled. The addresses
// come from Python, which has loaded the driver, or a test's own.
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_BINDINGS_LAUNCH_DRIVER_H
#define TILEWS_BINDINGS_LAUNCH_DRIVER_H

#include <cstdint>

namespace tilews::launch {

/// CUlaunchAttribute, as far as it is used: the extents of a cluster.
struct LaunchAttribute {
  static constexpr uint32_t kCluster = 4;

  uint32_t id;
  uint32_t padding;
  uint32_t value[16];
};

/// CUlaunchConfig.
struct LaunchConfig {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t sharedBytes;
  void *stream;
  LaunchAttribute *attributes;
  uint32_t numAttributes;
};

/// The functions; each returns 0 for success.
struct Driver {
  int (*launch)(const LaunchConfig *config, void *function, void **parameters,
                void **extra);
  int (*getContext)(void **context);
  int (*setContext)(void *context);
  int (*isCapturing)(void *stream, int *status);
  int (*encodeTensorMap)(void *map, int type, uint32_t rank, void *address,
                         const uint64_t *extents, const uint64_t *strides,
                         const uint32_t *box, const uint32_t *elementStrides,
                         int interleave, int swizzle, int promotion, int fill);
  /// Whether the stream 0 is one of the thread, which a graph may capture. The
  /// other default stream is never captured.
  bool isZeroOfThread;
};

} // namespace tilews::launch

#endif // TILEWS_BINDINGS_LAUNCH_DRIVER_H
