// Calls one kernel of this folder by its operator name, with arguments built in a test.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "runtime/kernel.h"

namespace pteron::portable::testing {

using runtime::BoxedList;
using runtime::Kernel;
using runtime::KernelContext;
using runtime::KernelTable;
using runtime::Tensor;
using runtime::Value;

// Elements in row-major order of logical indices; `order` is the dim order in memory (empty: row-major).
struct Array {
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;
  std::vector<double> values;
  std::vector<uint8_t> order = {};
};

inline Array floats(std::vector<int32_t> sizes, std::vector<double> values) {
  return {ScalarType::Float, std::move(sizes), std::move(values)};
}
inline Array longs(std::vector<int32_t> sizes, std::vector<double> values) { return {ScalarType::Long, std::move(sizes), std::move(values)}; }
inline Array bools(std::vector<int32_t> sizes, std::vector<double> values) { return {ScalarType::Bool, std::move(sizes), std::move(values)}; }

class Call {
 public:
  explicit Call(std::string_view name) : kernel_(KernelTable{all_kernels()}.find(name)) {
    EXPECT_NE(kernel_, nullptr) << name;
    values_.reserve(256);
  }

  Call& in(const Array& array) { return add(Value(&make(array))); }
  // An out tensor of exactly these sizes; `dynamic` ones may shrink.
  Call& out(ScalarType dtype, std::vector<int32_t> sizes, bool dynamic = false, std::vector<uint8_t> order = {}) {
    Array array{dtype, sizes, {}, std::move(order)};
    size_t n = 1;
    for (int32_t size : sizes) n *= static_cast<size_t>(size);
    array.values.assign(n, 0);
    Tensor& tensor = make(array, dynamic);
    outs_.push_back(&tensor);
    return add(Value(&tensor));
  }
  Call& out(std::vector<int32_t> sizes) { return out(ScalarType::Float, std::move(sizes)); }
  // A tensor that is written in place and looked at afterwards.
  Call& inout(const Array& array) {
    Tensor& tensor = make(array);
    outs_.push_back(&tensor);
    return add(Value(&tensor));
  }
  Call& i(int64_t value) { return add(Value(value)); }
  Call& d(double value) { return add(Value(value)); }
  Call& b(bool value) { return add(Value(value)); }
  Call& none() { return add(Value()); }
  Call& s(std::string_view text) {
    texts_.push_back(text);
    return add(Value(&texts_.back()));
  }
  Call& ints(const std::vector<int64_t>& items) {
    std::vector<int32_t> indices;
    for (int64_t item : items) indices.push_back(store(Value(item)));
    return list(Value::Kind::int_list, std::move(indices));
  }
  Call& doubles(std::vector<double> items) {
    doubles_.push_back(std::move(items));
    double_spans_.emplace_back(doubles_.back());
    return add(Value(&double_spans_.back()));
  }
  Call& flags(std::vector<uint8_t> items) {
    flags_.push_back(std::move(items));
    flag_spans_.emplace_back(flags_.back());
    return add(Value(&flag_spans_.back()));
  }
  Call& tensors(const std::vector<Array>& arrays) {
    std::vector<int32_t> indices;
    for (const Array& array : arrays) indices.push_back(store(Value(&make(array))));
    return list(Value::Kind::tensor_list, std::move(indices));
  }
  Call& out_list(const std::vector<std::vector<int32_t>>& sizes) {
    std::vector<int32_t> indices;
    for (const auto& one : sizes) {
      Array array = floats(one, std::vector<double>(count(one), 0));
      outs_.push_back(&make(array));
      indices.push_back(store(Value(outs_.back())));
    }
    return list(Value::Kind::tensor_list, std::move(indices));
  }
  // Indices for each dimension; an array of dtype float stands for None.
  Call& optional_tensors(const std::vector<Array>& arrays) {
    std::vector<int32_t> indices;
    for (const Array& array : arrays) indices.push_back(array.dtype == ScalarType::Float ? -1 : store(Value(&make(array))));
    return list(Value::Kind::optional_tensor_list, std::move(indices));
  }

