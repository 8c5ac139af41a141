//===- Groups.h - which operations become one kernel ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_PASSES_CODEGEN_FUSE_GROUPS_H
#define AMP_PASSES_CODEGEN_FUSE_GROUPS_H

#include "KernelShape.h"

#include "llvm/ADT/SetVector.h"

namespace amp::codegen {

/// A launch costs as much as moving this many bytes.
constexpr int64_t kLaunchBytes = 16 << 10;

/// The operations of a block in groups: each operation alone at first. Groups
/// are joined so that a program of groups is one still: no way leads from a
/// group out and back.
class Groups {
public:
  Groups(mlir::Block &block, const Sizes &sizes);

  /// Joins what saves bytes that go through memory, and launches.
  void fuse();

  /// Copies what is cheap to the groups that read it, where they read less to
  /// compute it again than its value. If anything was copied, groups are to be
  /// made anew.
  bool copyCheap();

  /// The groups of fusible operations, each in the order of the block.
  llvm::SmallVector<llvm::SmallVector<mlir::linalg::GenericOp>> get() const;
  /// Puts the block's operations in an order in which each group is in one
  /// piece.
  void sortBlock();
  /// What all groups read and write.
  int64_t countBytes() const;

private:
  struct Group {
    llvm::SmallVector<unsigned> members; // in order
    std::optional<KernelShape> shape;    // of what is fusible
    llvm::SetVector<mlir::Value> inputs, outputs;
    int64_t bytes = 0;
    bool isFusible() const { return shape.has_value(); }
  };
  struct Candidate {
    int64_t benefit;
    unsigned a, b; // operations
    bool operator<(const Candidate &other) const {
      return std::make_tuple(-benefit, a, b) <
             std::make_tuple(-other.benefit, other.a, other.b);
    }
  };

  Group &groupOf(unsigned op) { return groups[leader[op]]; }
  Group makeGroup(llvm::ArrayRef<unsigned> members) const;
  bool hasPath(unsigned from, unsigned to) const;
  bool join(unsigned a, unsigned b, bool isNeeded);
  bool joinAll(std::vector<Candidate> &candidates, bool isNeeded);
  bool joinProducers();
  bool joinReaders();
  bool joinSmall();

  /// Operations that make a value again, and what they read.
  struct Chain {
    llvm::SmallVector<unsigned> ops; // in order
    llvm::SetVector<mlir::Value> inputs;
    int64_t cost = 0;
  };
  bool collectChain(unsigned op, Chain &chain) const;
  void copyChain(const Chain &chain, mlir::Value value,
                 llvm::ArrayRef<unsigned> readers);

  mlir::Block &block;
  const Sizes &sizes;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> numbers;
  llvm::SmallVector<llvm::SmallVector<unsigned>> users; // of operations
  llvm::SmallVector<unsigned> leader;
  std::vector<Group> groups;
};

} // namespace amp::codegen

#endif // AMP_PASSES_CODEGEN_FUSE_GROUPS_H
