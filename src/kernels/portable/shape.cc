#include "kernels/portable/shape.h"

#include <algorithm>

namespace pteron::portable {

std::string sizes_text(std::span<const int32_t> sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) text += (i != 0 ? "," : "") + std::to_string(sizes[i]);
  return text + "]";
}

Status bad(std::string_view what, std::string_view field, std::string expected, std::string found) {
  return Status::error(Code::invalid_argument, what, {"", std::string(field), std::move(expected), std::move(found)});
}

Status bad_dtype(std::string_view field, ScalarType dtype) {
  return Status::error(Code::unsupported, "operator does not take this dtype", {"", std::string(field), "", std::string(dtype_name(dtype))});
}

Status expect(bool holds, std::string_view what) { return holds ? Status() : bad(what); }

Status expect_dtype(const Tensor& tensor, ScalarType dtype, std::string_view field) {
  if (tensor.dtype() == dtype) return {};
  return bad("tensor has the wrong dtype", field, std::string(dtype_name(dtype)), std::string(dtype_name(tensor.dtype())));
}

Status expect_rank(const Tensor& tensor, size_t rank, std::string_view field) {
  if (tensor.rank() == rank) return {};
  return bad("tensor has the wrong rank", field, std::to_string(rank), sizes_text(tensor.sizes()));
}

Status expect_sizes(const Tensor& tensor, std::span<const int32_t> sizes, std::string_view field) {
  if (std::ranges::equal(tensor.sizes(), sizes)) return {};
  return bad("tensor has the wrong sizes", field, sizes_text(sizes), sizes_text(tensor.sizes()));
}

Status expect_contiguous(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* tensor : tensors) {
    if (tensor != nullptr && !tensor->contiguous()) return Status::error(Code::unsupported, "operator needs contiguous tensors");
  }
  return {};
}

Status expect_apart(const Tensor& written, const Tensor& read) {
  const auto *a = written.data<std::byte>(), *b = read.data<std::byte>();
  return expect(a + written.nbytes() <= b || b + read.nbytes() <= a || written.nbytes() == 0 || read.nbytes() == 0, "tensors overlap");
}

Result<size_t> wrap_dim(int64_t dim, size_t rank) {
  const auto limit = static_cast<int64_t>(std::max<size_t>(rank, 1));
  if (dim < -limit || dim >= limit) return bad("no such dimension", "dim", "below " + std::to_string(limit), std::to_string(dim));
  return static_cast<size_t>(dim < 0 ? dim + limit : dim);
}

Result<DimMask> dim_mask(const IntList* dims, size_t rank) {
  const DimMask all = (DimMask{1} << rank) - 1;
  if (dims == nullptr || dims->empty()) return all;
  DimMask mask = 0;
  for (size_t i = 0; i < dims->size(); ++i) {
    PTERON_ASSIGN(const size_t dim, wrap_dim((*dims)[i], rank));
    if ((mask >> dim & 1) != 0) return bad("dimension is given twice", "dim", "", std::to_string(dim));
    mask |= DimMask{1} << dim;
  }
  return mask & all;
}

Result<Sizes> broadcast_sizes(std::initializer_list<const Tensor*> operands) {
  size_t rank = 0;
  for (const Tensor* operand : operands) rank = std::max(rank, operand->rank());
  Sizes sizes;
  for (size_t i = 0; i < rank; ++i) sizes.push(1);
  for (const Tensor* operand : operands) {
    for (size_t i = 0; i < operand->rank(); ++i) {
      int32_t& size = sizes[rank - operand->rank() + i];
      const int32_t given = operand->size(i);
      if (given != size && given != 1 && size != 1)
        return bad("sizes do not broadcast", "", sizes_text(sizes.span()), sizes_text(operand->sizes()));
      if (given != 1) size = given;
    }
  }
  return sizes;
}

Status resize_like(Tensor& out, const Tensor& like) { return out.resize(like.sizes()); }

namespace {

// The order in which types win, within the kinds bool < integers < floats < complex.
int strength(ScalarType t) {
  switch (t) {
    case ScalarType::Bool: return 0;
    case ScalarType::Byte: return 1;
    case ScalarType::Char: return 2;
    case ScalarType::Short: return 3;
    case ScalarType::UInt16: return 4;
    case ScalarType::Int: return 5;
    case ScalarType::UInt32: return 6;
    case ScalarType::Long: return 7;
    case ScalarType::UInt64: return 8;
    case ScalarType::Half: return 10;
    case ScalarType::BFloat16: return 11;
    case ScalarType::Float: return 12;
    case ScalarType::Double: return 13;
    case ScalarType::ComplexHalf: return 20;
    case ScalarType::ComplexFloat: return 21;
    case ScalarType::ComplexDouble: return 22;
    default: return -1;
  }
}

int kind(ScalarType t) {
  const int s = strength(t);
  return s >= 20 ? 3 : s >= 10 ? 2 : s >= 1 ? 1 : 0;
}

}  // namespace

ScalarType promote(ScalarType a, ScalarType b) {
  if (a == b) return a;
  if (strength(a) > strength(b)) std::swap(a, b);
  if (a == ScalarType::Half && b == ScalarType::BFloat16) return ScalarType::Float;
  if (a == ScalarType::Byte && b == ScalarType::Char) return ScalarType::Short;
  if (b == ScalarType::ComplexFloat && a == ScalarType::Double) return ScalarType::ComplexDouble;
  if (b == ScalarType::ComplexHalf && (a == ScalarType::Float || a == ScalarType::BFloat16)) return ScalarType::ComplexFloat;
  return b;
}

ScalarType promote(const Tensor& a, const Tensor& b) {
  const bool a_counts_less = a.rank() == 0 && b.rank() != 0, b_counts_less = b.rank() == 0 && a.rank() != 0;
  if (a_counts_less && kind(b.dtype()) >= kind(a.dtype())) return b.dtype();
  if (b_counts_less && kind(a.dtype()) >= kind(b.dtype())) return a.dtype();
  return promote(a.dtype(), b.dtype());
}

ScalarType promote(const Tensor& a, const Scalar& b) {
  const int scalar_kind = b.is_number() ? 2 : b.is_bool() ? 0 : 1;
  if (kind(a.dtype()) >= scalar_kind) return a.dtype();
  return b.is_number() ? ScalarType::Float : ScalarType::Long;
}

}  // namespace pteron::portable
