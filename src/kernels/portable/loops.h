// Nested loops over the elements of several strided operands, reduced to few dimensions and long runs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "runtime/value.h"

namespace pteron::portable {

// Strides of an operand for each dimension of a loop; 0 where it is broadcast.
using Strides = std::array<int64_t, runtime::kMaxRank>;

// kOperands operands that are visited together. Dimension `rank - 1` is the innermost.
template <size_t kOperands>
struct Loops {
  size_t rank = 0;
  int64_t count = 1;  // elements visited
  std::array<int64_t, runtime::kMaxRank> sizes{};
  std::array<Strides, kOperands> strides{};

  // Adds a dimension inside those that are there; melts it into the one before where every operand allows.
  void add(int64_t size, const std::array<int64_t, kOperands>& step) {
    count *= size;
    if (size == 1) return;
    if (rank > 0) {
      bool melts = true;
      for (size_t k = 0; k < kOperands; ++k) melts = melts && strides[k][rank - 1] == step[k] * size;
      if (melts) {
        sizes[rank - 1] *= size;
        for (size_t k = 0; k < kOperands; ++k) strides[k][rank - 1] = step[k];
        return;
      }
    }
    sizes[rank] = size;
    for (size_t k = 0; k < kOperands; ++k) strides[k][rank] = step[k];
    ++rank;
  }

  int64_t inner_size() const { return rank > 0 ? sizes[rank - 1] : 1; }
  int64_t inner_stride(size_t operand) const { return rank > 0 ? strides[operand][rank - 1] : 0; }

  // Calls f(offsets, n) for runs of n elements along the innermost dimension, covering elements [begin, end) in order.
  template <class F>
  void for_each_run(int64_t begin, int64_t end, F&& f) const {
    if (begin >= end) return;
    std::array<int64_t, runtime::kMaxRank> index{};
    std::array<int64_t, kOperands> offsets{};
    int64_t rest = begin;
    for (size_t d = rank; d-- > 0;) {
      index[d] = rest % sizes[d];
      rest /= sizes[d];
      for (size_t k = 0; k < kOperands; ++k) offsets[k] += index[d] * strides[k][d];
    }
    if (rank == 0) {
      f(offsets, int64_t{1});
      return;
    }
    const size_t inner = rank - 1;
    for (int64_t at = begin; at < end;) {
      const int64_t n = std::min(sizes[inner] - index[inner], end - at);
      f(offsets, n);
      at += n;
      index[inner] += n;
      for (size_t k = 0; k < kOperands; ++k) offsets[k] += n * strides[k][inner];
      for (size_t d = inner; index[d] == sizes[d] && d > 0; --d) {
        for (size_t k = 0; k < kOperands; ++k) offsets[k] += strides[k][d - 1] - sizes[d] * strides[k][d];
        index[d] = 0;
        ++index[d - 1];
      }
    }
  }
};

// The strides of `tensor` seen as an operand of `sizes`: 0 in front of its dimensions and where it is broadcast.
inline Strides broadcast_strides(const runtime::Tensor& tensor, size_t rank) {
  Strides strides{};
  const size_t shift = rank - tensor.rank();
  for (size_t i = 0; i < tensor.rank(); ++i) strides[shift + i] = tensor.size(i) == 1 ? 0 : tensor.stride(i);
  return strides;
}

}  // namespace pteron::portable
