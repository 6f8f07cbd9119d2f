#include "base/thread_pool.h"

#include <pthreadpool.h>
#include <sched.h>

#include "base/cpu.h"

namespace pteron {

struct ThreadPool::Impl {
  pthreadpool_t pool = nullptr;
  ~Impl() { pthreadpool_destroy(pool); }
};

ThreadPool::ThreadPool(size_t threads) : size_(threads == 0 ? usable_cores() : threads), impl_(std::make_unique<Impl>()) {
  if (size_ > 1) impl_->pool = pthreadpool_create(size_);
  if (impl_->pool == nullptr) size_ = 1;
}

ThreadPool::~ThreadPool() = default;

void ThreadPool::run_erased(size_t parts, void (*task)(void*, size_t), void* context) {
  if (parts == 1) {
    task(context, 0);
    return;
  }
  pthreadpool_parallelize_1d(impl_->pool, task, context, parts, 0);
}

void SpinBarrier::wait() {
  const size_t generation = generation_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parties_) {
    arrived_.store(0, std::memory_order_relaxed);
    generation_.store(generation + 1, std::memory_order_release);
    return;
  }
  for (unsigned spins = 0; generation_.load(std::memory_order_acquire) == generation; ++spins) {
    if (spins > 20000) sched_yield();
#if defined(__x86_64__)
    else __builtin_ia32_pause();
#endif
  }
}

}  // namespace pteron
