#include "ir/types.h"

#include <algorithm>

#include "base/checked.h"

namespace pteron::ir {

Type::Type(ScalarType dtype_in, const std::vector<int64_t>& sizes) : dtype(dtype_in) {
  dims.reserve(sizes.size());
  for (int64_t size : sizes) dims.push_back({size, {}});
}

std::vector<int64_t> Type::sizes() const {
  std::vector<int64_t> out;
  out.reserve(dims.size());
  for (const Dim& dim : dims) out.push_back(dim.size);
  return out;
}

bool Type::is_static() const {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& dim) { return dim.is_static(); });
}

std::optional<uint64_t> Type::numel() const {
  uint64_t product = 1;
  for (const Dim& dim : dims) {
    if (dim.size < 0) return std::nullopt;
    const auto next = checked_mul<uint64_t>(product, static_cast<uint64_t>(dim.size));
    if (!next) return std::nullopt;
    product = *next;
  }
  return product;
}

std::optional<uint64_t> Type::nbytes() const {
  const auto count = numel();
  return count ? checked_mul<uint64_t>(*count, element_size(dtype)) : std::nullopt;
}

std::string to_string(const Type& type) {
  std::string out(dtype_name(type.dtype));
  out += '[';
  for (size_t i = 0; i < type.dims.size(); ++i) {
    if (i > 0) out += ',';
    if (!type.dims[i].is_static()) out += type.dims[i].symbol + "<=";
    out += std::to_string(type.dims[i].size);
  }
  return out + ']';
}

}  // namespace pteron::ir
