#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <vector>

namespace pteron {
namespace {

TEST(ThreadPool, EveryIndexOnce) {
  for (size_t threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    for (size_t n : {0, 1, 5, 64, 1001}) {
      std::vector<int> seen(n, 0);
      pool.parallel_for(n, 16, [&](size_t begin, size_t end) {
        EXPECT_EQ(begin % 16, 0u);
        for (size_t i = begin; i < end; ++i) ++seen[i];
      });
      EXPECT_EQ(seen, std::vector<int>(n, 1));
    }
  }
}

TEST(ThreadPool, PartsMeetAtABarrier) {
  ThreadPool pool(2);
  SpinBarrier barrier(pool.size());
  std::vector<int> step(pool.size(), 0);
  std::atomic<int> mismatches{0};
  pool.run(pool.size(), [&](size_t me) {
    for (int round = 1; round <= 1000; ++round) {
      step[me] = round;
      barrier.wait();
      for (int other : step) mismatches += other != round;
      barrier.wait();
    }
  });
  EXPECT_EQ(mismatches, 0);
}

}  // namespace
}  // namespace pteron
