//===- Link.cpp - ties one object together --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An object of kernels has code, and constants that code refers to relative to
// itself. So a linker is a loop over sections and one over relocations;
// whatever else there is would be a fault of ours.
//
//===----------------------------------------------------------------------===//

#include "Object.h"

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::object;

/// Sections that running code needs; those with tables for unwinding are not.
static bool isWanted(const ELFSectionRef &section, StringRef name) {
  return (section.getFlags() & ELF::SHF_ALLOC) && section.getSize() != 0 &&
         !name.starts_with(".eh_frame");
}

Expected<amp::codegen::Image> amp::codegen::linkObject(StringRef object) {
  auto file = ObjectFile::createELFObjectFile(
      MemoryBufferRef(object, "compiled kernels"));
  if (!file)
    return file.takeError();
  Image image;
  DenseMap<uint64_t, uint64_t> places; // of sections, by index
  for (ELFSectionRef section : (*file)->sections()) {
    Expected<StringRef> name = section.getName();
    if (!name)
      return name.takeError();
    if (!isWanted(section, *name))
      continue;
    if ((section.getFlags() & ELF::SHF_WRITE) || section.isBSS())
      return createStringError("compiled code has a writable section %s",
                               name->str().c_str());
    Expected<StringRef> contents = section.getContents();
    if (!contents)
      return contents.takeError();
    image.bytes.resize(alignTo(image.bytes.size(), section.getAlignment()));
    places[section.getIndex()] = image.bytes.size();
    image.bytes.insert(image.bytes.end(), contents->begin(), contents->end());
  }

  auto placeOf = [&](ELFSymbolRef symbol) -> Expected<uint64_t> {
    Expected<section_iterator> section = symbol.getSection();
    if (!section)
      return section.takeError();
    Expected<uint64_t> value = symbol.getValue();
    if (!value)
      return value.takeError();
    auto place = *section == (*file)->section_end()
                     ? places.end()
                     : places.find((*section)->getIndex());
    if (place == places.end()) {
      Expected<StringRef> name = symbol.getName();
      return createStringError("compiled code needs \"%s\", which is not in it",
                               name ? name->str().c_str() : "");
    }
    return place->second + *value;
  };

  for (ELFSectionRef relocations : (*file)->sections()) {
    Expected<section_iterator> section = relocations.getRelocatedSection();
    if (!section)
      return section.takeError();
    if (*section == (*file)->section_end())
      continue;
    auto place = places.find((*section)->getIndex());
    if (place == places.end())
      continue;
    for (ELFRelocationRef relocation : relocations.relocations()) {
      Expected<uint64_t> target = placeOf(*relocation.getSymbol());
      if (!target)
        return target.takeError();
      Expected<int64_t> addend = relocation.getAddend();
      if (!addend)
        return addend.takeError();
      uint64_t where = place->second + relocation.getOffset();
      int64_t value = int64_t(*target) + *addend - int64_t(where);
      switch (relocation.getType()) {
      case ELF::R_X86_64_PC32:
      case ELF::R_X86_64_PLT32:
        if (!isInt<32>(value) || where + 4 > image.bytes.size())
          return createStringError("compiled code is too large");
        support::endian::write32le(&image.bytes[where], uint32_t(value));
        break;
      case ELF::R_X86_64_PC64:
        support::endian::write64le(&image.bytes[where], uint64_t(value));
        break;
      default:
        return createStringError("compiled code has a relocation of type %u",
                                 unsigned(relocation.getType()));
      }
    }
  }

  for (ELFSymbolRef symbol : (*file)->symbols()) {
    Expected<SymbolRef::Type> type = symbol.getType();
    if (!type)
      return type.takeError();
    if (*type != SymbolRef::ST_Function)
      continue;
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    Expected<uint64_t> place = placeOf(symbol);
    if (!place)
      return place.takeError();
    image.offsets[*name] = *place;
  }
  return image;
}
