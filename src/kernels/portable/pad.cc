// Reflection and replication padding of the last one, two or three dimensions.
#include <cstring>
#include <limits>

#include "kernels/portable/families.h"
#include "kernels/portable/loops.h"
#include "kernels/portable/shape.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

int64_t source_index(int64_t at, int64_t size, bool reflect) {
  if (!reflect) return std::clamp<int64_t>(at, 0, size - 1);
  if (at < 0) return -at;
  return at < size ? at : 2 * (size - 1) - at;
}

template <size_t kDims, bool kReflect>
Status pad(KernelContext& context, const Tensor& self, IntList padding, Tensor& out) {
  PTERON_TRY(expect_dtype(out, self.dtype(), "out"));
  if (self.rank() != kDims + 1 && self.rank() != kDims + 2)
    return bad("padded tensor has the wrong rank", "self", std::to_string(kDims + 1), sizes_text(self.sizes()));
  PTERON_TRY(expect(padding.size() == 2 * kDims, "wrong number of pads"));
  const size_t lead = self.rank() - kDims;
  Sizes sizes(self.sizes());
  int64_t before[kDims];
  for (size_t d = 0; d < kDims; ++d) {
    const int64_t left = padding[2 * (kDims - 1 - d)], right = padding[2 * (kDims - 1 - d) + 1], size = self.size(lead + d);
    const int64_t limit = kReflect ? size - 1 : std::numeric_limits<int32_t>::max() / 4;
    if (left < -size || right < -size || left > limit || right > limit || size + left + right < 0 || size == 0)
      return bad("pad is out of range", "padding", "at most " + std::to_string(limit), std::to_string(std::max(left, right)));
    before[d] = left;
    sizes[lead + d] = static_cast<int32_t>(size + left + right);
  }
  PTERON_TRY(out.resize(sizes.span()));
  Loops<2> rows;  // every dimension but the last; those that are padded find their source below
  for (size_t d = 0; d < lead; ++d) rows.add(out.size(d), {out.stride(d), self.stride(d)});
  const size_t last = self.rank() - 1;
  const size_t bytes = self.element_bytes();
  int64_t inner = 1;
  for (size_t d = 0; d + 1 < kDims; ++d) inner *= out.size(lead + d);
  const auto total = static_cast<size_t>(rows.count * inner);
  context.threads().parallel_for(total, 64, [&](size_t begin, size_t end) {
    for (auto row = static_cast<int64_t>(begin); row < static_cast<int64_t>(end); ++row) {
      int64_t to = 0, from = 0, rest = row % inner;
      for (size_t d = kDims - 1; d-- > 0;) {
        const int64_t at = rest % out.size(lead + d);
        rest /= out.size(lead + d);
        to += at * out.stride(lead + d);
        from += source_index(at - before[d], self.size(lead + d), kReflect) * self.stride(lead + d);
      }
      rows.for_each_run(row / inner, row / inner + 1, [&](const auto& offsets, int64_t) { to += offsets[0], from += offsets[1]; });
      for (int64_t i = 0; i < out.size(last); ++i) {
        const int64_t source = from + source_index(i - before[kDims - 1], self.size(last), kReflect) * self.stride(last);
        std::memmove(out.data<std::byte>() + static_cast<size_t>(to + i * out.stride(last)) * bytes,
                    self.data<std::byte>() + static_cast<size_t>(source) * bytes, bytes);
      }
    }
  });
  return {};
}

constexpr Kernel kKernels[] = {
    make_kernel<&pad<1, true>>("aten::reflection_pad1d.out"),
    make_kernel<&pad<2, true>>("aten::reflection_pad2d.out"),
    make_kernel<&pad<3, true>>("aten::reflection_pad3d.out"),
    make_kernel<&pad<1, false>>("aten::replication_pad1d.out"),
    make_kernel<&pad<2, false>>("aten::replication_pad2d.out"),
    make_kernel<&pad<3, false>>("aten::replication_pad3d.out"),
};

}  // namespace

std::span<const Kernel> pad_kernels() { return kKernels; }

}  // namespace pteron::portable
