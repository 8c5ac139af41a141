//===- PolicyDocument.cpp - a YAML text as a tree with positions ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PolicyDocument.h"

#include "PolicyTable.h"
#include "amp/Support/Quoted.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"

using namespace amp;
using namespace amp::detail;
namespace yaml = llvm::yaml;

std::string PolicyValue::describe() const {
  switch (kind) {
  case Kind::Nothing:
    return "nothing";
  case Kind::Scalar:
    return quoted(text);
  case Kind::List:
    return "a list";
  case Kind::Mapping:
    return "a mapping";
  }
  return "nothing";
}

/// The file's name as it is, unless it would break the line.
static std::string printableName(llvm::StringRef fileName) {
  std::string safe = quoted(fileName, /*limit=*/4096);
  return llvm::StringRef(safe).drop_front().drop_back() == fileName
             ? fileName.str()
             : safe;
}

static llvm::Error errorAt(llvm::StringRef fileName, unsigned line,
                           unsigned column, const llvm::Twine &message) {
  return makeError(printableName(fileName) + ":" + llvm::Twine(line) + ":" +
                   llvm::Twine(column) + ": " + message);
}

llvm::Error detail::errorAt(llvm::StringRef fileName, const PolicyValue &value,
                            const llvm::Twine &message) {
  return ::errorAt(fileName, value.line, value.column, message);
}

namespace {
/// Turns LLVM's nodes, which can be walked once, into PolicyValues.
class Reader {
public:
  Reader(llvm::StringRef text, llvm::StringRef fileName)
      : text(text), fileName(fileName) {
    sources.setDiagHandler(
        [](const llvm::SMDiagnostic &diagnostic, void *reader) {
          static_cast<Reader *>(reader)->keepFirst(diagnostic);
        },
        this);
    stream.emplace(llvm::MemoryBufferRef(text, fileName), sources,
                   /*ShowColors=*/false, &scanError);
  }

  llvm::Expected<PolicyValue> read() {
    auto document = stream->begin();
    PolicyValue root;
    if (document != stream->end()) {
      llvm::Expected<PolicyValue> value = convert(document->getRoot(), 0);
      if (!value || syntaxError)
        return preferSyntaxError(std::move(value));
      root = std::move(*value);
      ++document;
    }
    if (stream->failed() || scanError || syntaxError)
      return preferSyntaxError(makeError("cannot be read as YAML"));
    if (document != stream->end()) {
      PolicyValue where;
      if (yaml::Node *second = document->getRoot())
        locate(where, second->getSourceRange().Start);
      return errorAt(fileName, where, "expected one document, got a second");
    }
    return root;
  }

private:
  void keepFirst(const llvm::SMDiagnostic &diagnostic) {
    if (syntaxError)
      return;
    std::string message = diagnostic.getMessage().str();
    for (char &c : message)
      if (!llvm::isPrint(c))
        c = ' ';
    if (!message.empty())
      message.front() = llvm::toLower(message.front());
    while (!message.empty() && (message.back() == '.' || message.back() == '!'))
      message.pop_back();
    // Lines and columns are 0 or less where LLVM knows no place.
    syntaxError = {std::max(diagnostic.getLineNo(), 1),
                   std::max(diagnostic.getColumnNo() + 1, 1), message};
  }

  /// What follows from a syntax error is noise.
  llvm::Expected<PolicyValue>
  preferSyntaxError(llvm::Expected<PolicyValue> value) {
    if (!syntaxError)
      return value;
    if (!value)
      llvm::consumeError(value.takeError());
    return ::errorAt(fileName, syntaxError->line, syntaxError->column,
                     "malformed YAML: " + syntaxError->message);
  }

  /// Goes on from the last place, since nodes come in the order of the text:
  /// SourceMgr would look for the beginning of the line each time.
  void locate(PolicyValue &value, llvm::SMLoc location) {
    const char *at = location.getPointer();
    if (!location.isValid() || at < text.begin() || at > text.end())
      return;
    if (at < lastPlace) {
      lastPlace = lineBegin = text.begin();
      line = 1;
    }
    for (; lastPlace != at; ++lastPlace)
      if (*lastPlace == '\n') {
        lineBegin = lastPlace + 1;
        ++line;
      }
    value.line = line;
    value.column = static_cast<unsigned>(at - lineBegin) + 1;
  }

