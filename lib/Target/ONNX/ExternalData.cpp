//===- ExternalData.cpp - The data files that a model refers to -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "amp/Target/ONNX/ExternalData.h"

#include "FileDescriptor.h"
#include "amp/Support/Quoted.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include <climits>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <tuple>

using namespace llvm;
using namespace amp;

/// Descriptors kept open, so that the kernel can copy from these files; models
/// with hundreds of data files must not run out of them.
static constexpr size_t maxOpenFiles = 8;

/// Smaller files are copied. Not more: there may be a file for every tensor,
/// and all of them together are not small.
static constexpr uint64_t maxCopiedDataFile = 64 << 10;

static Error reason(const Twine &text) { return createStringError(text); }

/// The kernel's interface (linux/openat2.h), for C libraries that lack it.
namespace {
struct OpenHow {
  uint64_t flags;
  uint64_t mode;
  uint64_t resolve;
};
} // namespace
static constexpr uint64_t resolveNoMagicLinks = 0x02;
static constexpr uint64_t resolveNoSymlinks = 0x04;
static constexpr uint64_t resolveBeneath = 0x08;
#ifdef SYS_openat2
static constexpr long openat2Number = SYS_openat2;
#else
static constexpr long openat2Number = 437;
#endif

/// Never blocks on a FIFO, never gets a controlling terminal.
static constexpr int openFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

ExternalDataFiles::ExternalDataFiles(StringRef modelPath, Options options)
    : options(options) {
  size_t slash = modelPath.rfind('/');
  // With the slash, so that "/model.onnx" is in "/".
  folder = slash == StringRef::npos ? "." : modelPath.take_front(slash + 1);
}

ExternalDataFiles::~ExternalDataFiles() {
  if (folderDescriptor >= 0)
    ::close(folderDescriptor);
}

/// What openat2 does, for kernels without it: one component after the other, so
/// that no symbolic link is followed on the way.
static int openWithoutLinks(int folder, StringRef location) {
  SmallVector<StringRef> components;
  location.split(components, '/');
  StringRef last = components.pop_back_val();
  if (last.empty() || last == ".") {
    errno = ENOTDIR;
    return -1;
  }
  FileDescriptor step;
  auto open = [&](StringRef component, int flags) {
    int at = step ? step.get() : folder;
    SmallString<256> name(component);
    return retryInterrupted(
        [&] { return ::openat(at, name.c_str(), flags | O_NOFOLLOW); });
  };
  for (StringRef component : components) {
    if (component.empty() || component == ".")
      continue;
    FileDescriptor opened(open(component, O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!opened)
      return -1;
    step = std::move(opened);
  }
  return open(last, openFlags);
}

/// Says why a location cannot name a file beneath the model's folder, or "".
static StringRef refuseByText(StringRef location) {
  if (location.empty())
    return "is empty";
  if (location.contains('\0'))
    return "contains a zero byte";
  if (location.starts_with("/"))
    return "is absolute, not beneath the model's folder";
  for (StringRef component : split(location, '/'))
    if (component == "..")
      return "has a '..', which may lead outside the model's folder";
  return "";
}

Expected<int> ExternalDataFiles::openDescriptor(StringRef location) {
  if (folderDescriptor < 0) {
    folderDescriptor = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folderDescriptor < 0)
      return reason("the model's folder " + quoted(folder) +
                    " cannot be opened: " + systemReason(errno));
  }

  SmallString<256> path(location);
  OpenHow how = {openFlags, 0, resolveNoMagicLinks};
  if (!options.allowLinks)
    how.resolve |= resolveBeneath | resolveNoSymlinks;
  int descriptor = -1;
  // EAGAIN: something was renamed while the kernel looked for '..' escapes.
  for (int attempt = 0; attempt < 16; ++attempt) {
    descriptor = static_cast<int>(retryInterrupted([&] {
      return ::syscall(openat2Number, folderDescriptor, path.c_str(), &how,
                       sizeof(how));
    }));
    if (descriptor >= 0 || errno != EAGAIN)
      break;
  }
  // EPERM: sandboxes that do not know the call.
  if (descriptor < 0 && (errno == ENOSYS || errno == EPERM))
    descriptor =
        options.allowLinks ? retryInterrupted([&] {
          return ::openat(folderDescriptor, path.c_str(), openFlags);
        })
                           : openWithoutLinks(folderDescriptor, location);
  if (descriptor >= 0)
    return descriptor;

  int error = errno;
  if (error == ENOENT && options.acceptMissing)
    return -1;
  if (error == EXDEV)
    return reason("is outside the model's folder");
  if (error == ELOOP && !options.allowLinks)
    return reason("is reached through a symbolic link" +
                  (options.allowLinksHint.empty()
                       ? Twine()
                       : " (accepted with " + options.allowLinksHint + ")"));
  return reason("cannot be opened: " + Twine(systemReason(error)));
}

