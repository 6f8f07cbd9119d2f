#include "kernels/cpu/probe.h"

#include <algorithm>
#include <chrono>
#include <memory>

namespace pteron::kernels::cpu {
namespace {

constexpr size_t kBytes = size_t{256} << 20;  // beyond any cache
constexpr size_t kRounds = 1 << 21;
constexpr int kRepeats = 5;

// The seconds of the fastest of a few runs of f(thread) on all threads at once.
template <class F>
double fastest(ThreadPool& threads, F&& f) {
  double best = 1e30;
  for (int i = 0; i < kRepeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    threads.run(threads.size(), f);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

}  // namespace

MachineLimits measure_limits(const KernelTable& table, ThreadPool& threads) {
  MachineLimits out;
  const size_t count = threads.size(), part = kBytes / count / 128 * 128;
  const auto memory = std::make_unique<std::byte[]>(kBytes);
  const auto results = std::make_unique<uint64_t[]>(count * 8);  // a cache line each
  const double reading = fastest(threads, [&](size_t thread) { table.read_bytes(memory.get() + thread * part, part, &results[thread * 8]); });
  out.read_bytes = static_cast<double>(part * count) / reading;
  const double multiplying = fastest(threads, [&](size_t thread) { table.dot_bytes(kRounds, &results[thread * 8]); });
  out.dot_ops = 2.0 * static_cast<double>(results[0] * count) / multiplying;
  return out;
}

}  // namespace pteron::kernels::cpu
