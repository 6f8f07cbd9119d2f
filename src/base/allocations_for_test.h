// Counts what the C++ code of a test program allocates. Replaces operator new: to be included by one source of a program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace pteron::testing {

inline std::atomic<size_t> allocations{0};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kCountsAllocations = false;  // sanitizers have an operator new of their own
}  // namespace pteron::testing
#else
inline constexpr bool kCountsAllocations = true;
}  // namespace pteron::testing

// Kept out of line: the compiler would pair the malloc and free inside with new and delete.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++pteron::testing::allocations;
  if (void* memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
  std::abort();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#endif
