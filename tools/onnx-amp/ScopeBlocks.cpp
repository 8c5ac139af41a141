//===- ScopeBlocks.cpp - nodes put together by scope ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScopeBlocks.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <queue>

using namespace amp;

namespace {
/// The scopes as a tree. Parents come before their children.
class ScopeTree {
public:
  ScopeTree() : nodes(1) {}

  /// The place of a scope, with room for one node more in it.
  uint32_t add(llvm::ArrayRef<llvm::StringRef> scope) {
    uint32_t place = 0;
    ++nodes[0].size;
    for (llvm::StringRef name : scope) {
      auto [child, isNew] = children.try_emplace({place, name}, nodes.size());
      if (isNew) {
        ++nodes[place].numChildren;
        nodes.push_back({name, place});
      }
      place = child->second;
      ++nodes[place].size;
    }
    ++nodes[place].numDirect;
    return place;
  }

  /// Opens scopes as long as there are not more than `most` blocks.
  void open(size_t most) {
    // The largest first; of equal ones, the one that was seen first.
    using Entry = std::pair<size_t, int64_t>;
    std::priority_queue<Entry> closed;
    closed.push({nodes[0].size, 0});
    std::vector<llvm::SmallVector<uint32_t, 2>> childrenOf(nodes.size());
    for (uint32_t i = 1; i < nodes.size(); ++i)
      childrenOf[nodes[i].parent].push_back(i);
    size_t numBlocks = 1;
    while (!closed.empty()) {
      auto place = static_cast<uint32_t>(-closed.top().second);
      closed.pop();
      Node &node = nodes[place];
      size_t added = node.numChildren + (node.numDirect ? 1 : 0);
      if (!node.numChildren || numBlocks - 1 + added > most)
        continue;
      node.isOpen = true;
      numBlocks += added - 1;
      for (uint32_t child : childrenOf[place])
        closed.push({nodes[child].size, -static_cast<int64_t>(child)});
    }
  }

  /// Per place the place that stands for its block.
  std::vector<uint32_t> findBlocks() const {
    std::vector<uint32_t> blocks(nodes.size());
    for (uint32_t i = 1; i < nodes.size(); ++i)
      blocks[i] = nodes[nodes[i].parent].isOpen ? i : blocks[nodes[i].parent];
    return blocks;
  }

  /// True if the block is no scope with others in it.
  bool isFlat(uint32_t place) const {
    return nodes[place].isOpen || nodes[place].numChildren == 0;
  }

  std::string getName(uint32_t place) const {
    std::string name;
    for (; place; place = nodes[place].parent)
      name = name.empty() ? nodes[place].name.str()
                          : (nodes[place].name + "/" + name).str();
    return name;
  }

private:
  struct Node {
    llvm::StringRef name;
    uint32_t parent = 0;
    size_t numChildren = 0;
    /// Of the model's nodes: in this scope, and of these not in an inner one.
    size_t size = 0, numDirect = 0;
    bool isOpen = false;
  };
  std::vector<Node> nodes;
  llvm::DenseMap<std::pair<uint32_t, llvm::StringRef>, uint32_t> children;
};
} // namespace

ScopeBlocks amp::collectBlocks(llvm::ArrayRef<Scope> scopes, size_t most) {
  ScopeTree tree;
  std::vector<uint32_t> places;
  places.reserve(scopes.size());
  for (const Scope &scope : scopes)
    places.push_back(tree.add(scope));
  tree.open(most);
  std::vector<uint32_t> blockOfPlace = tree.findBlocks();

  // How many pieces each becomes.
  struct Block {
    size_t size = 0, taken = 0, pieces = 1;
    uint32_t index = 0; // of the piece that is filled
  };
  llvm::DenseMap<uint32_t, Block> blocks;
  std::vector<uint32_t> order;
  for (uint32_t &place : places) {
    place = blockOfPlace[place];
    if (++blocks[place].size == 1)
      order.push_back(place);
  }
  size_t spare = most > order.size() ? most - order.size() : 0;
  size_t large = std::max<size_t>(scopes.size() / 8, 1);
  size_t pieceSize = std::max<size_t>(scopes.size() / 64, 1);
  for (uint32_t place : order) {
    Block &block = blocks[place];
    if (block.size <= large || !tree.isFlat(place))
      continue;
    block.pieces =
        std::min(llvm::divideCeil(block.size, pieceSize), uint64_t(spare + 1));
    spare -= block.pieces - 1;
  }

  ScopeBlocks result;
  for (uint32_t place : places) {
    Block &block = blocks[place];
    size_t each = llvm::divideCeil(block.size, block.pieces);
    if (block.taken % each == 0) {
      std::string name = tree.getName(place);
      if (block.pieces > 1)
        name += llvm::formatv("{0}nodes {1} to {2}", name.empty() ? "" : ", ",
                              block.taken + 1,
                              std::min(block.taken + each, block.size));
      block.index = result.names.size();
      result.names.push_back(std::move(name));
    }
    ++block.taken;
    result.blockOf.push_back(block.index);
  }
  return result;
}
