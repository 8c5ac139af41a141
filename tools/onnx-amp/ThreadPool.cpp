//===- ThreadPool.cpp - threads for MLIR ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadPool.h"

#include "Threads.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Threading.h"

#include <condition_variable>
#include <list>
#include <mutex>

using namespace amp;
using llvm::ThreadPoolTaskGroup;

namespace {
class ThreadPool final : public llvm::ThreadPoolInterface {
public:
  void wait() override;
  void wait(ThreadPoolTaskGroup &group) override;
  unsigned getMaxConcurrency() const override { return concurrency; }

private:
  using Lock = std::unique_lock<std::mutex>;
  struct Task {
    llvm::unique_function<void()> work;
    ThreadPoolTaskGroup *group; // may be null
  };
  using Tasks = std::list<Task>;

  void asyncEnqueue(llvm::unique_function<void()> work,
                    ThreadPoolTaskGroup *group) override;
  void run(Tasks::iterator task, Lock &lock);
  static void *serve(void *self);

  /// One of these is a thread that waits.
  const unsigned concurrency =
      llvm::hardware_concurrency().compute_thread_count();
  std::mutex mutex;
  std::condition_variable added, finished;
  Tasks queue;
  /// Tasks that were added and have not finished.
  uint64_t numTasks = 0;
  llvm::DenseMap<ThreadPoolTaskGroup *, uint64_t> numTasksOf;
  unsigned threads = 0, idle = 0;
};
} // namespace

void ThreadPool::asyncEnqueue(llvm::unique_function<void()> work,
                              ThreadPoolTaskGroup *group) {
  Lock lock(mutex);
  queue.push_back({std::move(work), group});
  ++numTasks;
  ++numTasksOf[group];
  if (idle < queue.size() && threads + 1 < concurrency) {
    pthread_t thread;
    if (startThread(thread, serve, this)) {
      pthread_detach(thread);
      ++threads;
    }
  }
  added.notify_one();
}

/// Runs a task of the queue, without the lock.
void ThreadPool::run(Tasks::iterator task, Lock &lock) {
  Tasks taken;
  taken.splice(taken.end(), queue, task);
  ThreadPoolTaskGroup *group = taken.front().group;
  lock.unlock();
  taken.front().work();
  taken.clear();
  lock.lock();
  --numTasks;
  auto count = numTasksOf.find(group);
  if (--count->second == 0)
    numTasksOf.erase(count);
  finished.notify_all();
}

void *ThreadPool::serve(void *self) {
  auto *pool = static_cast<ThreadPool *>(self);
  Lock lock(pool->mutex);
  for (;;) {
    ++pool->idle;
    pool->added.wait(lock, [&] { return !pool->queue.empty(); });
    --pool->idle;
    pool->run(pool->queue.begin(), lock);
  }
}

void ThreadPool::wait(ThreadPoolTaskGroup &group) {
  Lock lock(mutex);
  while (numTasksOf.contains(&group)) {
    auto own = llvm::find_if(
        queue, [&](const Task &task) { return task.group == &group; });
    if (own != queue.end())
      run(own, lock);
    else
      finished.wait(lock);
  }
}

void ThreadPool::wait() {
  Lock lock(mutex);
  while (numTasks != 0) {
    if (!queue.empty())
      run(queue.begin(), lock);
    else
      finished.wait(lock);
  }
}

llvm::ThreadPoolInterface &amp::getThreadPool() {
  static auto *pool = new ThreadPool;
  return *pool;
}
