//===- ThreadPool.cpp - loops on several threads --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop is open while it has pieces. Workers enter an open loop, take pieces
// and leave; the caller closes it when no piece is left and waits until nobody
// is in it. A worker that sleeps through a loop is not waited for.
//
//===----------------------------------------------------------------------===//

#include "CPU/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace amp::runtime;

static void pauseThread() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Sleeps while `word` is `value`, or for less.
static void waitOn(std::atomic<uint32_t> &word, uint32_t value) {
  static_assert(sizeof(word) == sizeof(uint32_t));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

static void wake(std::atomic<uint32_t> &word, int64_t count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE,
          static_cast<int>(std::min<int64_t>(count, INT_MAX)), nullptr, nullptr,
          0);
}

/// Spins until `isDone`, for as long as the next command may take to come;
/// false if it gave up.
template <typename Predicate> static bool spin(const Predicate &isDone) {
  using Clock = std::chrono::steady_clock;
  constexpr auto patience = std::chrono::microseconds(40);
  Clock::time_point begin = Clock::now();
  do {
    for (int i = 0; i < 32; ++i) {
      if (isDone())
        return true;
      pauseThread();
    }
  } while (Clock::now() - begin < patience);
  return false;
}

struct ThreadPool::Implementation {
  // Of `entered`: a loop has pieces; its caller sleeps until it is empty.
  static constexpr uint32_t open = 1u << 31, callerSleeps = 1u << 30;

  struct Worker {
    Implementation *pool;
    unsigned thread;
    pthread_t handle;
  };

  /// Counts loops, so that workers see that there is a new one.
  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stopping{false};
  /// How many workers are in the loop, and the flags above.
  alignas(64) std::atomic<uint32_t> entered{0};
  /// The first piece that nobody has taken.
  alignas(64) std::atomic<int64_t> nextPiece{0};

  // The loop; read by those who entered it.
  alignas(64) Function function = nullptr;
  const void *body = nullptr;
  int64_t extent = 0, grain = 1, pieceCount = 0, batch = 1;

  std::vector<Worker> workers;

  static void *start(void *worker);
  void work(unsigned thread);
  void runPieces(unsigned thread);
};

void ThreadPool::Implementation::runPieces(unsigned thread) {
  while (true) {
    int64_t piece = nextPiece.fetch_add(batch, std::memory_order_relaxed);
    if (piece >= pieceCount)
      return;
    int64_t last = std::min(piece + batch, pieceCount);
    for (; piece < last; ++piece) {
      int64_t begin = piece * grain;
      function(body, begin, begin + std::min(grain, extent - begin), thread);
    }
  }
}

void ThreadPool::Implementation::work(unsigned thread) {
  uint32_t seen = 0;
  while (true) {
    auto isNew = [&] {
      return generation.load(std::memory_order_acquire) != seen;
    };
    if (!spin(isNew)) {
      sleepers.fetch_add(1);
      // The kernel compares again: a loop that begins here is not missed.
      while (generation.load() == seen)
        waitOn(generation, seen);
      sleepers.fetch_sub(1);
    }
    seen = generation.load(std::memory_order_acquire);
    if (stopping.load(std::memory_order_acquire))
      return;
    if (entered.fetch_add(1, std::memory_order_acq_rel) & open)
      runPieces(thread);
    if (entered.fetch_sub(1, std::memory_order_acq_rel) == (callerSleeps | 1))
      wake(entered, 1);
  }
}

void *ThreadPool::Implementation::start(void *worker) {
  auto *self = static_cast<Worker *>(worker);
  self->pool->work(self->thread);
  return nullptr;
}

ThreadPool::ThreadPool(unsigned size)
    : implementation(std::make_unique<Implementation>()) {
  std::vector<Implementation::Worker> &workers = implementation->workers;
  // Workers hold pointers to their entries.
  workers.reserve(std::max(size, 1u) - 1);
  for (unsigned thread = 1; thread < size; ++thread) {
    workers.push_back({implementation.get(), thread, {}});
    if (pthread_create(&workers.back().handle, nullptr, Implementation::start,
                       &workers.back()) != 0) {
      workers.pop_back();
      break;
    }
  }
}

ThreadPool::~ThreadPool() {
  implementation->stopping.store(true, std::memory_order_release);
  implementation->generation.fetch_add(1);
  wake(implementation->generation, INT_MAX);
  for (Implementation::Worker &worker : implementation->workers)
    pthread_join(worker.handle, nullptr);
}

unsigned ThreadPool::getSize() const {
  return static_cast<unsigned>(implementation->workers.size()) + 1;
}

void ThreadPool::run(int64_t extent, int64_t grain, Function function,
                     const void *body) {
  if (extent <= 0)
    return;
  Implementation &pool = *implementation;
  int64_t pieceCount = extent / grain + (extent % grain != 0 ? 1 : 0);
  if (pieceCount == 1 || pool.workers.empty()) {
    for (int64_t begin = 0; pieceCount > 0; --pieceCount, begin += grain)
      function(body, begin, begin + std::min(grain, extent - begin), 0);
    return;
  }

  pool.function = function;
  pool.body = body;
  pool.extent = extent;
  pool.grain = grain;
  pool.pieceCount = pieceCount;
  // Taking a piece costs some tens of nanoseconds when others do, too: several
  // at a time if there are many, few enough that threads end together.
  pool.batch = std::max<int64_t>(1, pieceCount / (int64_t{getSize()} * 16));
  pool.nextPiece.store(0, std::memory_order_relaxed);
  pool.entered.fetch_or(Implementation::open, std::memory_order_acq_rel);
  pool.generation.fetch_add(1);
  if (pool.sleepers.load() != 0)
    wake(pool.generation, pieceCount - 1);

  pool.runPieces(0);

  uint32_t inside =
      pool.entered.fetch_and(~Implementation::open, std::memory_order_acq_rel) &
      ~Implementation::open;
  if (inside == 0)
    return;
  auto isEmpty = [&] {
    return pool.entered.load(std::memory_order_acquire) == 0;
  };
  if (spin(isEmpty))
    return;
  pool.entered.fetch_or(Implementation::callerSleeps);
  while (true) {
    uint32_t now = pool.entered.load(std::memory_order_acquire);
    if (now == Implementation::callerSleeps)
      break;
    waitOn(pool.entered, now);
  }
  pool.entered.fetch_and(~Implementation::callerSleeps,
                         std::memory_order_acq_rel);
}
