//===- RegionFlow.cpp - values that share an element type -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Analysis/RegionFlow.h"

#include "amp/Interfaces/AutocastOpInterface.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace amp;

/// Adds the pairs that control flow gives.
static void collectEdges(RegionBranchOpInterface op,
                         SmallVectorImpl<ElementTypeEdge> &edges) {
  for (RegionBranchPoint point : op.getAllRegionBranchPoints()) {
    SmallVector<RegionSuccessor> successors;
    op.getSuccessorRegions(point, successors);
    Operation *source = op;
    if (!point.isParent())
      source = point.getTerminatorPredecessorOrNull();
    for (const RegionSuccessor &successor : successors) {
      OperandRange operands = op.getSuccessorOperands(point, successor);
      ValueRange inputs = successor.getSuccessorInputs();
      unsigned begin = operands.empty() ? 0 : operands.getBeginOperandIndex();
      // Verified to be as many, where the operation's verifier has run.
      for (size_t i = 0, e = std::min(operands.size(), inputs.size()); i < e;
           ++i)
        edges.push_back({&source->getOpOperand(begin + i), inputs[i]});
    }
  }
}

/// Every pair of an operand and a value that it flows into.
static SmallVector<ElementTypeEdge> collectEdges(Operation *op) {
  SmallVector<ElementTypeEdge> edges;
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    collectEdges(branch, edges);
  if (auto autocast = dyn_cast<AutocastOpInterface>(op))
    autocast.getElementTypeFlow(edges);
  return edges;
}

bool amp::hasRegionFlow(Operation *op) {
  if (op->getNumRegions() == 0 || isa<RegionBranchOpInterface>(op))
    return op->getNumRegions() != 0;
  return !collectEdges(op).empty();
}

RegionFlow::RegionFlow(Operation *op) {
  SmallVector<ElementTypeEdge> edges = collectEdges(op);
  llvm::MapVector<OpOperand *, unsigned> sources;
  llvm::MapVector<Value, unsigned> targets;
  for (const ElementTypeEdge &edge : edges) {
    sources.insert({edge.source, sources.size()});
    targets.insert({edge.target, targets.size()});
  }

  llvm::IntEqClasses classes(sources.size() + targets.size());
  for (const ElementTypeEdge &edge : edges)
    classes.join(sources.find(edge.source)->second,
                 sources.size() + targets.find(edge.target)->second);
  classes.compress();

  // Classes are numbered by their smallest member, which is a source.
  groups.resize(classes.getNumClasses());
  for (auto [source, index] : sources)
    groups[classes[index]].sources.push_back(source);
  for (auto [target, index] : targets) {
    unsigned group = classes[sources.size() + index];
    groups[group].targets.push_back(target);
    groupOfTarget[target] = group;
  }
}

const RegionFlow::Group *RegionFlow::getGroupOf(Value target) const {
  auto found = groupOfTarget.find(target);
  return found == groupOfTarget.end() ? nullptr : &groups[found->second];
}
