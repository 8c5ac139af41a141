//===- GraphDrawing.cpp - a model as a picture ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GraphDrawing.h"

#include "Graphviz.h"
#include "ModelStatistics.h"
#include "NodeFormats.h"
#include "ScopeBlocks.h"
#include "TypeSpelling.h"

#include "amp/Dialect/AMP/AMPDialect.h"
#include "amp/Support/Quantities.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace amp;
using namespace mlir;
using onnx::ONNXDialect;

/// Graphs with more nodes, or blocks, are no help to people.
static constexpr size_t kMostDrawn = 300;

namespace {
/// Colours that the colour-blind tell apart too, and what they stand for.
struct Colour {
  unsigned red, green, blue;

  std::string spell() const {
    return llvm::formatv("\"#{0:x-2}{1:x-2}{2:x-2}\"", red, green, blue);
  }
  Colour mix(Colour other, double share) const {
    auto between = [&](unsigned a, unsigned b) {
      return static_cast<unsigned>(
          std::lround(double(a) + (double(b) - double(a)) * share));
    };
    return {between(red, other.red), between(green, other.green),
            between(blue, other.blue)};
  }
};
constexpr Colour kLowColour = {0xa6, 0xce, 0xe3},
                 kFloat32Colour = {0xfd, 0xbf, 0x6f},
                 kBothColour = {0xca, 0xb2, 0xd6},
                 kOtherColour = {0xee, 0xee, 0xee};
constexpr llvm::StringLiteral kCastColour = "\"#d7301f\"";

class Drawing {
public:
  explicit Drawing(ModuleOp module) : module(module) {}

  std::string draw(StringRef title);

private:
  /// A line between two things drawn, in the order of the program.
  struct Line {
    uint32_t from, to;
    bool isCast;
  };

  void collect();
  void collectLines(Operation *op, uint32_t to);
  /// Where a value comes from, casts apart; none for what is not drawn.
  std::optional<uint32_t> findSource(Value value, bool &isCast) const;

  void printHead(StringRef title);
  void printLegend();

  // Node by node.
  void printNodes();
  void printBlock(Block &block, unsigned depth);
  void printNode(Operation *op, unsigned depth);
  void printLines();

  // Block by block.
  void printBlocks();
  Scope getScope(Operation *op) const;

  llvm::raw_ostream &line(unsigned depth = 1) {
    return stream.indent(2 * depth);
  }

  ModuleOp module;
  /// In program order.
  std::vector<Operation *> nodes;
  DenseMap<Operation *, uint32_t> indices;
  /// Arguments and results of functions are drawn, too, numbered behind nodes.
  std::vector<std::pair<std::string, bool>> ends; // label, is a result
  DenseMap<Value, uint32_t> arguments;
  std::vector<Line> lines;
  std::string text;
  llvm::raw_string_ostream stream{text};
};
} // namespace

//===----------------------------------------------------------------------===//
// Collecting
//===----------------------------------------------------------------------===//

/// Constants are drawn by those who read them.
static bool isDrawn(Operation *op) {
  return isNode(op) && op->getName().getStringRef() != "onnx.Constant";
}

void Drawing::collect() {
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isDrawn(op))
      return;
    indices[op] = nodes.size();
    nodes.push_back(op);
  });
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    for (BlockArgument argument : function.getArguments()) {
      arguments[argument] = nodes.size() + ends.size();
      ends.push_back(
          {getInterfaceName(function, "input", argument.getArgNumber()).str(),
           false});
    }
  }
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto found = indices.find(op);
    if (found != indices.end()) {
      collectLines(op, found->second);
    } else if (auto function =
                   dyn_cast_or_null<func::FuncOp>(op->getParentOp());
               function && op->hasTrait<OpTrait::IsTerminator>()) {
      for (OpOperand &operand : op->getOpOperands()) {
        unsigned number = operand.getOperandNumber();
        uint32_t end = nodes.size() + ends.size();
        ends.push_back(
            {getInterfaceName(function, "output", number).str(), true});
        bool isCast = false;
        if (std::optional<uint32_t> from = findSource(operand.get(), isCast))
          lines.push_back({*from, end, isCast});
      }
    } else if (op->hasTrait<OpTrait::IsTerminator>()) {
      if (auto owner = indices.find(op->getParentOp()); owner != indices.end())
        collectLines(op, owner->second);
    }
  });
}

std::optional<uint32_t> Drawing::findSource(Value value, bool &isCast) const {
  while (auto cast = value.getDefiningOp<CastOp>()) {
    isCast = true;
    value = cast->getOperand(0);
  }
  if (Operation *producer = value.getDefiningOp()) {
    auto found = indices.find(producer);
    return found == indices.end() ? std::nullopt : std::optional(found->second);
  }
  auto found = arguments.find(value);
  return found == arguments.end() ? std::nullopt : std::optional(found->second);
}

