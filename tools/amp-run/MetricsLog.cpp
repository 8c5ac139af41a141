//===- MetricsLog.cpp - a line of JSON for each step ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MetricsLog.h"

#include "MappedFile.h"
#include "Quote.h"

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

using namespace amp::run;
using namespace amp::runtime;

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

template <typename T> static void appendNumber(std::string &line, T number) {
  char buffer[32];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), number).ptr;
  line.append(buffer, end);
}

/// The shortest text that gives the number back.
template <typename T> static void appendFloat(std::string &line, T number) {
  if (std::isfinite(number))
    appendNumber(line, number);
  else
    line += "null";
}

static void appendScalar(std::string &line, const Scalar &scalar) {
  switch (scalar.tensor.type) {
  case DataType::Bool:
    line += scalar.getNumber() != 0 ? "true" : "false";
    return;
  case DataType::Int64:
    return appendNumber(line, *scalar.tensor.as<int64_t>());
  case DataType::UInt64:
    return appendNumber(line, *scalar.tensor.as<uint64_t>());
  case DataType::Double:
    return appendFloat(line, scalar.getNumber());
  default: // All others' values are floats.
    return appendFloat(line, static_cast<float>(scalar.getNumber()));
  case DataType::Int32:
  case DataType::UInt32:
    return appendNumber(line, static_cast<int64_t>(scalar.getNumber()));
  }
}

static void appendKey(std::string &line, std::string_view name) {
  line += '"';
  for (char c : name) {
    if (static_cast<unsigned char>(c) < 0x20) {
      constexpr char digits[] = "0123456789abcdef";
      line += "\\u00";
      line += digits[c >> 4];
      line += digits[c & 15];
      continue;
    }
    if (c == '"' || c == '\\')
      line += '\\';
    line += c;
  }
  line += "\": ";
}

static bool isTaken(std::string_view name) {
  return name == "step" || name == "epoch" || name == "samples_per_second" ||
         name == "seconds";
}

void amp::run::appendMetrics(std::string &line, const StepRecord &record,
                             const ScalarValues &values) {
  line += "{\"step\": ";
  appendNumber(line, record.step);
  line += ", \"epoch\": ";
  appendNumber(line, record.epoch);
  for (const Scalar &scalar : values.get()) {
    line += ", ";
    size_t begin = line.size();
    appendKey(line, scalar.name);
    if (isTaken(scalar.name))
      line.insert(begin + 1, "output.");
    appendScalar(line, scalar);
  }
  line += ", \"samples_per_second\": ";
  appendFloat(line, static_cast<float>(record.samplesPerSecond));
  line += ", \"seconds\": ";
  appendFloat(line, record.seconds);
  line += "}\n";
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

MetricsLog::~MetricsLog() {
  if (descriptor >= 0)
    close(descriptor);
}

Status MetricsLog::fail(const char *what) const {
  return Status::error("cannot " + std::string(what) + " " + quote(path) +
                       ": " + std::strerror(errno));
}

/// The step of a line that appendMetrics() made; 0 of others.
static uint64_t readStep(std::string_view line) {
  constexpr std::string_view begin = "{\"step\": ";
  uint64_t step = 0;
  if (line.substr(0, begin.size()) == begin)
    std::from_chars(line.data() + begin.size(), line.data() + line.size(),
                    step);
  return step;
}

/// Where the lines of later steps begin, or one that was not finished.
static Result<uint64_t> findEnd(const std::string &path, uint64_t step) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok())
    return file.getStatus();
  std::string_view text(reinterpret_cast<const char *>(file->getData()),
                        file->getSize());
  size_t begin = 0;
  while (begin < text.size()) {
    size_t end = text.find('\n', begin);
    if (end == std::string_view::npos ||
        readStep(text.substr(begin, end - begin)) > step)
      break;
    begin = end + 1;
  }
  return uint64_t{begin};
}

Status MetricsLog::open(const std::string &logPath, uint64_t resumedStep) {
  path = logPath;
  descriptor =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return fail("write");
  off_t end = lseek(descriptor, 0, SEEK_END);
  if (end > 0 && resumedStep > 0) {
    Result<uint64_t> kept = findEnd(path, resumedStep);
    if (!kept.ok())
      return kept.getStatus();
    end = static_cast<off_t>(*kept);
  } else {
    end = 0;
  }
  // Not of /dev/stderr or a pipe.
  if (ftruncate(descriptor, end) != 0 && errno != EINVAL)
    return fail("write");
  return {};
}

Status MetricsLog::write(const StepRecord &record, const ScalarValues &values) {
  line.clear();
  appendMetrics(line, record, values);
  const char *next = line.data();
  size_t rest = line.size();
  while (rest > 0) {
    ssize_t written = ::write(descriptor, next, rest);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return fail("write");
    next += written;
    rest -= static_cast<size_t>(written);
  }
  return {};
}

Status MetricsLog::sync() {
  if (descriptor >= 0 && fdatasync(descriptor) != 0 && errno != EINVAL)
    return fail("write");
  return {};
}
