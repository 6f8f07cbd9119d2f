// A program that has been verified: the only form in which the run side takes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "format/model.h"

namespace pteron::package {
class Gate;
}

namespace pteron::format {

// What `verify_program` asks of its caller: only `package` can make one, because only there a file has passed its footer and the
// caller's policy first.
class PackageKey {
  friend class package::Gate;
  PackageKey() {}
};

// A cheap handle: copies share the program and the bytes behind it, which live as long as any of them. Immutable; safe to share by threads.
//
// What success of the verification guarantees, and callers need not check again (indices are those of the same plan):
//
// File
//  - Every segment lies inside the file, behind the program region. `segments` are in file coordinates.
//  - Named data: keys are unique, not empty, and refer to existing segments.
// Plan
//  - There is at least one plan; names are unique and not empty. Names of plans, operators, delegates, named data, tensors and compile specs
//    are UTF-8 without NUL; `name.overload` of an operator has at most 99 characters and its name is not empty.
//  - `inputs` and `outputs` refer to values that are None, Tensor, int, double, bool or string (lists cannot be inputs or outputs).
//  - `non_const_buffer_sizes` has at least its reserved first entry; sizes are non-negative, and no arena is out of proportion to what is
//    planned in it (in any plan), so that an arena can be allocated as it stands.
//  - There is at least one chain, and `chains[i].instructions` may be empty.
// Value
//  - Tensor: dtype is an element type; rank <= 16; sizes are non-negative; dim_order is a permutation of 0..rank-1; dynamism is fixed or
//    bound; `nbytes` is right and below 2^63; storage offset is 0.
//  - A planned tensor lies inside its arena: 1 <= memory_id < non_const_buffer_sizes.size(), offset + nbytes <= size of that arena.
//    Nothing is said about the alignment of the offset, or about overlaps.
//  - A constant (data_buffer_idx > 0, neither planned nor external): `constant(data_buffer_idx, nbytes)` is inside its segment and its place
//    in the file is aligned to its element (at most 8 bytes). Initial state (data_buffer_idx > 0 and planned) is inside its segment, unaligned.
//  - An external tensor has a name; whether a `.ptd` has it is not known here.
//  - IntList items are in range (whether they are ints is known only when they are read); TensorList items refer to Tensors, and
//    OptionalTensorList items to Tensors or None or are -1, each at a smaller index than the list's own.
// Instruction
//  - KernelCall: op_index is in range; argument indices are in range. Their number and kinds are the kernel's business.
//  - DelegateCall: delegate_index is in range; argument indices are in range.
//  - MoveCall, FreeCall, JumpFalseCall: value indices are in range; a jump goes to 0..instruction count of its chain (the count ends it).
//    Whether a condition is a bool, or a freed value a tensor, is known only when it runs.
// Delegate
//  - The id is not empty; its data is present (`delegate_data`), inline or in an existing segment; whether a backend accepts it is not known.
//
// Not guaranteed, because values change while a method runs: the kind of a value at the time it is used.
class VerifiedProgram {
 public:
  const Program& program() const;
  // The bytes of the `.pte`: the whole file, footer and trailing bytes included (or what a bundle holds of it).
  ByteSpan file() const;
  // Of the file it came from; empty for a caller's bytes.
  const std::string& path() const;

  // The first method of that name, or null.
  const Plan* find_plan(std::string_view name) const;

  Result<ByteSpan> segment(size_t index) const;
  // The bytes stored under `key`; not_found without one.
  Result<ByteSpan> named_data(std::string_view key) const;

  // In place, for a constant tensor of this program.
  ByteSpan constant(uint32_t data_buffer_idx, size_t nbytes) const;
  // What a planned tensor of this program with data_buffer_idx > 0 starts with.
  ByteSpan initial_state(uint32_t data_buffer_idx, size_t nbytes) const;
  // For a delegate of this program.
  ByteSpan delegate_data(const Delegate& delegate) const;

 private:
  struct Impl;
  friend Result<VerifiedProgram> verify_program(FileBytes file, ByteSpan region, PackageKey key);
  explicit VerifiedProgram(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

// Verifies the `.pte` that lies in `region` of `file` (usually all of it, in a bundle a part) and keeps `file` alive.
// Reads the program region only: constants are not touched.
Result<VerifiedProgram> verify_program(FileBytes file, ByteSpan region, PackageKey key);

}  // namespace pteron::format
