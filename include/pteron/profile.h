// Where the time of a program goes, and what the machine could do at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "pteron/status.h"

namespace pteron {

/// The executions of one kind of step in one method: a delegate's step ("project"), an operator ("aten::add.out"), or a whole delegate that does
/// not tell its steps apart.
struct StepProfile {
  std::string method, kind;
  uint64_t calls = 0;
  double seconds = 0;
  uint64_t bytes = 0;       ///< of weights and caches that were read; 0 where nobody counts them
  uint64_t operations = 0;  ///< multiplications and additions; 0 where nobody counts them
};

/// The two limits of a machine.
struct MachineLimits {
  double read_bytes_per_second = 0;  ///< read from memory in sequence by all threads, over 256 MiB
  double dot_ops_per_second = 0;     ///< multiplications and additions of 8-bit integers in registers, by all threads
};

/// Measures the limits, in about half a second. `threads` as in EngineOptions. `invalid_argument` where PTERON_CPU names what the machine lacks.
Result<MachineLimits> measure_machine(size_t threads = 0);

}  // namespace pteron
