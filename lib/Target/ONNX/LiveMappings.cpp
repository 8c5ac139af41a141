//===- LiveMappings.cpp - Which file an address belongs to ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LiveMappings.h"

#include <algorithm>
#include <new>

using namespace amp;

/// Nodes are only ever added at the head.
static std::atomic<LiveMapping *> head{nullptr};
static std::atomic<size_t> unusedNodes{0};

static LiveMapping *takeNode() {
  if (unusedNodes != 0) {
    for (LiveMapping *node = head; node; node = node->next) {
      bool used = node->used;
      if (!used && node->used.compare_exchange_strong(used, true)) {
        --unusedNodes;
        return node;
      }
    }
  }
  auto *node = new (std::nothrow) LiveMapping;
  if (!node)
    return nullptr;
  node->used = true;
  node->next = head;
  while (!head.compare_exchange_weak(node->next, node)) {
  }
  return node;
}

LiveMapping *amp::addLiveMapping(llvm::StringRef bytes, int descriptor,
                                 llvm::StringRef name) {
  LiveMapping *node = takeNode();
  if (!node)
    return nullptr;
  size_t length = std::min(name.size(), sizeof(node->name) - 1);
  std::copy_n(name.begin(), length, node->name);
  node->name[length] = 0;
  node->descriptor = descriptor;
  node->end = bytes.end();
  node->begin = bytes.begin(); // from here on it is found
  return node;
}

void amp::removeLiveMapping(LiveMapping *mapping) {
  if (!mapping)
    return;
  mapping->begin = nullptr;
  mapping->end = nullptr;
  mapping->descriptor = -1;
  mapping->used = false;
  ++unusedNodes;
}

const LiveMapping *amp::findLiveMapping(const char *address) {
  for (const LiveMapping *node = head; node; node = node->next) {
    const char *begin = node->begin, *end = node->end;
    if (begin && address >= begin && address < end)
      return node;
  }
  return nullptr;
}

MappedRanges::MappedRanges() {
  for (const LiveMapping *node = head; node; node = node->next)
    if (const char *begin = node->begin)
      ranges.push_back({begin, node->end, node->descriptor});
  std::sort(ranges.begin(), ranges.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
}

const MappedRanges::Range *MappedRanges::find(const char *data,
                                              uint64_t size) const {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), data,
                                [](const char *address, const Range &range) {
                                  return address < range.begin;
                                });
  if (after == ranges.begin())
    return nullptr;
  const Range &range = *std::prev(after);
  return data < range.end && size <= static_cast<uint64_t>(range.end - data)
             ? &range
             : nullptr;
}
