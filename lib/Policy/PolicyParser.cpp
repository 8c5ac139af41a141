//===- PolicyParser.cpp - policy files that extend others -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PolicyParser.h"

#include "PolicyFileParser.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace amp;
using namespace amp::detail;

using Kind = PolicyValue::Kind;

/// A text to parse, and the one that extends it.
struct PolicyParser::Source {
  llvm::StringRef policyName;
  llvm::StringRef fileName; // for a preset, its name
  llvm::StringRef text;
  bool isPreset;
  const Source *extendedBy;
};

bool Policy::isPath(llvm::StringRef name) {
  return name.contains('/') || name.ends_with(".yaml") ||
         name.ends_with(".yml");
}

/// Reads a regular file of a policy's size, or says why not.
static llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readPolicyFile(llvm::StringRef path) {
  constexpr uint64_t largest = 4 << 20;
  llvm::sys::fs::file_status status;
  std::error_code code = llvm::sys::fs::status(path, status);
  if (!code && status.type() != llvm::sys::fs::file_type::regular_file)
    return makeError("cannot read policy file " + quoted(path) +
                     ": not a regular file");
  if (!code && status.getSize() > largest)
    return makeError("cannot read policy file " + quoted(path) + ": " +
                     llvm::Twine(status.getSize()) +
                     " bytes, expected at most " + llvm::Twine(largest));
  if (!code) {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false,
                                              /*IsVolatile=*/true);
    if (buffer)
      return std::move(*buffer);
    code = buffer.getError();
  }
  std::string why = code.message();
  if (!why.empty())
    why.front() = llvm::toLower(why.front());
  return makeError("cannot read policy file " + quoted(path) + ": " + why);
}

/// Parses what `extends` names, at `value` in `source`, into the table.
llvm::Error PolicyParser::parseBase(Policy::Table &table, const Source &source,
                                    const PolicyValue &value) {
  llvm::StringRef name = value.text;
  Source base;
  base.extendedBy = &source;
  base.isPreset = !Policy::isPath(name);
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  llvm::SmallString<128> path;
  if (base.isPreset) {
    std::optional<llvm::StringRef> text = presetText(name);
    if (!text)
      return errorAt(source.fileName, value,
                     llvm::toString(unknownPreset(name)));
    base.policyName = base.fileName = name;
    base.text = *text;
  } else {
    if (source.isPreset)
      return errorAt(source.fileName, value,
                     "expected a preset, got " + value.describe());
    if (!llvm::sys::path::is_absolute(name))
      path = llvm::sys::path::parent_path(source.fileName);
    llvm::sys::path::append(path, name);
    auto read = readPolicyFile(path);
    if (!read)
      return errorAt(source.fileName, value, llvm::toString(read.takeError()));
    buffer = std::move(*read);
    base.policyName = llvm::sys::path::stem(path);
    base.fileName = path;
    base.text = buffer->getBuffer();
  }

  constexpr unsigned longest = 32;
  std::string route = base.policyName.str();
  unsigned length = 1;
  for (const Source *other = &source; other; other = other->extendedBy) {
    if (++length > longest)
      return errorAt(source.fileName, value,
                     "more than " + llvm::Twine(longest) +
                         " policies extend each other");
    route = (other->policyName + " -> " + route).str();
    bool same =
        other->isPreset == base.isPreset &&
        (base.isPreset ? other->policyName == base.policyName
                       : llvm::sys::fs::equivalent(other->fileName, path));
    if (same)
      return errorAt(source.fileName, value,
                     "policy extends itself: " + quoted(route));
  }
  return parseInto(table, base);
}

llvm::Error PolicyParser::parseInto(Policy::Table &table,
                                    const Source &source) {
  auto root = readPolicyDocument(source.text, source.fileName);
  if (!root)
    return root.takeError();

  for (const auto &[key, value] : root->entries) {
    if (key.text != "extends")
      continue;
    if (value.kind != Kind::Scalar)
      return errorAt(source.fileName, value,
                     "expected the name of a policy, got " + value.describe());
    if (llvm::Error failure = parseBase(table, source, value))
      return failure;
  }
  return FileParser(table, source.policyName, source.fileName).parse(*root);
}

llvm::Expected<Policy> PolicyParser::parse(const Source &source) {
  auto table = std::make_unique<Policy::Table>();
  table->name = source.policyName.str();
  table->notListed = "policy " + quoted(source.policyName) +
                     " does not list the operator: keep";
  if (llvm::Error failure = parseInto(*table, source))
    return std::move(failure);
  return Policy(std::move(table));
}

llvm::Expected<Policy> PolicyParser::parsePreset(llvm::StringRef name,
                                                 llvm::StringRef text) {
  return parse({name, name, text, /*isPreset=*/true, nullptr});
}

llvm::Expected<Policy> Policy::parse(llvm::MemoryBufferRef buffer) {
  return PolicyParser::parseFile(buffer);
}

llvm::Expected<Policy> PolicyParser::parseFile(llvm::MemoryBufferRef buffer) {
  llvm::StringRef fileName = buffer.getBufferIdentifier();
  return parse({llvm::sys::path::stem(fileName), fileName, buffer.getBuffer(),
                /*isPreset=*/false, nullptr});
}

llvm::Expected<Policy> Policy::load(llvm::StringRef presetOrPath) {
  if (!isPath(presetOrPath))
    return preset(presetOrPath);
  auto buffer = readPolicyFile(presetOrPath);
  if (!buffer)
    return buffer.takeError();
  return parse((*buffer)->getMemBufferRef());
}

//===----------------------------------------------------------------------===//
// The operators of the presets
//===----------------------------------------------------------------------===//

void detail::collectCategorisedOperators(llvm::StringRef text,
                                         llvm::StringSet<> &names) {
  auto add = [&](const PolicyValue &value) {
    auto spelling = parseOperatorSpelling(value.text);
    if (spelling)
      names.insert(spelling->key);
    else
      llvm::consumeError(spelling.takeError());
  };
  auto root = readPolicyDocument(text, "");
  if (!root)
    return llvm::consumeError(root.takeError());
  for (const auto &[key, categories] : root->entries) {
    if (key.text != "categories")
      continue;
    for (const auto &[category, operators] : categories.entries)
      for (const PolicyValue &item : operators.items) {
        if (item.kind == Kind::Scalar)
          add(item);
        for (const auto &[part, grouped] : item.entries)
          if (part.text == "operators")
            llvm::for_each(grouped.items, add);
      }
  }
}
