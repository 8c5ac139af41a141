//===- ContentsWriter.cpp - Buffer and segments into a descriptor ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The contents are cut into tasks in the order of the file, which workers take
// one by one. Tasks end where the file offset is a multiple of their size: the
// system's cache then consists of big pages (a seventh less time on ext4).
// - a long stretch of memory, copied by the kernel from file to file if it is
//   part of a mapped file, else by write();
// - many short stretches and pieces of lazy bytes, as one pwritev(). Lazy bytes
//   are computed into a buffer that stays in the second-level cache, and a few
//   of them twice, where a task ends between the offsets at which they may
//   begin.
// Writers of one file wait for each other in the kernel, so that threads help
// only where there is something to compute (measured on ext4: two threads that
// only copy are slower than one).
//
//===----------------------------------------------------------------------===//

#include "ContentsWriter.h"

#include "FileDescriptor.h"
#include "LiveMappings.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/uio.h>

using namespace llvm;
using namespace amp;

/// Bytes of a task of short stretches. Together with what it is computed from,
/// twice as much where f32 becomes f16, it fits a second-level cache.
static constexpr uint64_t taskSize = 256 << 10;
/// A worker's room for lazy bytes: with what is computed twice at both ends,
/// and a gap after each of the stretches.
static constexpr uint64_t spaceSize =
    taskSize + 4 * LazyBytes::granularity +
    64 * (taskSize / WireWriter::minSegmentSize + 2);
/// Stretches from here on are tasks of their own...
static constexpr uint64_t longStretch = 1 << 20;
/// ...of at most this size, so that progress is seen.
static constexpr uint64_t maxCopy = 64 << 20;
/// What write() gets at a time from a mapped file: pages are made present just
/// before they are read.
static constexpr uint64_t writeSize = 256 << 10;
static constexpr size_t maxVectors = 512;
/// From so many bytes of long mapped stretches on a thread goes ahead of the
/// writer to make their pages present, so many at a time.
static constexpr uint64_t minReadAhead = 64 << 20;
static constexpr uint64_t populatedAhead = 4 << 20;
/// Shorter stretches are not worth another system call.
static constexpr uint64_t minPopulated = 64 << 10;

namespace {

/// Consecutive bytes: in memory at `data`, or those of `producer` from
/// `offset`.
struct Stretch {
  const char *data = nullptr;
  const LazyBytes *producer = nullptr;
  uint64_t producerSize = 0;
  uint64_t offset = 0;
  uint64_t size = 0;

  Stretch take(uint64_t count) {
    Stretch taken = *this;
    taken.size = count;
    if (producer)
      offset += count;
    else
      data += count;
    size -= count;
    return taken;
  }
};

/// Consecutive stretches and where they go.
struct Task {
  uint64_t fileOffset = 0;
  uint64_t size = 0;
  SmallVector<Stretch, 16> stretches;

  void add(Stretch stretch) {
    size += stretch.size;
    stretches.push_back(stretch);
  }
};

/// Cuts the contents into tasks.
class Tasks {
public:
  explicit Tasks(const WireWriter &contents)
      : buffer(contents.bufferBytes()), segments(contents.segments()) {}

  /// Returns false when there are no more.
  bool next(Task &task) {
    task.fileOffset = fileOffset;
    task.size = 0;
    task.stretches.clear();
    uint64_t most = taskSize - fileOffset % taskSize;
    while (task.size < most && task.stretches.size() < maxVectors &&
           advance()) {
      if (!current.producer && current.size >= longStretch) {
        if (task.size == 0)
          task.add(current.take(std::min(current.size, maxCopy)));
        break;
      }
      task.add(current.take(std::min(current.size, most - task.size)));
    }
    fileOffset += task.size;
    return task.size != 0;
  }

private:
  /// Makes `current` the rest of a stretch; returns false at the end.
  bool advance() {
    while (current.size == 0) {
      uint64_t until =
          segments.empty() ? buffer.size() : segments.front().bufferOffset;
      if (bufferOffset < until) {
        current = {buffer.data() + bufferOffset, nullptr, 0, 0,
                   until - bufferOffset};
        bufferOffset = until;
      } else if (!segments.empty()) {
        const WireSegment &segment = segments.front();
        current = {segment.data, segment.producer.get(), segment.size, 0,
                   segment.size};
        segments = segments.drop_front();
      } else {
        return false;
      }
    }
    return true;
  }

