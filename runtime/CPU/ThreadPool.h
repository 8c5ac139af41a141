//===- ThreadPool.h - loops on several threads ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef AMP_RUNTIME_CPU_THREADPOOL_H
#define AMP_RUNTIME_CPU_THREADPOOL_H

#include <cstdint>
#include <memory>
#include <type_traits>

namespace amp::runtime {

/// A fixed number of threads, the caller's among them, which share the
/// iterations of one loop at a time. Waiting threads spin for some tens of
/// microseconds (commands follow each other closely), then sleep. Running a
/// loop allocates nothing.
class ThreadPool {
public:
  /// `size` >= 1 threads; 1 starts none. Fewer are there when the system
  /// gives no more: ask getSize().
  explicit ThreadPool(unsigned size);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  unsigned getSize() const;

  /// Calls body(begin, end, thread) for pieces that together are [0, extent),
  /// each of `grain` >= 1 iterations (the last one maybe fewer), and returns
  /// when all are done. `thread` < getSize() says on which thread, for scratch
  /// memory of its own. Which thread gets which piece is not fixed; the pieces
  /// are, so that what a piece computes doesn't depend on the pool's size.
  /// Runs on the caller alone if there is one piece. Not reentrant: a body must
  /// not call it.
  template <typename Body>
  void parallelFor(int64_t extent, int64_t grain, const Body &body) {
    static_assert(
        std::is_invocable_v<const Body &, int64_t, int64_t, unsigned>);
    run(extent, grain, &invoke<Body>, &body);
  }

private:
  using Function = void (*)(const void *body, int64_t begin, int64_t end,
                            unsigned thread);
  template <typename Body>
  static void invoke(const void *body, int64_t begin, int64_t end,
                     unsigned thread) {
    (*static_cast<const Body *>(body))(begin, end, thread);
  }
  void run(int64_t extent, int64_t grain, Function function, const void *body);

  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace amp::runtime

#endif // AMP_RUNTIME_CPU_THREADPOOL_H
