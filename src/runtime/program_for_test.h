// Small programs, made value by value in a test and opened like any file.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/rewrite_for_test.h"
#include "kernels/portable/families.h"
#include "package/open.h"
#include "runtime/program.h"

namespace pteron::runtime::testing {

// Builds one plan called "forward" and loads it. Arena offsets are multiples of 64 bytes.
class TestProgram {
 public:
  TestProgram() {
    plan.name = "forward";
    plan.chains.emplace_back();
    plan.non_const_buffer_sizes = {0, 0};
  }

  int32_t value(format::Value v) {
    plan.values.push_back(std::move(v));
    return static_cast<int32_t>(plan.values.size()) - 1;
  }
  // A tensor of this dtype in the arena.
  int32_t planned(std::vector<int32_t> sizes, ScalarType dtype = ScalarType::Float, bool dynamic = false) {
    format::Tensor t = tensor(std::move(sizes), dtype, dynamic);
    t.allocation = format::Allocation{1, static_cast<uint64_t>(plan.non_const_buffer_sizes[1])};
    plan.non_const_buffer_sizes[1] += 64 + static_cast<int64_t>(bytes(t)) / 64 * 64;
    return value(std::move(t));
  }
  int32_t unplanned(std::vector<int32_t> sizes, ScalarType dtype = ScalarType::Float, bool dynamic = false) {
    return value(tensor(std::move(sizes), dtype, dynamic));
  }
  int32_t constant(std::vector<int32_t> sizes, const std::vector<float>& elements) {
    format::Tensor t = tensor(std::move(sizes), ScalarType::Float, false);
    constants.push_back(format::owned_blob(as_vector(elements)));
    t.data_buffer_idx = static_cast<uint32_t>(constants.size());
    return value(std::move(t));
  }
  // A planned tensor that starts with these elements.
  int32_t state(std::vector<int32_t> sizes, const std::vector<float>& elements) {
    const int32_t index = planned(std::move(sizes));
    mutable_data.push_back(format::owned_blob(as_vector(elements)));
    std::get<format::Tensor>(plan.values[static_cast<size_t>(index)]).data_buffer_idx = static_cast<uint32_t>(mutable_data.size());
    return index;
  }
  int32_t ints(const std::vector<int64_t>& items) {
    format::IntList list;
    for (int64_t item : items) list.items.push_back(value(item));
    return value(std::move(list));
  }

  // A call of `name` (namespace and name) and `overload` with these values.
  void call(const std::string& name, const std::string& overload, std::vector<int32_t> args) {
    plan.operators.push_back({name, overload});
    add(format::KernelCall{static_cast<int32_t>(plan.operators.size()) - 1, std::move(args)});
  }
  void add(format::Instruction instruction) { plan.chains[0].instructions.push_back(std::move(instruction)); }

  const format::VerifiedProgram& open() {
    format::ProgramToWrite program;
    program.plans = {plan};
    program.constants = constants;
    program.mutable_data = mutable_data;
    program.delegate_blobs = delegate_blobs;
    program.named_data = named_data;
    auto written = format::written(std::move(program));
    EXPECT_TRUE(written.ok()) << written.status().message();
    bytes_ = std::move(*written);
    auto opened = package::from_bytes(bytes_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened_.emplace(std::move(*opened)).program;
  }

  Result<Method> load(LoadOptions options = {}) {
    table_ = {portable::all_kernels()};
    if (options.kernels == nullptr) options.kernels = &table_;
    return load_method(open(), "forward", options);
  }

  // Whether an address lies in the bytes that were opened last.
  bool holds(const void* address) const {
    const auto* at = static_cast<const std::byte*>(address);
    return at >= bytes_.data() && at < bytes_.data() + bytes_.size();
  }

  format::Plan plan;
  std::vector<format::Blob> constants, mutable_data, delegate_blobs;
  std::vector<format::NamedBlob> named_data;

 private:
  static format::Tensor tensor(std::vector<int32_t> sizes, ScalarType dtype, bool dynamic) {
    format::Tensor t;
    t.dtype = dtype;
    t.sizes = std::move(sizes);
    for (size_t d = 0; d < t.sizes.size(); ++d) t.dim_order.push_back(static_cast<uint8_t>(d));
    t.dynamism = dynamic ? format::ShapeDynamism::bound : format::ShapeDynamism::fixed;
    return t;
  }
  static size_t bytes(const format::Tensor& t) {
    size_t n = element_size(t.dtype);
    for (int32_t size : t.sizes) n *= static_cast<size_t>(size);
    return n;
  }
  static std::vector<std::byte> as_vector(const std::vector<float>& elements) {
    const auto* from = reinterpret_cast<const std::byte*>(elements.data());
    return {from, from + elements.size() * sizeof(float)};
  }

  std::vector<std::byte> bytes_;
  std::optional<package::Opened> opened_;
  KernelTable table_;
};

inline TensorView view_of(const std::vector<float>& elements, const std::vector<int32_t>& sizes) {
  return {ScalarType::Float, sizes, {}, elements.data(), elements.size() * sizeof(float)};
}

inline std::vector<float> floats_of(const TensorView& view) {
  const auto* elements = static_cast<const float*>(view.data);
  return {elements, elements + view.nbytes / sizeof(float)};
}

}  // namespace pteron::runtime::testing
