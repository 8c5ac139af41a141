//===- amp-translate.cpp - between files and modules ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HideForeignOptions.h"

#include "amp/Target/ONNX.h"

#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  amp::hideForeignOptions();
  amp::registerONNXTranslations();
  return mlir::failed(
      mlir::mlirTranslateMain(argc, argv, "onnx-amp: ONNX and MLIR"));
}