  Status run(size_t threads = 1) {
    if (args_.size() + 1 == kernel_->max_args) args_.push_back(store(Value()));
    if (args_.size() < kernel_->min_args || args_.size() > kernel_->max_args)
      return Status::error(Code::internal, "test passes the wrong number of arguments");
    std::vector<Value*> pointers;
    for (int32_t index : args_) pointers.push_back(&values_[static_cast<size_t>(index)]);
    ThreadPool pool(threads);
    size_t bytes = 0;
    if (kernel_->scratch != nullptr) {
      PTERON_ASSIGN(bytes, kernel_->scratch(pointers, threads));
    }
    std::vector<std::byte> scratch(bytes + 64);
    std::byte* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    KernelContext context(pool, {aligned, bytes});
    return kernel_->run(context, pointers);
  }

  // Elements of out `index` in row-major order, after a run.
  std::vector<double> result(size_t index = 0) const {
    const Tensor& t = *outs_[index];
    std::vector<double> elements(t.numel());
    for (size_t i = 0; i < t.numel(); ++i) elements[i] = load_one<double>(t.dtype(), t.data(), offset(t, i));
    return elements;
  }
  std::vector<int32_t> result_sizes(size_t index = 0) const { return {outs_[index]->sizes().begin(), outs_[index]->sizes().end()}; }
  const Value& returned() const { return values_[static_cast<size_t>(args_.back())]; }

 private:
  static size_t count(const std::vector<int32_t>& sizes) {
    size_t n = 1;
    for (int32_t size : sizes) n *= static_cast<size_t>(size);
    return n;
  }
  static int64_t offset(const Tensor& t, size_t row_major) {
    int64_t at = 0;
    for (size_t d = t.rank(); d-- > 0;) {
      at += static_cast<int64_t>(row_major % static_cast<size_t>(t.size(d))) * t.stride(d);
      row_major /= static_cast<size_t>(t.size(d));
    }
    return at;
  }
  Tensor& make(const Array& array, bool dynamic = false) {
    std::vector<uint8_t> order = array.order;
    for (size_t d = order.size(); d < array.sizes.size(); ++d) order.push_back(static_cast<uint8_t>(d));
    Tensor& t = tensors_.emplace_back(array.dtype, array.sizes, order, dynamic);
    memory_.push_back(std::make_unique<std::byte[]>(t.nbytes() + 64));
    auto address = reinterpret_cast<uintptr_t>(memory_.back().get());
    t.set_data(reinterpret_cast<void*>((address + 63) / 64 * 64));
    EXPECT_EQ(t.numel(), array.values.size());
    for (size_t i = 0; i < t.numel() && i < array.values.size(); ++i) store_one(array.dtype, array.values[i], t.data(), offset(t, i));
    return t;
  }
  int32_t store(Value value) {
    values_.push_back(value);
    return static_cast<int32_t>(values_.size()) - 1;
  }
  Call& add(Value value) {
    args_.push_back(store(value));
    return *this;
  }
  Call& list(Value::Kind kind, std::vector<int32_t> indices) {
    indices_.push_back(std::move(indices));
    lists_.push_back({values_.data(), indices_.back()});
    return add(Value(kind, &lists_.back()));
  }

  const Kernel* kernel_;
  std::vector<Value> values_;  // reserved: lists and arguments point into it
  std::vector<int32_t> args_;
  std::vector<Tensor*> outs_;
  std::deque<Tensor> tensors_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;
  std::deque<std::string_view> texts_;
  std::deque<std::vector<int32_t>> indices_;
  std::deque<BoxedList> lists_;
  std::deque<std::vector<double>> doubles_;
  std::deque<std::span<const double>> double_spans_;
  std::deque<std::vector<uint8_t>> flags_;
  std::deque<std::span<const uint8_t>> flag_spans_;
};

}  // namespace pteron::portable::testing
