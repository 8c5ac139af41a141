//===- Engine.cpp - runs models on data -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Engine.h"

#include "amp/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace amp;
namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

static llvm::Error fail(const llvm::Twine &text) {
  return llvm::createStringError(text);
}

//===----------------------------------------------------------------------===//
// Finding things
//===----------------------------------------------------------------------===//

static llvm::Expected<std::string> findPython() {
  const char *named = std::getenv("AMP_PYTHON");
  llvm::StringRef name = named && *named ? named : "python3";
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName(name);
  if (!found)
    return fail("cannot run " + quoted(name) +
                ", the Python that runs models; AMP_PYTHON names another");
  return *found;
}

/// share/onnx-amp/engine.py beside the folder of the executable, in the build
/// tree as where it is installed.
static llvm::Expected<std::string> findScript() {
  static const int anchor = 0;
  std::string executable =
      fs::getMainExecutable("onnx-amp", const_cast<int *>(&anchor));
  llvm::SmallString<128> script(
      path::parent_path(path::parent_path(executable)));
  path::append(script, "share", "onnx-amp", "engine.py");
  if (!fs::exists(script))
    return fail("cannot find " + quoted(script) +
                ", which belongs to this program");
  return script.str().str();
}

llvm::Expected<std::vector<std::string>> amp::findData(llvm::StringRef data) {
  if (!fs::is_directory(data)) {
    if (!fs::exists(data))
      return fail("cannot open " + quoted(data) +
                  ", expected data: an .npz file or a folder of them");
    return std::vector<std::string>{data.str()};
  }
  std::vector<std::string> files;
  std::error_code error;
  for (fs::directory_iterator entry(data, error), end; !error && entry != end;
       entry.increment(error))
    if (path::extension(entry->path()) == ".npz")
      files.push_back(entry->path());
  if (files.empty())
    return fail("found no .npz file in the folder " + quoted(data));
  llvm::sort(files);
  return files;
}

//===----------------------------------------------------------------------===//
// Engine
//===----------------------------------------------------------------------===//

llvm::Expected<Engine> Engine::create(const EngineOptions &options) {
  Engine engine(options);
  llvm::Expected<std::string> python = findPython();
  if (!python)
    return python.takeError();
  engine.python = std::move(*python);
  llvm::Expected<std::string> script = findScript();
  if (!script)
    return script.takeError();
  engine.script = std::move(*script);
  llvm::SmallString<128> folder;
  if (std::error_code error = fs::createUniqueDirectory("onnx-amp", folder))
    return fail("cannot make a temporary folder: " + error.message());
  engine.folder = folder.str();
  return std::move(engine);
}

Engine::Engine(Engine &&other)
    : options(other.options), python(std::move(other.python)),
      script(std::move(other.script)), folder(std::move(other.folder)) {
  other.folder.clear();
}

Engine::~Engine() {
  if (!folder.empty())
    (void)fs::remove_directories(folder);
}

std::string Engine::getPath(llvm::StringRef name) const {
  llvm::SmallString<128> file(folder);
  path::append(file, name);
  return file.str().str();
}

/// The status that a child ended with; none if it took longer, and was killed.
static std::optional<int> waitFor(pid_t child, unsigned seconds) {
  using namespace std::chrono;
  auto deadline = steady_clock::now() + std::chrono::seconds(seconds);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (steady_clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(5));
      continue;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return std::nullopt;
  }
  return status;
}

llvm::Expected<llvm::json::Object> Engine::run(llvm::json::Object request) {
  request["threads"] = options.threads;
  std::string requestPath = getPath("request.json");
  std::string responsePath = getPath("response.json");
  (void)fs::remove(responsePath);
  {
    std::error_code error;
    llvm::raw_fd_ostream stream(requestPath, error);
    stream << llvm::json::Value(std::move(request));
    stream.close();
    if (error || stream.has_error()) {
      error = error ? error : stream.error();
      stream.clear_error();
      return fail("cannot write " + quoted(requestPath) + ": " +
                  error.message());
    }
  }

  // Python's last words on standard error are kept for our own error.
  std::string errorPath = getPath("stderr.txt");
  std::optional<llvm::StringRef> redirects[] = {
      llvm::StringRef(""), llvm::StringRef(""), llvm::StringRef(errorPath)};
  std::string reason;
  bool hasFailed = false;
  std::string self = std::to_string(::getpid());
  llvm::sys::ProcessInfo process = llvm::sys::ExecuteNoWait(
      python, {python, script, folder, self}, std::nullopt, redirects,
      /*MemoryLimit=*/0, &reason, &hasFailed);
  std::optional<int> status;
  if (!hasFailed)
    status = waitFor(process.Pid, options.timeoutSeconds);
  // A child that could not execute ends with one of these.
  if (hasFailed ||
      (status && WIFEXITED(*status) &&
       (WEXITSTATUS(*status) == 126 || WEXITSTATUS(*status) == 127)))
    return fail("cannot run " + quoted(python) +
                ", the Python that runs models; AMP_PYTHON names another");
  if (!status)
    return fail("running the model took more than " +
                llvm::Twine(options.timeoutSeconds) +
                " s; --timeout allows more");
  if (!WIFEXITED(*status))
    return fail("the Python that runs models, " + quoted(python) +
                ", was ended by a signal, perhaps for lack of memory");

  auto buffer = llvm::MemoryBuffer::getFile(responsePath);
  if (!buffer) {
    llvm::StringRef last;
    auto words = llvm::MemoryBuffer::getFile(errorPath);
    if (words)
      last = (*words)->getBuffer().rtrim().rsplit('\n').second;
    return fail("the Python that runs models, " + quoted(python) +
                ", gave no answer (exit code " +
                llvm::Twine(WEXITSTATUS(*status)) + ")" +
                (last.empty() ? "" : ": " + quoted(last)));
  }
  llvm::Expected<llvm::json::Value> response =
      llvm::json::parse((*buffer)->getBuffer());
  llvm::json::Object *object = response ? response->getAsObject() : nullptr;
  if (!object) {
    llvm::consumeError(response.takeError());
    return fail("the Python that runs models, " + quoted(python) +
                ", gave an answer that is no JSON object");
  }
  if (std::optional<llvm::StringRef> error = object->getString("error"))
    return fail(*error);
  return std::move(*object);
}
