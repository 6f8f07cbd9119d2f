// What the machine can do at most, measured: the two limits that the kernels are held against.
#pragma once

#include "base/thread_pool.h"
#include "kernels/cpu/kernels.h"

namespace pteron::kernels::cpu {

struct MachineLimits {
  double read_bytes = 0;  // a second, read from memory in sequence by all threads
  double dot_ops = 0;     // a second, multiplications and additions of bytes in registers by all threads
};

// Takes about half a second and, for its while, 256 MiB.
MachineLimits measure_limits(const KernelTable& table, ThreadPool& threads);

}  // namespace pteron::kernels::cpu