  StringRef buffer;
  ArrayRef<WireSegment> segments;
  uint64_t bufferOffset = 0;
  uint64_t fileOffset = 0;
  Stretch current;
};

/// What the workers share.
class Writing {
public:
  Writing(const WireWriter &contents, const ContentsTarget &target)
      : target(target), tasks(contents) {}

  /// Works until there are no more tasks or one has failed.
  void work();

  Error takeError() {
    if (!failed)
      return Error::success();
    return createStringError(failure);
  }

private:
  bool take(Task &task) {
    std::lock_guard<std::mutex> lock(mutex);
    return !failed && tasks.next(task);
  }
  /// Records why it failed; returns false.
  bool fail(int error) {
    // The kernel met a page that is gone: an input was cut under us.
    return fail(error == EFAULT ? "an input file changed while it was read"
                                : systemReason(error));
  }
  bool fail(std::string reason) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!failed)
      failure = std::move(reason);
    failed = true;
    return false;
  }

  bool writeTask(const Task &task, char *space);
  bool writeVectors(MutableArrayRef<iovec> vectors, uint64_t offset);
  bool copy(const Stretch &stretch, uint64_t offset);

  const ContentsTarget &target;
  const MappedRanges mapped;
  std::mutex mutex;
  Tasks tasks;
  std::atomic<bool> failed{false};
  std::string failure;
  /// Until a file system says that it cannot.
  std::atomic<bool> kernelCopies{true};
};

} // namespace

/// Makes the pages under `bytes`, a piece of a mapped file, present at once:
/// cheaper than the faults of looking at them. Only a hint.
static void populate(StringRef bytes) {
#ifdef MADV_POPULATE_READ
  static const uint64_t mask = ::sysconf(_SC_PAGESIZE) - 1;
  uint64_t before = reinterpret_cast<uintptr_t>(bytes.begin()) & mask;
  ::madvise(const_cast<char *>(bytes.begin() - before), before + bytes.size(),
            MADV_POPULATE_READ);
#endif
}

