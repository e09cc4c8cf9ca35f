//===- ContextsCAPI.cpp - Which parts attributes and types may have -------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR makes an attribute of a context from attributes and types of any other.
// It dangles as soon as the other context is destroyed. MLIR's Python package
// examines each attribute and type that it makes by these functions, so that
// they look only at the direct parts: those of parts were examined before. MLIR
// also takes any attribute for the layout of a memref, and calls its interface.
//
//===----------------------------------------------------------------------===//

#include "tilews-c/Contexts.h"

#include "mlir/CAPI/IR.h"
#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/Types.h"

using namespace mlir;

/// Whether `object`, an attribute or a type, and its direct parts are of
/// `context`.
template <typename T>
static bool isOfContext(T object, MLIRContext *context) {
  if (!object)
    return true;
  if (object.getContext() != context)
    return false;
  bool same = true;
  object.walkImmediateSubElements(
      [&](Attribute part) { same &= part.getContext() == context; },
      [&](Type part) { same &= part.getContext() == context; });
  return same;
}

bool tilewsAttributeIsOfContext(MlirAttribute attribute, MlirContext context) {
  return isOfContext(unwrap(attribute), unwrap(context));
}

bool tilewsTypeIsOfContext(MlirType type, MlirContext context) {
  return isOfContext(unwrap(type), unwrap(context));
}

bool tilewsAttributeIsMemRefLayout(MlirAttribute attribute) {
  Attribute layout = unwrap(attribute);
  return !layout || isa<MemRefLayoutAttrInterface>(layout);
}
