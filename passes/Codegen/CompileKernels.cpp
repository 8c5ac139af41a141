//===- CompileKernels.cpp - machine code for kernels ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Compile/Emit.h"
#include "Compile/Object.h"

#include "amp/Dialect/AMPRT/AMPRTDialect.h"
#include "amp/Passes/Codegen.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/Support/FileSystem.h"

namespace amp {
#define GEN_PASS_DEF_COMPILEKERNELS
#include "amp/Passes/Codegen.h.inc"
} // namespace amp

using namespace mlir;
using namespace amp;
using namespace amp::codegen;

std::optional<KernelRefusal> amp::whyNotCompilable(func::FuncOp func) {
  OwningOpRef<func::FuncOp> copy = cast<func::FuncOp>(func->clone());
  prepareKernel(*copy);
  Kernel kernel;
  Plan plan;
  std::optional<Refusal> refusal = analyzeKernel(*copy, kernel);
  if (!refusal)
    refusal = planKernel(kernel, plan);
  if (!refusal)
    return std::nullopt;
  return KernelRefusal{refusal->op->getLoc(), refusal->reason};
}

std::string amp::whyNotCompilable(Operation *op) { return whyNotScalar(op); }

namespace {
/// A kernel with a body of its own.
struct Compiled {
  Kernel kernel;
  /// `dims` of its results; null if all are static.
  ArrayAttr dims;
  Plan plan;
  SmallVector<int64_t> offsets;
};

struct CompileKernels : public amp::impl::CompileKernelsBase<CompileKernels> {
  using Base::Base;

  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<rt::AMPRTDialect, LLVM::LLVMDialect, arith::ArithDialect,
                    cf::ControlFlowDialect, linalg::LinalgDialect,
                    math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                    tensor::TensorDialect>();
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
  }

  void runOnOperation() final;

private:
  LogicalResult shareKernels(SmallVectorImpl<func::FuncOp> &kernels);
  FailureOr<Image> compile(MutableArrayRef<Compiled> kernels, StringRef cpu);
  llvm::Expected<Image> compileGroup(MutableArrayRef<Compiled> kernels,
                                     StringRef cpu, size_t group);
  void annotate(Compiled &compiled);
};
} // namespace

/// The dimensions of a kernel's results as `dims` has them; null if one is not
/// that of an argument.
static ArrayAttr getResultDims(func::FuncOp func) {
  Builder builder(func.getContext());
  SmallVector<Attribute> dims;
  for (Value result : func.getBody().front().getTerminator()->getOperands()) {
    std::optional<SmallVector<Size>> sizes = getSizes(result);
    if (!sizes)
      return {};
    SmallVector<Attribute> list;
    for (const Size &size : *sizes) {
      ArrayRef<Axis> axes = size.getAxes();
      if (size.isStatic())
        list.push_back(builder.getI64IntegerAttr(size.getFactor()));
      else if (axes.size() == 1 && size == Size(axes.front()))
        list.push_back(builder.getI64ArrayAttr(
            {axes.front().argument, axes.front().axis}));
      else
        return {};
    }
    dims.push_back(builder.getArrayAttr(list));
  }
  return builder.getArrayAttr(dims);
}

static bool hasDynamicResult(func::FuncOp func) {
  return llvm::any_of(func.getResultTypes(), [](Type type) {
    return !cast<ShapedType>(type).hasStaticShape();
  });
}

/// Bodies that are equal, names aside, become one.
LogicalResult
CompileKernels::shareKernels(SmallVectorImpl<func::FuncOp> &kernels) {
  llvm::StringMap<func::FuncOp> known;
  SymbolTableCollection tables;
  SymbolUserMap users(tables, getOperation());
  SmallVector<func::FuncOp> unique;
  for (func::FuncOp func : kernels) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << func.getFunctionType();
    for (Operation &op : func.getBody().front())
      op.print(stream << '\n',
               OpPrintingFlags().printGenericOpForm().useLocalScope());
    auto [it, isNew] = known.try_emplace(text, func);
    if (isNew) {
      unique.push_back(func);
      continue;
    }
    users.replaceAllUsesWith(func, it->second.getSymNameAttr());
    func.erase();
    ++numShared;
  }
  kernels = std::move(unique);
  return success();
}

/// Compiles in groups, which threads share and whose code follows one another:
/// the image does not depend on the number of threads.
FailureOr<Image> CompileKernels::compile(MutableArrayRef<Compiled> kernels,
                                         StringRef cpu) {
  constexpr size_t kGroup = 16;
  size_t count = llvm::divideCeil(kernels.size(), kGroup);
  std::vector<Image> images(count);
  std::vector<std::string> errors(count);
  parallelFor(&getContext(), 0, count, [&](size_t group) {
    auto own = kernels.drop_front(group * kGroup).take_front(kGroup);
    llvm::Expected<Image> image = compileGroup(own, cpu, group);
    if (image)
      images[group] = std::move(*image);
    else
      errors[group] = llvm::toString(image.takeError());
  });
  Image all;
  for (auto [group, image] : llvm::enumerate(images)) {
    if (!errors[group].empty())
      return getOperation().emitError(errors[group]);
    all.bytes.resize(llvm::alignTo(all.bytes.size(), 64));
    for (Compiled &compiled :
         kernels.drop_front(group * kGroup).take_front(kGroup))
      compiled.offsets.push_back(
          all.bytes.size() +
          image.offsets.lookup(compiled.kernel.func.getName()));
    all.bytes.insert(all.bytes.end(), image.bytes.begin(), image.bytes.end());
  }
  return all;
}