bool Writing::writeVectors(MutableArrayRef<iovec> vectors, uint64_t offset) {
  while (!vectors.empty()) {
    ssize_t written = retryInterrupted([&] {
      return target.isFile ? ::pwritev(target.descriptor, vectors.data(),
                                       static_cast<int>(vectors.size()),
                                       static_cast<off_t>(offset))
                           : ::writev(target.descriptor, vectors.data(),
                                      static_cast<int>(vectors.size()));
    });
    if (written < 0 && errno == EAGAIN && !target.isFile) {
      pollfd ready = {target.descriptor, POLLOUT, 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (written <= 0)
      return fail(written < 0 ? errno : EIO);
    offset += written;
    if (target.progress)
      *target.progress += written;
    size_t done = written;
    while (!vectors.empty() && vectors.front().iov_len <= done) {
      done -= vectors.front().iov_len;
      vectors = vectors.drop_front();
    }
    if (done) {
      iovec &first = vectors.front();
      first.iov_base = static_cast<char *>(first.iov_base) + done;
      first.iov_len -= done;
    }
  }
  return true;
}

bool Writing::copy(const Stretch &stretch, uint64_t offset) {
  const char *data = stretch.data;
  const MappedRanges::Range *mapping = mapped.find(data, stretch.size);
  uint64_t done = 0;
  loff_t from = mapping ? data - mapping->begin : 0;
  auto to = static_cast<loff_t>(offset);
  // If pages do not fall on pages, write() is faster.
  if (mapping && mapping->descriptor >= 0 && target.isFile &&
      (to - from) % 4096 == 0) {
    while (done < stretch.size && kernelCopies && !failed) {
      ssize_t count = retryInterrupted([&] {
        return ::copy_file_range(mapping->descriptor, &from, target.descriptor,
                                 &to, stretch.size - done, 0);
      });
      // Not between these file systems, or not this file; and nothing copied
      // means that the source got shorter, which write() will tell.
      if (count < 0 && errno != ENOSPC && errno != EFBIG && errno != EDQUOT &&
          errno != EIO)
        kernelCopies = false;
      else if (count < 0)
        return fail(errno);
      if (count <= 0)
        break;
      done += count;
      if (target.progress)
        *target.progress += count;
    }
  }
  while (done < stretch.size && !failed) {
    uint64_t size =
        std::min(writeSize - (offset + done) % writeSize, stretch.size - done);
    if (mapping)
      populate(StringRef(data + done, size));
    iovec vector = {const_cast<char *>(data + done), size};
    if (!writeVectors(vector, offset + done))
      return false;
    done += size;
  }
  return !failed;
}

bool Writing::writeTask(const Task &task, char *space) {
  if (task.stretches.size() == 1 && task.stretches[0].data)
    return copy(task.stretches[0], task.fileOffset);
  SmallVector<iovec, 64> vectors;
  for (const Stretch &stretch : task.stretches) {
    char *data = const_cast<char *>(stretch.data);
    if (stretch.producer) {
      uint64_t before = stretch.offset % LazyBytes::granularity;
      uint64_t end =
          std::min(stretch.producerSize, alignTo(stretch.offset + stretch.size,
                                                 LazyBytes::granularity));
      MutableArrayRef<char> out(space, end - (stretch.offset - before));
      stretch.producer->fill(stretch.offset - before, out);
      data = space + before;
      space += alignTo(out.size(), 64);
    } else if (stretch.size >= minPopulated &&
               mapped.find(data, stretch.size)) {
      populate(StringRef(data, stretch.size));
    }
    vectors.push_back({data, stretch.size});
  }
  return writeVectors(vectors, task.fileOffset);
}

void Writing::work() {
  struct Free {
    void operator()(char *space) const { std::free(space); }
  };
  std::unique_ptr<char, Free> space(
      static_cast<char *>(std::aligned_alloc(4096, alignTo(spaceSize, 4096))));
  if (!space) {
    fail(ENOMEM);
    return;
  }
  for (Task task; take(task);)
    if (!writeTask(task, space.get()))
      return;
}

/// How many threads are worth their while.
static unsigned countThreads(const WireWriter &contents,
                             const ContentsTarget &target) {
  if (!target.isFile)
    return 1;
  uint64_t lazyBytes = 0;
  for (const WireSegment &segment : contents.segments())
    lazyBytes += segment.producer ? segment.size : 0;
  unsigned threads = target.threads;
  if (threads == 0) {
    cpu_set_t set;
    threads = ::sched_getaffinity(0, sizeof(set), &set) == 0
                  ? CPU_COUNT(&set)
                  : ::sysconf(_SC_NPROCESSORS_ONLN);
  }
  return static_cast<unsigned>(
      std::max<uint64_t>(1, std::min<uint64_t>(threads, lazyBytes / taskSize)));
}

/// Makes the pages of long mapped segments present, ahead of the writer:
/// looking them up takes as long as half the copy, and does not wait for the
/// file.
static void *populateAhead(void *contents) {
  for (const WireSegment &segment :
       static_cast<const WireWriter *>(contents)->segments())
    if (segment.data && segment.size >= longStretch)
      for (uint64_t at = 0; at < segment.size; at += populatedAhead)
        populate(StringRef(segment.data + at,
                           std::min(populatedAhead, segment.size - at)));
  return nullptr;
}

Error amp::writeContents(const WireWriter &contents,
                         const ContentsTarget &target) {
  Writing writing(contents, target);
  auto start = [](void *shared) -> void * {
    static_cast<Writing *>(shared)->work();
    return nullptr;
  };
  // std::thread throws when there are no more threads; then fewer will do.
  SmallVector<pthread_t> threads;
  for (unsigned i = 1, count = countThreads(contents, target); i < count; ++i) {
    pthread_t thread;
    if (::pthread_create(&thread, nullptr, start, &writing) != 0)
      break;
    threads.push_back(thread);
  }
  uint64_t longBytes = 0;
  for (const WireSegment &segment : contents.segments())
    longBytes += segment.data && segment.size >= longStretch ? segment.size : 0;
  pthread_t ahead;
  if (target.isFile && longBytes >= minReadAhead &&
      ::pthread_create(&ahead, nullptr, populateAhead,
                       const_cast<WireWriter *>(&contents)) == 0)
    threads.push_back(ahead);
  writing.work();
  for (pthread_t thread : threads)
    ::pthread_join(thread, nullptr);
  return writing.takeError();
}
