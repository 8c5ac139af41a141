//===- Object.cpp - from LLVM's dialect to machine code -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Object.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mlir;
using namespace amp::codegen;

static constexpr llvm::StringLiteral kTriple = "x86_64-unknown-linux-gnu";
static constexpr llvm::StringLiteral kLevels[] = {"x86-64-v2", "x86-64-v3",
                                                  "x86-64-v4"};

/// What distinguishes each level from the one below.
static llvm::StringRef getHostLevel() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto all = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(
        names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  if (!all({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"}))
    return kLevels[0];
  return all({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})
             ? kLevels[2]
             : kLevels[1];
}

llvm::StringRef amp::codegen::getLevel(llvm::StringRef name) {
  return name == "native" ? getHostLevel() : name;
}

llvm::Expected<TargetCPU> amp::codegen::getTargetCPU(llvm::StringRef name) {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
    return true;
  }();
  (void)initialized;
  name = getLevel(name);
  SmallVector<llvm::StringRef> parts;
  name.split(parts, '+');
  if (!llvm::is_contained(kLevels, parts[0]))
    return llvm::createStringError("unknown CPU \"%s\"; known are x86-64-v2, "
                                   "x86-64-v3, x86-64-v4, each with "
                                   "+features, and native",
                                   parts[0].str().c_str());
  TargetCPU cpu;
  cpu.name = name.str();
  bool above2 = parts[0] != kLevels[0], above3 = parts[0] == kLevels[2];
  cpu.abilities = {above2, above2, above2, above3};
  std::string features;
  for (llvm::StringRef feature : llvm::drop_begin(parts))
    features += (features.empty() ? "+" : ",+") + feature.str();
  llvm::Triple triple(kTriple);
  std::string error;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return llvm::createStringError(error);
  std::unique_ptr<llvm::MCSubtargetInfo> known(
      target->createMCSubtargetInfo(triple, parts[0], ""));
  for (llvm::StringRef feature : llvm::drop_begin(parts))
    if (llvm::none_of(known->getAllProcessorFeatures(),
                      [&](const auto &entry) { return feature == entry.Key; }))
      return llvm::createStringError("unknown feature \"%s\" of CPU \"%s\"",
                                     feature.str().c_str(), name.str().c_str());
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  cpu.machine.reset(target->createTargetMachine(
      triple, parts[0], features, options, llvm::Reloc::PIC_,
      llvm::CodeModel::Small, llvm::CodeGenOptLevel::Aggressive));
  return cpu;
}

/// Loops are vectors already; what is left is to clean up around them.
static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  // There is no C library: no loop is a call of memcpy.
  llvm::TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

static llvm::Error emit(llvm::Module &module, llvm::TargetMachine &machine,
                        llvm::raw_pwrite_stream &stream,
                        llvm::CodeGenFileType type) {
  llvm::legacy::PassManager passes;
  llvm::TargetLibraryInfoImpl library(module.getTargetTriple());
  library.disableAllFunctions();
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    return llvm::createStringError("the target makes no such file");
  passes.run(module);
  return llvm::Error::success();
}

static llvm::Error dumpModule(llvm::Module &module, TargetCPU &cpu,
                              llvm::StringRef file) {
  std::error_code error;
  llvm::raw_fd_ostream text((file + ".ll").str(), error);
  llvm::raw_fd_ostream assembly((file + ".s").str(), error);
  if (error)
    return llvm::createStringError(error, "cannot write \"%s.s\"",
                                   file.str().c_str());
  module.print(text, nullptr);
  // Code generation changes the module.
  return emit(*llvm::CloneModule(module), *cpu.machine, assembly,
              llvm::CodeGenFileType::AssemblyFile);
}

llvm::Expected<Image> amp::codegen::compileModule(ModuleOp module,
                                                  TargetCPU &cpu,
                                                  llvm::StringRef dump) {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return llvm::createStringError("translation to LLVM IR failed");
  code->setTargetTriple(cpu.machine->getTargetTriple());
  code->setDataLayout(cpu.machine->createDataLayout());
  optimize(*code, *cpu.machine);
  if (!dump.empty())
    if (llvm::Error error = dumpModule(*code, cpu, dump))
      return std::move(error);
  SmallString<0> object;
  llvm::raw_svector_ostream stream(object);
  if (llvm::Error error =
          emit(*code, *cpu.machine, stream, llvm::CodeGenFileType::ObjectFile))
    return std::move(error);
  return linkObject(object);
}
