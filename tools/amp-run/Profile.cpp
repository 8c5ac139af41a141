//===- Profile.cpp - how long each command takes --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Profile.h"

#include "AtomicFile.h"
#include "Flops.h"

#include <nlohmann/json.hpp>

using namespace amp::run;
using namespace amp::runtime;
using Json = nlohmann::ordered_json;

static uint64_t countBytes(const TensorView *tensors, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum += tensors[i].getByteCount();
  return sum;
}

void Profile::handle(const CommandEvent &event) {
  entries.push_back({event, countBytes(event.inputs, event.inputCount),
                     countBytes(event.outputs, event.outputCount),
                     countFlops(event)});
}

Status Profile::write(const std::string &path) const {
  AtomicFile file(path);
  if (Status status = file.open(); !status.ok())
    return status;
  std::string text = "{\"traceEvents\":[";
  for (size_t i = 0; i < entries.size(); ++i) {
    const Entry &entry = entries[i];
    const CommandEvent &event = entry.event;
    using Microseconds = std::chrono::duration<double, std::micro>;
    Microseconds begin = event.begin - entries[0].event.begin;
    Microseconds length = event.end - event.begin;
    Json json = {{"name", event.operation},
                 {"ph", "X"},
                 {"ts", begin.count()},
                 {"dur", length.count()},
                 {"pid", 1},
                 {"tid", 1},
                 {"args",
                  {{"node", event.node},
                   {"bytes_read", entry.read},
                   {"bytes_written", entry.written}}}};
    if (entry.flops > 0)
      json["args"]["flops"] = entry.flops;
    text += i == 0 ? "\n" : ",\n";
    text += json.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  text += "\n]}\n";
  if (Status status = file.write(text.data(), text.size()); !status.ok())
    return status;
  return file.commit();
}
