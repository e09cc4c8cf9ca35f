//===- Parse.h - Parsing with limits ----------------------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_C_PARSE_H
#define TILEWS_C_PARSE_H

#include "mlir-c/IR.h"

#ifdef __cplusplus
extern "C" {
#endif

/// These functions are those of mlir-c/IR.h, but for an error where the parser
/// would crash.
MLIR_CAPI_EXPORTED MlirModule tilewsModuleCreateParse(MlirContext context,
                                                      MlirStringRef text);
MLIR_CAPI_EXPORTED MlirModule
tilewsModuleCreateParseFromFile(MlirContext context, MlirStringRef path);
MLIR_CAPI_EXPORTED MlirOperation tilewsOperationCreateParse(
    MlirContext context, MlirStringRef text, MlirStringRef sourceName);
MLIR_CAPI_EXPORTED MlirAttribute tilewsAttributeParseGet(MlirContext context,
                                                         MlirStringRef text);
MLIR_CAPI_EXPORTED MlirType tilewsTypeParseGet(MlirContext context,
                                               MlirStringRef text);

#ifdef __cplusplus
}
#endif

#endif // TILEWS_C_PARSE_H
