//===- RandomProgram.cpp - small programs of the test dialect -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomProgram.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <vector>

using namespace amp;

namespace {
/// A tensor of float32 with one dimension.
struct Tensor {
  std::string name;
  unsigned size;
};
using Tensors = std::vector<Tensor>;

struct Function {
  std::string name;
  std::vector<unsigned> arguments, results;
};

class Generator {
public:
  explicit Generator(std::mt19937 &random) : random(random) {}

  std::string run(unsigned size) {
    for (unsigned i = draw(3); i > 0; --i)
      addFunction("f" + std::to_string(i), 1 + draw(size), draw(4) != 0);
    addFunction("main", size, false);
    return text;
  }

private:
  unsigned draw(unsigned limit) { return random() % limit; }
  template <typename T, size_t N> T pick(const T (&choices)[N]) {
    return choices[draw(N)];
  }
  unsigned pickSize() { return pick({1u, 2u, 3u, 7u}); }
  std::string makeName() { return "%v" + std::to_string(numNames++); }
  Tensors makeTensors(const std::vector<unsigned> &sizes) {
    Tensors tensors;
    for (unsigned size : sizes)
      tensors.push_back({makeName(), size});
    return tensors;
  }
  std::vector<unsigned> pickSizes(unsigned count) {
    std::vector<unsigned> sizes(count);
    for (unsigned &size : sizes)
      size = pickSize();
    return sizes;
  }

  /// Mostly something recent.
  Tensor pickValue(const Tensors &known) {
    size_t recent = draw(3) ? std::min<size_t>(known.size(), 4) : known.size();
    return known[known.size() - 1 - draw(recent)];
  }
  /// A value of this size, made if there is none.
  Tensor pickValue(Tensors &known, unsigned size) {
    Tensor value = pickValue(known);
    if (value.size != size)
      value = addOperation(pick({"relu", "transpose", "softmax", "matmul"}),
                           {value}, size, known);
    return value;
  }
  Tensors pickValues(Tensors &known, const std::vector<unsigned> &sizes) {
    Tensors values;
    for (unsigned size : sizes)
      values.push_back(pickValue(known, size));
    return values;
  }

  static std::string spellNames(const Tensors &values) {
    return llvm::join(
        llvm::map_range(values, [](const Tensor &v) { return v.name; }), ", ");
  }
  static std::string spellType(unsigned size) {
    return llvm::formatv("tensor<{0}xf32>", size);
  }
  static std::string spellTypes(const Tensors &values) {
    return llvm::join(
        llvm::map_range(values,
                        [](const Tensor &v) { return spellType(v.size); }),
        ", ");
  }
  static std::string spellArguments(const Tensors &values) {
    return llvm::join(llvm::map_range(values,
                                      [](const Tensor &v) {
                                        return v.name + ": " +
                                               spellType(v.size);
                                      }),
                      ", ");
  }
  void addLine(const llvm::Twine &line) { text += (line + "\n").str(); }

  Tensor addOperation(llvm::StringRef name, const Tensors &operands,
                      unsigned size, Tensors &known) {
    Tensor result = {makeName(), size};
    const char *attributes =
        name == "batch_norm" && draw(6) == 0 ? " {node_name = \"pinned\"}" : "";
    addLine(llvm::formatv("{0} = t.{1} {2}{3} : ({4}) -> {5}", result.name,
                          name, spellNames(operands), attributes,
                          spellTypes(operands), spellType(size)));
    known.push_back(result);
    return result;
  }

  void addConstant(Tensors &known) {
    known.push_back({makeName(), pickSize()});
    // The second is too small for float16.
    addLine(llvm::formatv("{0} = t.const dense<{1}> : {2}", known.back().name,
                          draw(5) ? "1.0" : "1.0e-12",
                          spellType(known.back().size)));
  }

  void addSimple(Tensors &known) {
    struct Operator {
      const char *name;
      unsigned operands;
    };
    Operator op = pick<Operator>({{"matmul", 2},
                                  {"matmul", 1},
                                  {"softmax", 1},
                                  {"add", 2},
                                  {"add", 2},
                                  {"relu", 1},
                                  {"relu", 2},
                                  {"transpose", 1},
                                  {"argmax", 1},
                                  {"cast", 1},
                                  {"opaque", 1},
                                  {"batch_norm", 3},
                                  {"rms_norm", 2},
                                  {"resize", 2}});
    Tensors operands;
    for (unsigned i = 0; i < op.operands; ++i)
      operands.push_back(pickValue(known));
    addOperation(op.name, operands, pickSize(), known);
  }

