// Typed kernels: turns a plain function such as `Status relu(KernelContext&, const Tensor& self, Tensor& out)` into a table entry
// that checks the number and the kinds of its arguments before the function sees them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/kernel.h"

namespace pteron::runtime {

// A number of any kind, for schema arguments of type Scalar.
struct Scalar {
  enum class Kind : uint8_t { integer, number, boolean } kind = Kind::integer;
  int64_t i = 0;
  double d = 0;

  bool is_number() const { return kind == Kind::number; }
  bool is_bool() const { return kind == Kind::boolean; }
  double as_double() const { return is_number() ? d : static_cast<double>(i); }
  // Truncates; a number beyond the range of int64 saturates and NaN is 0.
  int64_t as_int() const;
};

// Lists of ints, tensors and optional tensors, read through the value table.
class IntList {
 public:
  IntList() = default;
  explicit IntList(const BoxedList& list) : list_(list) {}
  size_t size() const { return list_.items.size(); }
  bool empty() const { return list_.items.empty(); }
  int64_t operator[](size_t i) const { return list_.table[list_.items[i]].integer(); }

 private:
  BoxedList list_;
};

class TensorList {
 public:
  TensorList() = default;
  explicit TensorList(const BoxedList& list) : list_(list) {}
  size_t size() const { return list_.items.size(); }
  Tensor& operator[](size_t i) const { return list_.table[list_.items[i]].tensor(); }

 private:
  BoxedList list_;
};

class OptionalTensorList {
 public:
  OptionalTensorList() = default;
  explicit OptionalTensorList(const BoxedList& list) : list_(list) {}
  size_t size() const { return list_.items.size(); }
  // Null where the element is None.
  const Tensor* operator[](size_t i) const {
    return list_.items[i] >= 0 && list_.table[list_.items[i]].is(Value::Kind::tensor) ? &list_.table[list_.items[i]].tensor() : nullptr;
  }

