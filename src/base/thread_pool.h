// A fixed set of threads for kernels, which wait by looking for a moment and then sleeping; with one thread everything is a plain loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace pteron {

class ThreadPool {
 public:
  // `threads` = 0 means `usable_cores()`.
  explicit ThreadPool(size_t threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  size_t size() const { return size_; }

  // Calls `f(begin, end)` over [0, n) in at most `size()` even parts whose borders are multiples of `grain`; returns when all are done.
  // One caller at a time: a pool belongs to the object that drives it.
  template <class F>
  void parallel_for(size_t n, size_t grain, F&& f) {
    const size_t blocks = (n + grain - 1) / grain;
    const size_t parts = blocks < size_ ? blocks : size_;
    if (parts <= 1) {
      if (n > 0) f(size_t{0}, n);
      return;
    }
    run(parts, [&](size_t part) {
      const size_t begin = blocks * part / parts * grain, end = blocks * (part + 1) / parts * grain;
      f(begin, end < n ? end : n);
    });
  }

  // Calls `f(index)` for every index below `parts`, where 1 <= parts <= size(), at the same time: the calls may meet at a SpinBarrier.
  template <class F>
  void run(size_t parts, F&& f) {
    run_erased(parts, [](void* context, size_t index) { (*static_cast<std::remove_reference_t<F>*>(context))(index); }, &f);
  }

 private:
  void run_erased(size_t parts, void (*task)(void*, size_t), void* context);
  size_t size_;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Where the threads of one `ThreadPool::run` meet: spins for a moment, since the work between two meetings is microseconds, then sleeps.
class SpinBarrier {
 public:
  explicit SpinBarrier(size_t parties) : parties_(parties) {}
  void wait();

 private:
  const size_t parties_;
  alignas(64) std::atomic<size_t> arrived_{0};
  alignas(64) std::atomic<uint32_t> generation_{0};
};

}  // namespace pteron
