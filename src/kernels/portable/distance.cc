// Distances between the rows of two matrices, or of one.
#include <cmath>

#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/shape.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

// The p-norm of the difference of two rows of n elements.
double distance(const Tensor& a, int64_t a_at, int64_t a_step, const Tensor& b, int64_t b_at, int64_t b_step, int64_t n, double p) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double d =
        std::abs(load_one<double>(a.dtype(), a.data(), a_at + i * a_step) - load_one<double>(b.dtype(), b.data(), b_at + i * b_step));
    if (p == 0) sum += d != 0 ? 1 : 0;
    else if (std::isinf(p)) sum = d > sum || d != d ? d : sum;
    else if (p == 1) sum += d;
    else if (p == 2) sum += d * d;
    else sum += std::pow(d, p);
  }
  if (p == 0 || p == 1 || std::isinf(p)) return sum;
  return p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / p);
}

Status check(const Tensor& x, double p, const Tensor& out) {
  if (!is_float(x.dtype())) return bad_dtype("self", x.dtype());
  PTERON_TRY(expect_dtype(out, x.dtype(), "out"));
  return p >= 0 ? Status() : bad("norm is negative", "p", "at least 0", std::to_string(p));
}

Status cdist(KernelContext& context, const Tensor& x1, const Tensor& x2, double p, std::optional<int64_t>, Tensor& out) {
  PTERON_TRY(check(x1, p, out));
  PTERON_TRY(expect_dtype(x2, x1.dtype(), "x2"));
  if (x1.rank() < 2 || x2.rank() < 2) return bad("cdist needs matrices");
  const size_t r1 = x1.rank(), r2 = x2.rank(), rank = std::max(r1, r2), batch = rank - 2;
  const int64_t rows1 = x1.size(r1 - 2), rows2 = x2.size(r2 - 2), n = x1.size(r1 - 1);
  PTERON_TRY(expect(x2.size(r2 - 1) == n, "rows of cdist have different lengths"));
  Sizes sizes;
  const Strides s1 = broadcast_strides(x1, rank), s2 = broadcast_strides(x2, rank);
  for (size_t d = 0; d < batch; ++d) {
    const int32_t a = d + r1 >= rank ? x1.size(d + r1 - rank) : 1, b = d + r2 >= rank ? x2.size(d + r2 - rank) : 1;
    if (a != b && a != 1 && b != 1) return bad("batches of cdist do not broadcast");
    sizes.push(a == 1 ? b : a);
  }
  sizes.push(rows1);
  sizes.push(rows2);
  PTERON_TRY(out.resize(sizes.span()));
  Loops<3> loops;
  for (size_t d = 0; d < batch; ++d) loops.add(out.size(d), {out.stride(d), s1[d], s2[d]});
  loops.add(rows1, {out.stride(batch), x1.stride(r1 - 2), 0});
  loops.add(rows2, {out.stride(batch + 1), 0, x2.stride(r2 - 2)});
  const size_t grain = static_cast<size_t>(loops.count * std::max<int64_t>(n, 1) < 4096 ? std::max<int64_t>(loops.count, 1) : 16);
  context.threads().parallel_for(static_cast<size_t>(loops.count), grain, [&](size_t begin, size_t end) {
    loops.for_each_run(static_cast<int64_t>(begin), static_cast<int64_t>(end), [&](const auto& o, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const double d = distance(x1, o[1] + i * loops.inner_stride(1), x1.stride(r1 - 1), x2, o[2] + i * loops.inner_stride(2),
                                  x2.stride(r2 - 1), n, p);
        store_one(out.dtype(), d, out.data(), o[0] + i * loops.inner_stride(0));
      }
    });
  });
  return {};
}

// Distances of all pairs of rows, (0,1), (0,2), ..., (1,2), ...
Status pdist(KernelContext&, const Tensor& self, double p, Tensor& out) {
  PTERON_TRY(check(self, p, out));
  PTERON_TRY(expect_rank(self, 2, "self"));
  const int64_t rows = self.size(0), pairs = rows * (rows - 1) / 2;
  if (pairs > INT32_MAX) return bad("too many pairs");
  const int32_t sizes[] = {static_cast<int32_t>(std::max<int64_t>(pairs, 0))};
  PTERON_TRY(out.resize(sizes));
  int64_t at = 0;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i + 1; j < rows; ++j) {
      store_one(out.dtype(), distance(self, i * self.stride(0), self.stride(1), self, j * self.stride(0), self.stride(1), self.size(1), p),
                out.data(), at++);
    }
  }
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&cdist>("aten::_cdist_forward.out"),
    make_kernel<&pdist>("aten::_pdist_forward.out"),
};

}  // namespace

std::span<const Kernel> distance_kernels() { return kKernels; }

}  // namespace pteron::portable
