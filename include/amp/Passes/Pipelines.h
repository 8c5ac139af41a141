//===- Pipelines.h - what runs when -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_PIPELINES_H
#define AMP_PASSES_PIPELINES_H

#include "amp/Analysis/Placement.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

#include <string>

namespace amp {

/// Options of `amp-autocast`; they mean what they mean in
/// amp-annotate-precision.
struct AutocastPipelineOptions
    : public mlir::PassPipelineOptions<AutocastPipelineOptions> {
  Option<std::string> low{
      *this, "low",
      llvm::cl::desc(
          "Low format, fp16, bf16 or tf32 (default: the policy's, else fp16)")};
  Option<std::string> policy{
      *this, "policy",
      llvm::cl::desc("Name of a preset, or path of a policy file"),
      llvm::cl::init("inference")};
  Option<IOTypes> ioTypes{
      *this, "keep-io-types",
      llvm::cl::desc(
          "Public functions keep the types of arguments and results"),
      llvm::cl::init(IOTypes::Policy),
      llvm::cl::values(
          clEnumValN(IOTypes::Keep, "true", "they do"),
          clEnumValN(IOTypes::Lower, "false", "those of float32 become low"),
          clEnumValN(IOTypes::Policy, "policy",
                     "as the policy says, which may name some of them"))};
  Option<Placement> placement{
      *this, "placement",
      llvm::cl::desc("How formats are chosen where the policy leaves it open"),
      llvm::cl::init(Placement::Eager),
      llvm::cl::values(
          clEnumValN(Placement::Eager, "eager",
                     "by an operation's inputs, as PyTorch does"),
          clEnumValN(Placement::Optimal, "optimal",
                     "so that the program moves as few bytes as it can"))};
  ListOption<std::string> dimensions{
      *this, "dim",
      llvm::cl::desc("NAME=SIZE: what optimal placement takes a dynamic "
                     "dimension of this name for")};
  Option<bool> keepIslands{
      *this, "keep-islands",
      llvm::cl::desc("Optimal placement leaves operations float32 that the "
                     "policy leaves free where none near them is low by "
                     "policy"),
      llvm::cl::init(true)};
  ListOption<std::string> keepOps{
      *this, "keep-op",
      llvm::cl::desc("Operators that keep their types, \"Op\" or "
                     "\"domain:Op\"")};
  ListOption<std::string> keepNodes{
      *this, "keep-node",
      llvm::cl::desc("Regular expressions on the names of nodes that keep "
                     "their types")};
  Option<double> rangeMargin{
      *this, "range-margin",
      llvm::cl::desc("A value stays float32 if its measured range, times this, "
                     "is beyond the low format's"),
      llvm::cl::init(2)};
  Option<bool> estimates{
      *this, "estimates",
      llvm::cl::desc("What statistics that are constants of the program say of "
                     "ranges and errors is a reason for float32"),
      llvm::cl::init(true)};
  Option<bool> keepReasons{
      *this, "keep-reasons",
      llvm::cl::desc("Leave amp.category, amp.reason and amp.rule on "
                     "operations"),
      llvm::cl::init(false)};
};

/// Appends the passes of `amp-autocast`: mixed precision for a module of any
/// dialect. Casts are left as `amp.cast`, which the dialect's own lowering
/// replaces afterwards.
void buildAutocastPipeline(mlir::OpPassManager &manager,
                           const AutocastPipelineOptions &options);

/// Adds the pipelines to the global registry, for command lines.
void registerPipelines();

} // namespace amp

#endif // AMP_PASSES_PIPELINES_H
