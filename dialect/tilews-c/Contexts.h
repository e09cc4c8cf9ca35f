//===- Contexts.h - Which parts attributes and types may have ---*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_CONTEXTS_H
#define TILEWS_C_CONTEXTS_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Whether an attribute, and the attributes and types that it is made of, are
/// of a context. What those are made of was examined when they were made. True
/// for null.
MLIR_CAPI_EXPORTED bool tilewsAttributeIsOfContext(MlirAttribute attribute,
                                                   MlirContext context);

/// The same for a type.
MLIR_CAPI_EXPORTED bool tilewsTypeIsOfContext(MlirType type,
                                              MlirContext context);

/// Whether an attribute can be the layout of a memref. True for null.
MLIR_CAPI_EXPORTED bool tilewsAttributeIsMemRefLayout(MlirAttribute attribute);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_CONTEXTS_H