llvm::Expected<Image>
CompileKernels::compileGroup(MutableArrayRef<Compiled> kernels, StringRef name,
                             size_t group) {
  llvm::Expected<TargetCPU> cpu = getTargetCPU(name);
  if (!cpu)
    return cpu.takeError();
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(UnknownLoc::get(&getContext()));
  OpBuilder builder(module->getBodyRegion());
  for (Compiled &compiled : kernels)
    emitKernel(builder, compiled.kernel.func.getName(), compiled.kernel,
               compiled.plan, cpu->abilities);
  if (failed(lowerToLLVM(*module)))
    return llvm::createStringError("kernels cannot be lowered");
  std::string file;
  if (!dump.empty())
    file = dump + "/" + cpu->name + "." + std::to_string(group);
  return compileModule(*module, *cpu, file);
}

/// The kernel becomes a declaration that says how to call it.
void CompileKernels::annotate(Compiled &compiled) {
  Builder builder(&getContext());
  Plan &plan = compiled.plan;
  func::FuncOp func = compiled.kernel.func;
  auto pair = [&](Axis axis) {
    return builder.getI64ArrayAttr({axis.argument, axis.axis});
  };
  SmallVector<Attribute> sizes, extent, aliases;
  for (ArrayRef<int64_t> arguments : plan.aliases)
    aliases.push_back(builder.getI64ArrayAttr(arguments));
  for (Axis axis : plan.sizes)
    sizes.push_back(pair(axis));
  Size iterations;
  for (unsigned dim : compiled.kernel.getOuter())
    iterations = iterations * compiled.kernel.dims[dim].size;
  extent.push_back(builder.getI64IntegerAttr(iterations.getFactor()));
  for (Axis axis : iterations.getAxes())
    extent.push_back(pair(axis));
  SmallVector<NamedAttribute> entries = {
      builder.getNamedAttr("offsets",
                           builder.getI64ArrayAttr(compiled.offsets)),
      builder.getNamedAttr("sizes", builder.getArrayAttr(sizes)),
      builder.getNamedAttr("extent", builder.getArrayAttr(extent)),
      builder.getNamedAttr("grain", builder.getI64IntegerAttr(plan.grain)),
      builder.getNamedAttr("scratch", builder.getI64IntegerAttr(plan.scratch)),
      builder.getNamedAttr("aliases", builder.getArrayAttr(aliases)),
  };
  if (compiled.dims)
    entries.push_back(builder.getNamedAttr("dims", compiled.dims));
  if (plan.bytes)
    entries.push_back(
        builder.getNamedAttr("bytes", builder.getI64IntegerAttr(*plan.bytes)));
  if (plan.operations)
    entries.push_back(builder.getNamedAttr(
        "operations", builder.getI64IntegerAttr(*plan.operations)));
  func.eraseBody();
  func.setPrivate();
  func->setAttr(rt::AMPRTDialect::kCompiled,
                builder.getDictionaryAttr(entries));
}

void CompileKernels::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<func::FuncOp> functions;
  for (auto func : module.getOps<func::FuncOp>())
    if (func->hasAttr(rt::AMPRTDialect::kKernel) && !func.isExternal())
      functions.push_back(func);
  SmallVector<std::string> names(cpus.begin(), cpus.end());
  if (names.empty())
    names.push_back("x86-64-v3");
  for (StringRef name : names) {
    llvm::Expected<TargetCPU> cpu = getTargetCPU(name);
    if (!cpu) {
      module.emitError(llvm::toString(cpu.takeError()));
      return signalPassFailure();
    }
  }
  if (functions.empty())
    return;
  // Reshapes hide dimensions later.
  llvm::DenseMap<Operation *, ArrayAttr> dims;
  for (func::FuncOp func : functions) {
    if (hasDynamicResult(func))
      dims[func] = getResultDims(func);
    prepareKernel(func);
  }
  if (failed(shareKernels(functions)))
    return signalPassFailure();
  std::vector<Compiled> kernels(functions.size());
  for (auto [func, compiled] : llvm::zip(functions, kernels)) {
    compiled.dims = dims.lookup(func);
    std::optional<Refusal> refusal = analyzeKernel(func, compiled.kernel);
    if (!refusal)
      refusal = planKernel(compiled.kernel, compiled.plan);
    if (refusal) {
      refusal->op->emitError("kernel @")
          << func.getName() << " cannot be compiled: " << refusal->reason;
      return signalPassFailure();
    }
    if (hasDynamicResult(func) && !compiled.dims) {
      func.emitError("kernel @")
          << func.getName() << " cannot be compiled: a dimension of a result "
          << "is not that of an argument";
      return signalPassFailure();
    }
  }
  numKernels += kernels.size();

  Builder builder(&getContext());
  SmallVector<Attribute> codes;
  if (!dump.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(dump)) {
      module.emitError("cannot make the folder \"")
          << dump << "\": " << error.message();
      return signalPassFailure();
    }
  for (llvm::StringRef name : names) {
    FailureOr<Image> image = compile(kernels, name);
    if (failed(image))
      return signalPassFailure();
    auto type = RankedTensorType::get({int64_t(image->bytes.size())},
                                      builder.getI8Type());
    codes.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("cpu", builder.getStringAttr(getLevel(name))),
         builder.getNamedAttr("image", DenseElementsAttr::getFromRawBuffer(
                                           type, image->bytes))}));
  }
  for (Compiled &compiled : kernels)
    annotate(compiled);
  module->setAttr(rt::AMPRTDialect::kCode, builder.getArrayAttr(codes));
}