void Drawing::collectLines(Operation *op, uint32_t to) {
  llvm::SmallDenseSet<std::pair<uint32_t, unsigned>, 4> seen;
  for (Value operand : op->getOperands()) {
    bool isCast = false;
    if (std::optional<uint32_t> from = findSource(operand, isCast))
      if (seen.insert({*from, isCast}).second)
        lines.push_back({*from, to, isCast});
  }
}

//===----------------------------------------------------------------------===//
// Node by node
//===----------------------------------------------------------------------===//

namespace {
enum class Tone { Low, Float32, Both, Other };
} // namespace

static Tone getTone(Operation *op) {
  auto autocast = dyn_cast<AutocastOpInterface>(op);
  if (!autocast || op->getNumRegions() > 0)
    return Tone::Other;
  bool low = false, float32 = false;
  for (FloatType type : getFormats(autocast)) {
    low |= isLow(type);
    float32 |= type.isF32();
  }
  return low ? (float32 ? Tone::Both : Tone::Low)
             : (float32 ? Tone::Float32 : Tone::Other);
}

static Colour getColour(Tone tone) {
  switch (tone) {
  case Tone::Low:
    return kLowColour;
  case Tone::Float32:
    return kFloat32Colour;
  case Tone::Both:
    return kBothColour;
  case Tone::Other:
    return kOtherColour;
  }
  llvm_unreachable("a tone");
}

void Drawing::printHead(StringRef title) {
  stream << "digraph model {\n";
  line() << "label=" << dotString(title, 200) << " labelloc=t\n";
  line()
      << "node [shape=box style=filled fontname=\"Helvetica\" fontsize=10]\n";
  line() << "edge [fontname=\"Helvetica\" fontsize=9]\n";
}

void Drawing::printNode(Operation *op, unsigned depth) {
  line(depth) << "n" << indices.lookup(op) << " [label=\""
              << dotText(getOperatorName(op)) << "\\n"
              << dotText(getNodeName(op))
              << "\" fillcolor=" << getColour(getTone(op)).spell();
  std::vector<std::string> remarks;
  auto autocast = dyn_cast<AutocastOpInterface>(op);
  if (autocast && op->getNumRegions() == 0)
    for (FloatType type : getFormats(autocast))
      remarks.push_back(spellElementType(type));
  for (StringRef name :
       {AMPDialect::kCategory, AMPDialect::kRule, AMPDialect::kReason})
    if (auto remark = op->getAttrOfType<StringAttr>(name))
      remarks.push_back(dotText(remark.getValue(), 300));
  if (!remarks.empty())
    stream << " tooltip=\"" << llvm::join(remarks, "\\n") << "\"";
  stream << "]\n";
}

void Drawing::printBlock(Block &block, unsigned depth) {
  for (Operation &op : block) {
    if (!isDrawn(&op))
      continue;
    if (op.getNumRegions() == 0) {
      printNode(&op, depth);
      continue;
    }
    line(depth) << "subgraph cluster_" << indices.lookup(&op) << " {\n";
    line(depth + 1) << "label=" << dotString(getNodeName(&op)) << "\n";
    printNode(&op, depth + 1);
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        printBlock(inner, depth + 1);
    line(depth) << "}\n";
  }
}

void Drawing::printNodes() {
  size_t number = 0;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    bool isMain = function.getSymName() == "main";
    if (!isMain) {
      line() << "subgraph cluster_f" << number++ << " {\n";
      line(2) << "label=" << dotString(function.getSymName()) << "\n";
    }
    for (Block &block : function.getBody())
      printBlock(block, isMain ? 1 : 2);
    if (!isMain)
      line() << "}\n";
  }
  for (auto [i, end] : llvm::enumerate(ends))
    line() << "n" << nodes.size() + i << " [label=" << dotString(end.first)
           << " shape=ellipse style=\"\"]\n";
}

void Drawing::printLines() {
  for (const Line &each : lines) {
    line() << "n" << each.from << " -> n" << each.to;
    if (each.isCast)
      stream << " [color=" << kCastColour << " penwidth=2 label=\"cast\"]";
    stream << "\n";
  }
}

