#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <cstdint>
#include <vector>

#include "base/cpu.h"

namespace pteron {
namespace {

// How long a thread looks before it sleeps: tens of microseconds, about what waking it would cost. Longer would only take the core from
// whoever else needs it, which is what makes pools that spin for milliseconds slow on a busy machine.
constexpr int kSpins = 2000;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns once `word` differs from `old`.
uint32_t wait_for_change(const std::atomic<uint32_t>& word, uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    const uint32_t now = word.load(std::memory_order_acquire);
    if (now != old) return now;
    pause_briefly();
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

}  // namespace

struct ThreadPool::Impl {
  struct Worker {
    Impl* pool;
    size_t index;
    pthread_t thread;
  };

  // What runs now. Written by the caller before `generation` changes, read by workers after; the caller writes again only when all are done.
  void (*task)(void*, size_t) = nullptr;
  void* context = nullptr;
  size_t parts = 0;
  bool stopping = false;
  alignas(64) std::atomic<uint32_t> generation{0};
  alignas(64) std::atomic<uint32_t> busy{0};
  std::vector<std::unique_ptr<Worker>> workers;

  static void* work(void* argument) {
    const Worker& self = *static_cast<Worker*>(argument);
    Impl& pool = *self.pool;
    for (uint32_t seen = 0;;) {
      seen = wait_for_change(pool.generation, seen);
      if (pool.stopping) return nullptr;
      if (self.index < pool.parts) pool.task(pool.context, self.index);
      if (pool.busy.fetch_sub(1, std::memory_order_acq_rel) == 1) pool.busy.notify_one();
    }
  }

  void start(size_t count) {
    for (size_t index = 1; index < count; ++index) {
      auto worker = std::make_unique<Worker>(Worker{this, index, {}});
      if (pthread_create(&worker->thread, nullptr, work, worker.get()) != 0) return;  // fewer threads do as well
      workers.push_back(std::move(worker));
    }
  }

  void release() {
    busy.store(static_cast<uint32_t>(workers.size()), std::memory_order_relaxed);
    generation.fetch_add(1, std::memory_order_acq_rel);
    generation.notify_all();
  }

  ~Impl() {
    stopping = true;
    release();
    for (const auto& worker : workers) pthread_join(worker->thread, nullptr);
  }
};

ThreadPool::ThreadPool(size_t threads) : size_(threads == 0 ? usable_cores() : threads), impl_(std::make_unique<Impl>()) {
  impl_->start(size_);
  size_ = impl_->workers.size() + 1;
}

ThreadPool::~ThreadPool() = default;

void ThreadPool::run_erased(size_t parts, void (*task)(void*, size_t), void* context) {
  if (parts == 1) {
    task(context, 0);
    return;
  }
  impl_->task = task;
  impl_->context = context;
  impl_->parts = parts;
  impl_->release();
  task(context, 0);
  for (uint32_t left = impl_->busy.load(std::memory_order_acquire); left != 0;) left = wait_for_change(impl_->busy, left);
}

void SpinBarrier::wait() {
  const uint32_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    generation_.notify_all();
    return;
  }
  wait_for_change(generation_, generation);
}

}  // namespace pteron
