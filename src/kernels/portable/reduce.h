// Reductions over any set of dimensions: elements are converted in short runs and fed to an accumulator.
#pragma once

#include <algorithm>
#include <optional>

#include "kernels/portable/convert.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/shape.h"

namespace pteron::portable {

// Where the elements of one result lie, and where results lie.
struct Reduction {
  Loops<2> results;   // operand 0: the out tensor, operand 1: the first element of each result
  Loops<1> elements;  // the elements of one result, in row-major order

  // The sizes that remain of `self` without the dimensions of `mask`, or with 1 in their place.
  static Sizes sizes(const Tensor& self, DimMask mask, bool keepdim);
  // `out` has those sizes.
  Reduction(const Tensor& self, DimMask mask, bool keepdim, const Tensor& out);
};

// Calls feed(const T* run, int64_t n) for the elements that start at `offset` of `self`.
template <class T, class F>
void for_each_element_run(const Tensor& self, const Reduction& reduction, int64_t offset, F&& feed) {
  constexpr int64_t kRun = 512;
  alignas(64) T buffer[kRun];
  const int64_t step = reduction.elements.inner_stride(0);
  const bool in_place = self.dtype() == kStorageOf<T> && step == 1;
  reduction.elements.for_each_run(0, reduction.elements.count, [&](const auto& offsets, int64_t n) {
    const int64_t from = offset + offsets[0];
    if (in_place) {
      feed(self.data<T>() + from, n);
      return;
    }
    for (int64_t at = 0; at < n; at += kRun) {
      const int64_t count = std::min(kRun, n - at);
      load_run<T>(self.dtype(), self.data(), from + at * step, step, count, buffer);
      feed(static_cast<const T*>(buffer), count);
    }
  });
}

// Calls f(out offset, first element's offset) for each result, on several threads where there is much to do.
template <class F>
void for_each_result(KernelContext& context, const Reduction& reduction, F&& f) {
  const int64_t work = reduction.results.count * std::max<int64_t>(reduction.elements.count, 1);
  const size_t grain = work < 16384 ? static_cast<size_t>(std::max<int64_t>(reduction.results.count, 1)) : 1;
  context.threads().parallel_for(static_cast<size_t>(reduction.results.count), grain, [&](size_t begin, size_t end) {
    reduction.results.for_each_run(static_cast<int64_t>(begin), static_cast<int64_t>(end), [&](const auto& offsets, int64_t n) {
      const int64_t out_step = reduction.results.inner_stride(0), in_step = reduction.results.inner_stride(1);
      for (int64_t i = 0; i < n; ++i) f(offsets[0] + i * out_step, offsets[1] + i * in_step);
    });
  });
}

// Sums in several lanes of double precision, so that long sums stay exact and fast.
struct Sum {
  static constexpr int64_t kLanes = 8;
  double lanes[kLanes] = {};
  template <class T>
  void feed(const T* run, int64_t n) {
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] += static_cast<double>(run[i + l]);
    }
    for (; i < n; ++i) lanes[0] += static_cast<double>(run[i]);
  }
  double total() const {
    double sum = 0;
    for (double lane : lanes) sum += lane;
    return sum;
  }
};

}  // namespace pteron::portable
