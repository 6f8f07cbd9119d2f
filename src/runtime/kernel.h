// The kernel interface: what an operator's implementation is given, and the tables in which a build lists what it contains.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "runtime/value.h"

namespace pteron::runtime {

// What a kernel may use while it runs. Kernels allocate nothing: scratch is reserved when the method is loaded.
class KernelContext {
 public:
  KernelContext(ThreadPool& threads, MutableByteSpan scratch) : threads_(&threads), scratch_(scratch) {}

  ThreadPool& threads() { return *threads_; }
  // The first `bytes` of this method's scratch memory, 64-byte aligned, undefined contents, valid until the kernel returns.
  // An error where the kernel's ScratchFn promised less.
  Result<void*> scratch(size_t bytes);

 private:
  ThreadPool* threads_;
  MutableByteSpan scratch_;
};

// The arguments of one call in the order of the operator's schema; the last entry is the slot of the return value.
// Kernels check kinds, dtypes, sizes and indices and return an error for what they cannot do.
using KernelFn = Status (*)(KernelContext& context, std::span<Value* const> args);
// Bytes of scratch that a call with these arguments needs at most; tensors have their largest sizes. Asked once, at load.
using ScratchFn = Result<size_t> (*)(std::span<Value* const> args, size_t threads);

struct Kernel {
  std::string_view name;  // "aten::add.out"
  KernelFn run = nullptr;
  uint8_t min_args = 0, max_args = 0;  // entries of a call, return slot included
  ScratchFn scratch = nullptr;
};

// Lists of kernels, searched in order. The lists live as long as the table.
struct KernelTable {
  std::span<const std::span<const Kernel>> families;
  const Kernel* find(std::string_view name) const;
};

// The operators on numbers and handles that every program may use (`executorch_prim::*`, `aten::sym_size.int`, ...).
std::span<const Kernel> prim_kernels();

}  // namespace pteron::runtime