  /// LLVM lets `[…]` and `{…}` begin with what is in them.
  static llvm::SMLoc beginOf(llvm::StringRef text, yaml::Node *node) {
    llvm::SMLoc start = node->getSourceRange().Start;
    char opening = llvm::isa<yaml::SequenceNode>(node)  ? '['
                   : llvm::isa<yaml::MappingNode>(node) ? '{'
                                                        : '\0';
    if (!opening || !start.isValid() || start.getPointer() < text.begin() ||
        start.getPointer() > text.end())
      return start;
    llvm::StringRef before(
        text.begin(), static_cast<size_t>(start.getPointer() - text.begin()));
    before = before.rtrim(" \t\r\n");
    if (!before.ends_with(llvm::StringRef(&opening, 1)))
      return start;
    return llvm::SMLoc::getFromPointer(before.end() - 1);
  }

  llvm::Expected<PolicyValue> convert(yaml::Node *node, unsigned depth) {
    PolicyValue value;
    if (!node || stream->failed())
      return value;
    locate(value, beginOf(text, node));
    constexpr unsigned deepest = 8; // the format needs 5
    if (depth > deepest)
      return errorAt(fileName, value, "nested too deeply");
    if (!node->getAnchor().empty() || llvm::isa<yaml::AliasNode>(node))
      return errorAt(fileName, value, "anchors and aliases are not supported");
    if (!node->getRawTag().empty())
      return errorAt(fileName, value, "tags are not supported");

    if (auto *scalar = llvm::dyn_cast<yaml::ScalarNode>(node)) {
      llvm::SmallString<64> storage;
      value.kind = PolicyValue::Kind::Scalar;
      value.text = scalar->getValue(storage).str();
      return value;
    }
    if (auto *block = llvm::dyn_cast<yaml::BlockScalarNode>(node)) {
      value.kind = PolicyValue::Kind::Scalar;
      value.text = block->getValue().str();
      return value;
    }
    if (auto *list = llvm::dyn_cast<yaml::SequenceNode>(node)) {
      value.kind = PolicyValue::Kind::List;
      for (yaml::Node &item : *list) {
        auto converted = convert(&item, depth + 1);
        if (!converted)
          return converted;
        value.items.push_back(std::move(*converted));
      }
      return value;
    }
    if (auto *mapping = llvm::dyn_cast<yaml::MappingNode>(node)) {
      value.kind = PolicyValue::Kind::Mapping;
      llvm::StringSet<> keys;
      for (yaml::KeyValueNode &entry : *mapping) {
        auto key = convert(entry.getKey(), depth + 1);
        if (!key)
          return key;
        if (stream->failed())
          break;
        if (key->kind != PolicyValue::Kind::Scalar)
          return errorAt(fileName, *key,
                         "expected a key, got " + key->describe());
        if (!keys.insert(key->text).second)
          return errorAt(fileName, *key,
                         "key " + quoted(key->text) + " is given twice");
        auto converted = convert(entry.getValue(), depth + 1);
        if (!converted)
          return converted;
        if (converted->kind == PolicyValue::Kind::Nothing) {
          converted->line = key->line;
          converted->column = key->column;
        }
        value.entries.emplace_back(std::move(*key), std::move(*converted));
      }
      return value;
    }
    return value; // a null node
  }

  struct SyntaxError {
    int line, column;
    std::string message;
  };
  llvm::StringRef text, fileName;
  const char *lastPlace = text.begin(), *lineBegin = text.begin();
  unsigned line = 1;
  llvm::SourceMgr sources;
  std::error_code scanError;
  std::optional<SyntaxError> syntaxError;
  std::optional<yaml::Stream> stream;
};
} // namespace

llvm::Expected<PolicyValue>
detail::readPolicyDocument(llvm::StringRef text, llvm::StringRef fileName) {
  return Reader(text, fileName).read();
}
