#include "tools/tensors.h"

#include <cstring>
#include <numeric>

namespace pteron::tools {
namespace {

std::vector<size_t> strides_of(const std::vector<int32_t>& sizes, std::span<const uint8_t> dim_order) {
  std::vector<size_t> strides(sizes.size(), 0);
  size_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    const size_t dim = dim_order.empty() ? i : dim_order[i];
    strides[dim] = stride;
    stride *= sizes[dim] == 0 ? 1 : static_cast<size_t>(sizes[dim]);
  }
  return strides;
}

}  // namespace

OwnedTensor with_dim_order(const TensorView& tensor, std::vector<uint8_t> dim_order) {
  OwnedTensor out;
  out.dtype = tensor.dtype;
  out.sizes.assign(tensor.sizes.begin(), tensor.sizes.end());
  out.dim_order = std::move(dim_order);
  const size_t element = element_size(tensor.dtype);
  const size_t count = std::accumulate(out.sizes.begin(), out.sizes.end(), size_t{1}, [](size_t a, int32_t b) { return a * static_cast<size_t>(b); });
  out.data.resize(count * element);
  if (count == 0) return out;
  const std::vector<size_t> from = strides_of(out.sizes, tensor.dim_order), to = strides_of(out.sizes, out.dim_order);
  if (from == to) {
    std::memcpy(out.data.data(), tensor.data, out.data.size());
    return out;
  }
  std::vector<int32_t> index(out.sizes.size(), 0);
  for (size_t i = 0; i < count; ++i) {
    size_t source = 0, target = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      source += static_cast<size_t>(index[d]) * from[d];
      target += static_cast<size_t>(index[d]) * to[d];
    }
    std::memcpy(out.data.data() + target * element, static_cast<const std::byte*>(tensor.data) + source * element, element);
    for (size_t d = index.size(); d-- > 0;) {
      if (++index[d] < out.sizes[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace pteron::tools
