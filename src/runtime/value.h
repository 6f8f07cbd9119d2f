// What a program's value table holds while a method runs: numbers, strings, tensors and lists of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "pteron/tensor.h"

namespace pteron::runtime {

inline constexpr size_t kMaxRank = 16;

// A dense tensor: element type, sizes and layout, and a pointer to memory that the method or its caller owns.
// Elements lie in the order of `dim_order` (outermost first) without gaps.
class Tensor {
 public:
  Tensor() = default;
  // `sizes` and `dim_order` have one rank <= kMaxRank, `dim_order` is a permutation and the element count does not overflow.
  // Where `dynamic`, `sizes` are the upper bound and the tensor may be resized up to their element count.
  Tensor(ScalarType dtype, std::span<const int32_t> sizes, std::span<const uint8_t> dim_order, bool dynamic);

  ScalarType dtype() const { return dtype_; }
  size_t rank() const { return rank_; }
  std::span<const int32_t> sizes() const { return {sizes_.data(), rank_}; }
  std::span<const uint8_t> dim_order() const { return {dim_order_.data(), rank_}; }
  std::span<const int64_t> strides() const { return {strides_.data(), rank_}; }  // in elements
  int32_t size(size_t dim) const { return sizes_[dim]; }
  int64_t stride(size_t dim) const { return strides_[dim]; }
  bool dynamic() const { return dynamic_; }
  size_t numel() const { return numel_; }
  size_t capacity() const { return capacity_; }  // elements there is room for
  size_t element_bytes() const { return element_bytes_; }
  size_t nbytes() const { return numel_ * element_bytes_; }
  // Whether elements lie in row-major order (dimensions of size 1 do not matter).
  bool contiguous() const { return contiguous_; }

  void* data() { return data_; }
  const void* data() const { return data_; }
  template <class T>
  T* data() { return static_cast<T*>(data_); }
  template <class T>
  const T* data() const { return static_cast<const T*>(data_); }
  void set_data(void* data, bool writable = true) {
    data_ = data;
    writable_ = writable;
  }
  // Whether elements may be changed: constants lie in the file's pages, which are read-only.
  bool writable() const { return writable_; }

  // Takes new sizes: the same rank, equal sizes where the tensor is not dynamic, no more elements than at load. Memory is not touched.
  Status resize(std::span<const int32_t> sizes);

  TensorView view() const { return {dtype_, sizes(), dim_order(), data_, nbytes()}; }

 private:
  void update_layout();

  ScalarType dtype_ = ScalarType::Float;
  uint8_t rank_ = 0;
  uint8_t element_bytes_ = 0;
  bool dynamic_ = false;
  bool contiguous_ = true;
  bool writable_ = true;
  std::array<uint8_t, kMaxRank> dim_order_{};
  std::array<int32_t, kMaxRank> sizes_{};
  std::array<int64_t, kMaxRank> strides_{};
  size_t numel_ = 0, capacity_ = 0;
  void* data_ = nullptr;
};

class Value;

// A list whose elements are other values of the same table; they are read anew at each use, since instructions may replace them.
struct BoxedList {
  const Value* table = nullptr;
  std::span<const int32_t> items;  // indices into `table`; -1 stands for None in optional lists
};

// One entry of a value table. Copying a tensor value copies a handle: both then denote the same tensor.
class Value {
 public:
  enum class Kind : uint8_t {
    none,
    tensor,
    string,
    number_double,
    number_int,
    boolean,
    bool_list,
    double_list,
    int_list,
    tensor_list,
    optional_tensor_list
  };

  Value() = default;
  explicit Value(Tensor* tensor) : kind_(Kind::tensor) { data_.tensor = tensor; }
  explicit Value(int64_t value) : kind_(Kind::number_int) { data_.integer = value; }
  explicit Value(double value) : kind_(Kind::number_double) { data_.number = value; }
  explicit Value(bool value) : kind_(Kind::boolean) { data_.boolean = value; }
  explicit Value(const std::string_view* text) : kind_(Kind::string) { data_.string = text; }  // the text lives as long as the value
  Value(Kind kind, const BoxedList* list) : kind_(kind) { data_.boxed = list; }
  explicit Value(const std::span<const double>* list) : kind_(Kind::double_list) { data_.doubles = list; }
  explicit Value(const std::span<const uint8_t>* list) : kind_(Kind::bool_list) { data_.bools = list; }

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  // Each only for a value of that kind.
  Tensor& tensor() const { return *data_.tensor; }
  int64_t integer() const { return data_.integer; }
  double number() const { return data_.number; }
  bool boolean() const { return data_.boolean; }
  std::string_view string() const { return *data_.string; }
  const BoxedList& boxed() const { return *data_.boxed; }
  std::span<const double> doubles() const { return *data_.doubles; }
  std::span<const uint8_t> bools() const { return *data_.bools; }

 private:
  Kind kind_ = Kind::none;
  union {
    int64_t integer = 0;
    double number;
    bool boolean;
    Tensor* tensor;
    const std::string_view* string;
    const BoxedList* boxed;
    const std::span<const double>* doubles;
    const std::span<const uint8_t>* bools;
  } data_;
};

std::string_view kind_name(Value::Kind kind);

}  // namespace pteron::runtime
