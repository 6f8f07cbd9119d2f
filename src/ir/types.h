// Types of values: an element type and dimensions, each a number or a symbol with an upper bound.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "pteron/tensor.h"

namespace pteron::ir {

// A dimension. `size` is its value, or its upper bound where `symbol` names a size that is known only at run time.
struct Dim {
  int64_t size = 0;
  std::string symbol;
  bool is_static() const { return symbol.empty(); }
  bool operator==(const Dim&) const = default;
};

struct Type {
  ScalarType dtype = ScalarType::Float;
  std::vector<Dim> dims;

  Type() = default;
  Type(ScalarType dtype_in, const std::vector<int64_t>& sizes);
  Type(ScalarType dtype_in, std::initializer_list<int64_t> sizes) : Type(dtype_in, std::vector<int64_t>(sizes)) {}

  size_t rank() const { return dims.size(); }
  // Size of dimension `dim`, counted from the end where negative. The dimension must exist.
  int64_t size(int64_t dim) const { return dims[static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(dims.size()) : dim)].size; }
  std::vector<int64_t> sizes() const;
  bool is_static() const;
  // Elements and bytes at the upper bounds; nothing on overflow.
  std::optional<uint64_t> numel() const;
  std::optional<uint64_t> nbytes() const;
  bool operator==(const Type&) const = default;
};

// "float32[1,128,s0<=576]"
std::string to_string(const Type& type);

}  // namespace pteron::ir
