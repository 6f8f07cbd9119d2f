// Sizes, dimensions and element types: the checks and rules that the operators share.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "core/dtype.h"
#include "runtime/arguments.h"

namespace pteron::portable {

using runtime::BoolList;
using runtime::DoubleList;
using runtime::IntList;
using runtime::Kernel;
using runtime::KernelContext;
using runtime::kMaxRank;
using runtime::OptionalTensorList;
using runtime::ResultSlot;
using runtime::Scalar;
using runtime::Tensor;
using runtime::TensorList;

// Sizes under construction: up to kMaxRank of them, on the stack.
class Sizes {
 public:
  Sizes() = default;
  explicit Sizes(std::span<const int32_t> from) {
    for (int32_t n : from) push(n);
  }
  void push(int64_t n) { values_[rank_++] = static_cast<int32_t>(n); }
  size_t rank() const { return rank_; }
  int32_t& operator[](size_t i) { return values_[i]; }
  int32_t operator[](size_t i) const { return values_[i]; }
  std::span<const int32_t> span() const { return {values_.data(), rank_}; }
  void erase(size_t i) {
    for (--rank_; i < rank_; ++i) values_[i] = values_[i + 1];
  }
  void insert(size_t i, int64_t n) {
    for (size_t j = rank_++; j > i; --j) values_[j] = values_[j - 1];
    values_[i] = static_cast<int32_t>(n);
  }

 private:
  std::array<int32_t, kMaxRank + 1> values_{};
  size_t rank_ = 0;
};

std::string sizes_text(std::span<const int32_t> sizes);

// Errors of operators.
Status bad(std::string_view what, std::string_view field = "", std::string expected = "", std::string found = "");
Status bad_dtype(std::string_view field, ScalarType dtype);
Status expect(bool holds, std::string_view what);
Status expect_dtype(const Tensor& tensor, ScalarType dtype, std::string_view field);
Status expect_rank(const Tensor& tensor, size_t rank, std::string_view field);
Status expect_sizes(const Tensor& tensor, std::span<const int32_t> sizes, std::string_view field);
// For kernels that index memory directly.
Status expect_contiguous(std::initializer_list<const Tensor*> tensors);

// For kernels that read one tensor while, or after, they write another.
Status expect_apart(const Tensor& written, const Tensor& read);

// `dim` of a tensor with `rank` dimensions, counted from the end if negative. A scalar has one dimension for this purpose.
Result<size_t> wrap_dim(int64_t dim, size_t rank);
// A set of dimensions; none given means all. An error if one appears twice.
using DimMask = uint32_t;
Result<DimMask> dim_mask(const IntList* dims, size_t rank);

// The sizes that operands broadcast to.
Result<Sizes> broadcast_sizes(std::initializer_list<const Tensor*> operands);
Status resize_like(Tensor& out, const Tensor& like);

inline bool is_int(ScalarType t) {
  return t == ScalarType::Byte || t == ScalarType::Char || t == ScalarType::Short || t == ScalarType::Int || t == ScalarType::Long ||
         t == ScalarType::UInt16 || t == ScalarType::UInt32 || t == ScalarType::UInt64;
}
inline bool is_int_or_bool(ScalarType t) { return is_int(t) || t == ScalarType::Bool; }
inline bool is_complex(ScalarType t) {
  return t == ScalarType::ComplexFloat || t == ScalarType::ComplexDouble || t == ScalarType::ComplexHalf;
}
inline bool is_real(ScalarType t) { return is_int_or_bool(t) || is_float(t); }
inline bool is_reduced_float(ScalarType t) { return t == ScalarType::Half || t == ScalarType::BFloat16; }

// PyTorch's promotion of element types, without and with its rules for tensors of rank 0 and for scalars (which count less).
ScalarType promote(ScalarType a, ScalarType b);
ScalarType promote(const Tensor& a, const Tensor& b);
ScalarType promote(const Tensor& a, const Scalar& b);
// What float operators compute integers in.
inline ScalarType to_float(ScalarType t) { return is_int_or_bool(t) ? ScalarType::Float : t; }

}  // namespace pteron::portable
