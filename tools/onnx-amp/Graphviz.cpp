//===- Graphviz.cpp - graphs that another program lays out ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graphviz.h"

#include "amp/Support/Quoted.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace amp;

std::string amp::dotText(llvm::StringRef text, size_t limit) {
  std::string shown = quoted(text, limit);
  llvm::StringRef rest = llvm::StringRef(shown).drop_front().drop_back();
  std::string escaped;
  for (size_t i = 0; i < rest.size(); ++i) {
    char c = rest[i];
    if (c == '\\' && i + 1 < rest.size()) {
      char next = rest[++i];
      escaped += next == '\'' ? "" : "\\\\";
      // A backslash that stands for itself has been doubled.
      if (next != '\\')
        escaped += next;
    } else if (c == '"') {
      escaped += "\\\"";
    } else if (c == '&') {
      escaped += "&amp;"; // Graphviz reads entities
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string amp::dotString(llvm::StringRef text, size_t limit) {
  return "\"" + dotText(text, limit) + "\"";
}

llvm::Expected<std::string> amp::findDot() {
  llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName("dot");
  if (path)
    return *path;
  return llvm::createStringError(
      "--svg takes Graphviz's program 'dot', which is not in the PATH: install "
      "it (apt install graphviz), or use --dot");
}

namespace {
/// A file in memory, under a name that a child can open.
class MemoryFile {
public:
  MemoryFile() : descriptor(::memfd_create("onnx-amp", 0)) {}
  ~MemoryFile() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;

  bool isOpen() const { return descriptor >= 0; }
  std::string name() const {
    return "/proc/self/fd/" + std::to_string(descriptor);
  }

  bool write(llvm::StringRef bytes) {
    while (!bytes.empty()) {
      ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written <= 0)
        return false;
      bytes = bytes.drop_front(written);
    }
    return true;
  }
  std::string read() const {
    auto buffer = llvm::MemoryBuffer::getFile(name(), /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false,
                                              /*IsVolatile=*/true);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }

private:
  int descriptor;
};
} // namespace

llvm::Expected<std::string> amp::layOutGraph(llvm::StringRef dot,
                                             llvm::StringRef graph) {
  auto fail = [](const llvm::Twine &why) {
    return llvm::createStringError("--svg: 'dot' cannot lay out the graph: " +
                                   why);
  };
  MemoryFile input, output, errors;
  if (!input.isOpen() || !output.isOpen() || !errors.isOpen() ||
      !input.write(graph))
    return fail("out of memory");
  // Far more than a graph that people look at takes.
  constexpr unsigned limit = 120;
  std::string inputName = input.name(), outputName = output.name(),
              errorName = errors.name(), why;
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(inputName),
                                                llvm::StringRef(outputName),
                                                llvm::StringRef(errorName)};
  int code = llvm::sys::ExecuteAndWait(dot, {"dot", "-Tsvg"}, std::nullopt,
                                       redirects, limit, 0, &why);
  if (code == 0)
    return output.read();
  if (code > 0) {
    std::string said = errors.read();
    why = "exit code " + std::to_string(code);
    if (!llvm::StringRef(said).trim().empty())
      why += ": " + quoted(llvm::StringRef(said).trim(), 200);
  }
  return fail(why);
}