void Drawing::printLegend() {
  line() << "subgraph cluster_legend {\n";
  line(2) << "label=\"formats\"\n";
  static constexpr std::pair<Tone, llvm::StringLiteral> tones[] = {
      {Tone::Low, "low"},
      {Tone::Float32, "float32"},
      {Tone::Both, "both"},
      {Tone::Other, "other, or none"}};
  for (auto [i, tone] : llvm::enumerate(tones))
    line(2) << "l" << i << " [label=\"" << tone.second
            << "\" fillcolor=" << getColour(tone.first).spell() << "]\n";
  line() << "}\n";
}

//===----------------------------------------------------------------------===//
// Block by block
//===----------------------------------------------------------------------===//

/// What an exporter says of a node; empty if nothing.
static StringRef getNamespace(Operation *op) {
  auto fields = op->getAttrOfType<DictionaryAttr>(ONNXDialect::kNode);
  auto entries =
      fields ? fields.getAs<ArrayAttr>("metadata_props") : ArrayAttr();
  if (!entries)
    return {};
  for (Attribute each : entries) {
    auto entry = dyn_cast<DictionaryAttr>(each);
    auto key = entry ? entry.getAs<StringAttr>("key") : StringAttr();
    auto value = entry ? entry.getAs<StringAttr>("value") : StringAttr();
    if (key && value && key.getValue() == "namespace")
      return value.getValue();
  }
  return {};
}

Scope Drawing::getScope(Operation *op) const {
  // Deeper ones are no help.
  constexpr unsigned deepest = 32;
  Scope scope;
  if (auto function = op->getParentOfType<func::FuncOp>();
      function && function.getSymName() != "main")
    scope.push_back(function.getSymName());
  // ": Model/encoder: torch.nn.Module/addmm: aten.addmm", or
  // "/encoder/MatMul". The last is the node itself.
  StringRef path = getNamespace(op);
  bool hasTypes = !path.empty();
  if (!hasTypes)
    path = getNodeName(op);
  for (StringRef rest = path; scope.size() < deepest;) {
    auto [name, inner] = rest.split('/');
    if (inner.data() == nullptr || !rest.contains('/'))
      break;
    if (hasTypes)
      name = name.split(": ").first;
    if (!name.empty() && name != ":")
      scope.push_back(name);
    rest = inner;
  }
  return scope;
}

void Drawing::printBlocks() {
  std::vector<Scope> scopes;
  scopes.reserve(nodes.size());
  for (Operation *op : nodes)
    scopes.push_back(getScope(op));
  ScopeBlocks blocks = collectBlocks(scopes, kMostDrawn);

  struct Counts {
    uint64_t nodes = 0, floats = 0, low = 0;
  };
  std::vector<Counts> counts(blocks.names.size());
  for (auto [op, block] : llvm::zip_equal(nodes, blocks.blockOf)) {
    Counts &count = counts[block];
    Tone tone = getTone(op);
    ++count.nodes;
    count.floats += tone != Tone::Other;
    count.low += tone == Tone::Low || tone == Tone::Both;
  }
  for (auto [i, count] : llvm::enumerate(counts)) {
    Colour colour = kOtherColour;
    if (count.floats)
      colour = kFloat32Colour.mix(kLowColour,
                                  double(count.low) / double(count.floats));
    StringRef name = blocks.names[i];
    line() << "b" << i << " [label=\""
           << dotText(name.empty() ? "(no scope)" : name) << "\\n"
           << formatPlural(count.nodes, "node") << ", " << count.low << " of "
           << count.floats << " low\" fillcolor=" << colour.spell() << "]\n";
  }

  llvm::MapVector<std::pair<uint32_t, uint32_t>, uint64_t> casts;
  for (const Line &each : lines) {
    if (each.from >= nodes.size() || each.to >= nodes.size())
      continue;
    uint32_t from = blocks.blockOf[each.from], to = blocks.blockOf[each.to];
    if (from != to)
      casts[{from, to}] += each.isCast;
  }
  for (const auto &[ends, count] : casts) {
    line() << "b" << ends.first << " -> b" << ends.second;
    if (count)
      stream << llvm::formatv(" [color={0} penwidth={1:f1} label=\"{2}\"]",
                              kCastColour,
                              std::min(1 + std::log2(1 + double(count)), 8.0),
                              formatPlural(count, "cast"));
    stream << "\n";
  }
}

//===----------------------------------------------------------------------===//
// Drawing
//===----------------------------------------------------------------------===//

std::string Drawing::draw(StringRef title) {
  collect();
  printHead(title);
  if (nodes.size() + ends.size() <= kMostDrawn) {
    printNodes();
    printLines();
  } else {
    printBlocks();
  }
  printLegend();
  stream << "}\n";
  return std::move(text);
}

std::string amp::drawGraph(ModuleOp module, StringRef title) {
  return Drawing(module).draw(title);
}
