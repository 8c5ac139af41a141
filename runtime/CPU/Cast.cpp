//===- Cast.cpp - elements of another type --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CPU/Conversion.h"
#include "CPU/Elements.h"
#include "CPU/Grain.h"
#include "CPU/LibraryKernel.h"
#include "CPU/NumberText.h"
#include "CPU/Shapes.h"
#include "CPU/ThreadPool.h"

#include <atomic>

using namespace amp::runtime;

namespace {

class Cast : public LibraryKernel {
public:
  Status configure(const Attributes &attributes) {
    settings.saturate = attributes.getInt("saturate", 1) != 0;
    std::string mode = attributes.getString("round_mode", "up");
    if (mode == "up")
      settings.rounding = ScaleRounding::Up;
    else if (mode == "down")
      settings.rounding = ScaleRounding::Down;
    else if (mode == "nearest")
      settings.rounding = ScaleRounding::Nearest;
    else
      return Status::error("round_mode must be up, down or nearest, but is " +
                           mode);
    return {};
  }

  Status inferShapes(Span<const TensorView> inputs,
                     Span<TensorView> outputs) const override {
    return setShape(outputs[0], inputs[0].shape);
  }

  Status run(const KernelArguments &arguments) const override {
    const TensorView &input = arguments.inputs[0],
                     &output = arguments.outputs[0];
    for (DataType type : {input.type, output.type})
      if (input.type != output.type && type != DataType::String &&
          !isNumeric(type))
        return typeError(type);
    int64_t count = input.getElementCount();
    bool fromText = input.type == DataType::String,
         toText = output.type == DataType::String;
    std::atomic<int64_t> firstBad{count};
    auto bytes = static_cast<int64_t>(getElementSize(input.type) +
                                      getElementSize(output.type));
    arguments.threads->parallelFor(
        count, getGrain(bytes), [&](int64_t begin, int64_t end, unsigned) {
          if (fromText == toText)
            return convertElements(input.type, elementAt(input, begin),
                                   output.type, mutableElementAt(output, begin),
                                   end - begin, settings);
          for (int64_t i = begin; i < end; ++i) {
            if (toText) {
              output.as<std::string>()[i] =
                  formatNumber(input.type, elementAt(input, i));
            } else if (!parseNumber(input.as<const std::string>()[i],
                                    output.type, mutableElementAt(output, i),
                                    settings)) {
              int64_t seen = firstBad.load();
              while (i < seen && !firstBad.compare_exchange_weak(seen, i))
                ;
              return;
            }
          }
        });
    if (int64_t bad = firstBad.load(); bad != count)
      return Status::error("element " + std::to_string(bad) +
                           " is not a number");
    return {};
  }

private:
  CastSettings settings;
};

constexpr KernelEntry entries[] = {{"cast", create<Cast>}};

} // namespace

Span<const KernelEntry> amp::runtime::getCastKernels() {
  return {entries, std::size(entries)};
}