 private:
  BoxedList list_;
};

using DoubleList = std::span<const double>;
using BoolList = std::span<const uint8_t>;

// The last parameter of operators without an out tensor: the slot that receives the result.
struct ResultSlot {
  Value* value = nullptr;
};

namespace internal {

// Whether a tensor that is read (or written) has memory behind its elements.
bool has_memory(const Tensor& tensor, bool written);

// How one parameter type is read from a value: `read` fills a holder or says no, `pass` makes the parameter of it.
template <class T>
struct Argument;

bool read_scalar(const Value& value, Scalar& out);
bool read_int_list(const Value& value, IntList& out);
bool read_tensor_list(const Value& value, TensorList& out);
bool read_optional_tensor_list(const Value& value, OptionalTensorList& out);

template <Value::Kind kKind, class T>
struct PlainArgument {
  using Holder = T;
  static T pass(const T& holder) { return holder; }
  static constexpr Value::Kind kExpected = kKind;
};
template <>
struct Argument<int64_t> : PlainArgument<Value::Kind::number_int, int64_t> {
  static bool read(const Value& v, int64_t& out) { return v.is(kExpected) && (out = v.integer(), true); }
};
template <>
struct Argument<double> : PlainArgument<Value::Kind::number_double, double> {
  static bool read(const Value& v, double& out) { return v.is(kExpected) && (out = v.number(), true); }
};
template <>
struct Argument<bool> : PlainArgument<Value::Kind::boolean, bool> {
  static bool read(const Value& v, bool& out) { return v.is(kExpected) && (out = v.boolean(), true); }
};
template <>
struct Argument<std::string_view> : PlainArgument<Value::Kind::string, std::string_view> {
  static bool read(const Value& v, std::string_view& out) { return v.is(kExpected) && (out = v.string(), true); }
};
template <>
struct Argument<DoubleList> : PlainArgument<Value::Kind::double_list, DoubleList> {
  static bool read(const Value& v, DoubleList& out) { return v.is(kExpected) && (out = v.doubles(), true); }
};
template <>
struct Argument<BoolList> : PlainArgument<Value::Kind::bool_list, BoolList> {
  static bool read(const Value& v, BoolList& out) { return v.is(kExpected) && (out = v.bools(), true); }
};
template <>
struct Argument<Scalar> : PlainArgument<Value::Kind::number_double, Scalar> {
  static bool read(const Value& v, Scalar& out) { return read_scalar(v, out); }
};
template <>
struct Argument<IntList> : PlainArgument<Value::Kind::int_list, IntList> {
  static bool read(const Value& v, IntList& out) { return read_int_list(v, out); }
};
template <>
struct Argument<TensorList> : PlainArgument<Value::Kind::tensor_list, TensorList> {
  static bool read(const Value& v, TensorList& out) { return read_tensor_list(v, out); }
};
template <>
struct Argument<OptionalTensorList> : PlainArgument<Value::Kind::optional_tensor_list, OptionalTensorList> {
  static bool read(const Value& v, OptionalTensorList& out) { return read_optional_tensor_list(v, out); }
};
template <>
struct Argument<ResultSlot> : PlainArgument<Value::Kind::none, ResultSlot> {
  static bool read(Value& v, ResultSlot& out) { return out.value = &v, true; }
};
template <>
struct Argument<const Tensor&> {
  using Holder = const Tensor*;
  static constexpr Value::Kind kExpected = Value::Kind::tensor;
  static bool read(const Value& v, Holder& out) { return v.is(kExpected) && (out = &v.tensor(), has_memory(*out, false)); }
  static const Tensor& pass(Holder holder) { return *holder; }
};
template <>
struct Argument<Tensor&> {
  using Holder = Tensor*;
  static constexpr Value::Kind kExpected = Value::Kind::tensor;
  static bool read(const Value& v, Holder& out) { return v.is(kExpected) && (out = &v.tensor(), has_memory(*out, true)); }
  static Tensor& pass(Holder holder) { return *holder; }
};
template <>
struct Argument<const Tensor*> : PlainArgument<Value::Kind::tensor, const Tensor*> {  // Tensor?: null for None
  static bool read(const Value& v, const Tensor*& out) {
    if (v.is(Value::Kind::none)) return out = nullptr, true;
    return Argument<const Tensor&>::read(v, out);
  }
};
template <class T>
struct Argument<std::optional<T>> {
  using Holder = std::optional<T>;
  static constexpr Value::Kind kExpected = Argument<T>::kExpected;
  static bool read(const Value& v, Holder& out) {
    if (v.is(Value::Kind::none)) return out.reset(), true;
    return Argument<T>::read(v, out.emplace());
  }
  static Holder pass(const Holder& holder) { return holder; }
};

Status wrong_argument(size_t index, Value::Kind expected, const Value& found);

template <class F>
struct Signature;
template <class... P>
struct Signature<Status (*)(KernelContext&, P...)> {
  static constexpr size_t kParameters = sizeof...(P);
  static constexpr bool kHasSlot = (std::is_same_v<P, ResultSlot> || ...);
  static constexpr size_t kEntries = kHasSlot ? kParameters : kParameters + 1;

  template <auto kFunction>
  static Status call(KernelContext& context, std::span<Value* const> args) {
    return call_with<kFunction>(context, args, std::index_sequence_for<P...>{});
  }

 private:
  template <auto kFunction, size_t... kIndex>
  static Status call_with(KernelContext& context, std::span<Value* const> args, std::index_sequence<kIndex...>) {
    if (args.size() < kParameters) return Status::error(Code::invalid_data, "kernel call has too few arguments");
    std::tuple<typename Argument<P>::Holder...> holders{};
    size_t bad = kParameters;
    Value::Kind expected{};
    ((bad == kParameters && !Argument<P>::read(*args[kIndex], std::get<kIndex>(holders))
          ? (bad = kIndex, expected = Argument<P>::kExpected, 0)
          : 0),
     ...);
    if (bad != kParameters) return wrong_argument(bad, expected, *args[bad]);
    return kFunction(context, Argument<P>::pass(std::get<kIndex>(holders))...);
  }
};

}  // namespace internal

// The table entry of a typed kernel. Its calls have one entry a parameter and one for the return value.
template <auto kFunction>
constexpr Kernel make_kernel(std::string_view name, ScratchFn scratch = nullptr) {
  using S = internal::Signature<decltype(kFunction)>;
  return {name, &S::template call<kFunction>, S::kEntries, S::kEntries, scratch};
}

// The same for operators whose callers may leave out the return value's entry.
template <auto kFunction>
constexpr Kernel make_lenient_kernel(std::string_view name, ScratchFn scratch = nullptr) {
  using S = internal::Signature<decltype(kFunction)>;
  return {name, &S::template call<kFunction>, S::kParameters, S::kParameters + 1, scratch};
}

}  // namespace pteron::runtime