  /// What shares an operation with 16 bits.
  void addMixed(Tensors &known) {
    Tensors scales = {pickValue(known), pickValue(known)};
    addLine(llvm::formatv("{0} = t.batch_norm %h, {1} : (tensor<2xf16>, {2}) "
                          "-> tensor<2xf16>",
                          makeName(), spellNames(scales), spellTypes(scales)));
  }

  void addRegion(const Tensors &outer, unsigned depth,
                 const std::vector<unsigned> &yielded) {
    Tensors known = outer;
    addBlock(known, draw(3), depth - 1);
    Tensors values = pickValues(known, yielded);
    addLine("t.yield " + spellNames(values) + " : " + spellTypes(values));
  }

  void addBranches(Tensors &known, unsigned depth) {
    std::vector<unsigned> sizes = pickSizes(1 + draw(2));
    Tensors results = makeTensors(sizes);
    addLine(llvm::formatv("{0} = t.if %c : (tensor<i1>) -> ({1}) {{",
                          spellNames(results), spellTypes(results)));
    addRegion(known, depth, sizes);
    addLine("} else {");
    addRegion(known, depth, sizes);
    addLine("}");
    llvm::append_range(known, results);
  }

  void addLoop(Tensors &known, unsigned depth) {
    std::vector<unsigned> carried = pickSizes(1 + draw(2));
    Tensors initial = pickValues(known, carried);
    std::vector<unsigned> yielded = carried;
    llvm::append_range(yielded, pickSizes(draw(2)));
    Tensors results = makeTensors(yielded), arguments = makeTensors(carried);
    addLine(
        llvm::formatv("{0} = t.loop %n, {1} : (tensor<i64>, {2}) -> ({3}) {{",
                      spellNames(results), spellNames(initial),
                      spellTypes(initial), spellTypes(results)));
    addLine("^bb0(" + makeName() + ": tensor<i64>, " +
            spellArguments(arguments) + "):");
    Tensors inner = known;
    llvm::append_range(inner, arguments);
    addRegion(inner, depth, yielded);
    addLine("}");
    llvm::append_range(known, results);
  }

  void addCall(Tensors &known) {
    const Function &callee = functions[draw(functions.size())];
    Tensors arguments = pickValues(known, callee.arguments);
    Tensors results = makeTensors(callee.results);
    addLine(llvm::formatv("{0} = func.call @{1}(%c, %n, %h, {2}) : "
                          "(tensor<i1>, tensor<i64>, tensor<2xf16>, {3}) -> "
                          "({4})",
                          spellNames(results), callee.name,
                          spellNames(arguments), spellTypes(arguments),
                          spellTypes(results)));
    llvm::append_range(known, results);
  }

  void addBlock(Tensors &known, unsigned size, unsigned depth) {
    for (unsigned i = 0; i < size; ++i) {
      unsigned kind = draw(20);
      if (kind < 3)
        addConstant(known);
      else if (kind == 3)
        addMixed(known);
      else if (kind == 4 && depth > 0)
        addBranches(known, depth);
      else if (kind == 5 && depth > 0)
        addLoop(known, depth);
      else if (kind == 6 && !functions.empty())
        addCall(known);
      else
        addSimple(known);
    }
  }

  void addFunction(const std::string &name, unsigned size, bool isPrivate) {
    Function function = {name, pickSizes(1 + draw(2)), pickSizes(1 + draw(2))};
    Tensors known = makeTensors(function.arguments);
    addLine(llvm::formatv("func.func {0}@{1}(%c: tensor<i1>, %n: tensor<i64>, "
                          "%h: tensor<2xf16>, {2}) -> ({3}) {{",
                          isPrivate ? "private " : "", name,
                          spellArguments(known),
                          spellTypes(makeTensors(function.results))));
    addBlock(known, size, /*depth=*/2);
    Tensors results = pickValues(known, function.results);
    addLine("return " + spellNames(results) + " : " + spellTypes(results));
    addLine("}");
    functions.push_back(function);
  }

  std::mt19937 &random;
  std::string text;
  unsigned numNames = 0;
  std::vector<Function> functions;
};
} // namespace

std::string amp::generateProgram(std::mt19937 &random, unsigned size) {
  return Generator(random).run(size);
}