/// Null for a file with nothing in it, which tensors without elements may have,
/// and for one that is missing.
Expected<std::shared_ptr<MappedFile>>
ExternalDataFiles::open(StringRef location) {
  if (StringRef refused = refuseByText(location); !refused.empty())
    return reason(refused);
  auto cached = byLocation.find(location);
  if (cached != byLocation.end())
    return cached->second;

  Expected<int> descriptor = openDescriptor(location);
  if (!descriptor)
    return descriptor.takeError();
  if (*descriptor < 0) {
    missingLocations.insert(location.str());
    return byLocation[location] = nullptr;
  }
  FileDescriptor owned(*descriptor);
  struct stat status;
  if (::fstat(owned.get(), &status) != 0)
    return reason("cannot be looked at: " + Twine(systemReason(errno)));
  // A second name may be one outside the folder.
  if (S_ISREG(status.st_mode) && status.st_nlink > 1 && !options.allowLinks)
    return reason("has " + Twine(status.st_nlink) + " hard links" +
                  (options.allowLinksHint.empty()
                       ? Twine()
                       : " (accepted with " + options.allowLinksHint + ")"));

  // "w.bin" and "./w.bin" are one file.
  auto [known, isNew] =
      byIdentity.try_emplace({status.st_dev, status.st_ino}, nullptr);
  std::shared_ptr<MappedFile> &file = known->second;
  if (isNew && !(S_ISREG(status.st_mode) && status.st_size == 0)) {
    Expected<std::shared_ptr<MappedFile>> opened = MappedFile::fromDescriptor(
        owned.release(), quoted(location), byIdentity.size() <= maxOpenFiles,
        maxCopiedDataFile);
    if (!opened) {
      byIdentity.erase(known);
      return opened.takeError();
    }
    file = *opened;
  }
  if (isNew)
    openedFiles.push_back({status.st_dev, status.st_ino});
  byLocation[location] = file;
  return file;
}

/// Reads a number of at most 2^63-1, in digits only.
static bool parseNumber(StringRef text, uint64_t &value) {
  if (text.empty() || !all_of(text, isDigit) || text.getAsInteger(10, value))
    return false;
  return value <= INT64_MAX;
}

Expected<ExternalDataView>
ExternalDataFiles::resolve(const ExternalDataReference &reference,
                           uint64_t size, StringRef tensorName) {
  std::string tensor = "tensor " + quoted(tensorName) + ": external data ";
  if (!reference.location)
    return reason(tensor + "has no location");
  std::string place = tensor + quoted(*reference.location) + " ";

  uint64_t offset = 0, length = size;
  for (auto [key, text, value] :
       {std::tuple("offset", reference.offset, &offset),
        std::tuple("length", reference.length, &length)})
    if (text && !parseNumber(*text, *value))
      return reason(place + "has " + key + " " + quoted(*text) +
                    ", not a number from 0 to 9223372036854775807");
  if (length != size)
    return reason(place + "has length " + Twine(length) +
                  ", but type and shape need " + Twine(size) + " bytes");

  Expected<std::shared_ptr<MappedFile>> file = open(*reference.location);
  if (!file)
    return reason(place + toString(file.takeError()));
  if (size && !*file && missingLocations.count(*reference.location)) {
    file = MappedFile::zeros(size, quoted(*reference.location));
    if (!file)
      return reason(place + toString(file.takeError()));
    return ExternalDataView{(*file)->bytes(), *file, 0};
  }
  StringRef bytes = *file ? (*file)->bytes() : StringRef();
  uint64_t available = bytes.size();
  if (offset > available || length > available - offset)
    return reason(place + "has " + Twine(available) +
                  " bytes, but the tensor takes " + Twine(length) +
                  " from byte " + Twine(offset));
  return ExternalDataView{bytes.substr(offset, length), *file, offset};
}
