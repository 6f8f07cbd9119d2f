// Operators on numbers and handles: what shape arithmetic and control flow of a program are made of. Results replace the last value.
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "core/dtype.h"
#include "runtime/arguments.h"

namespace pteron::runtime {
namespace {

Status unsuitable(std::string_view what, const Value& value) {
  return Status::error(Code::invalid_data, "operand has the wrong kind", {"", "", std::string(what), std::string(kind_name(value.kind()))});
}

Status put(ResultSlot slot, Value value) {
  *slot.value = value;
  return {};
}

double as_double(const Scalar& s) { return s.as_double(); }

// The smallest int64 by minus one has no quotient: it wraps, as the other operations do.
int64_t divide_truncating(int64_t a, int64_t b) { return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b; }
int64_t remainder_truncating(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
int64_t divide_flooring(int64_t a, int64_t b) {
  const int64_t quotient = divide_truncating(a, b);
  return remainder_truncating(a, b) != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
double divide_flooring(double a, double b) {
  if (b == 0) return std::signbit(a) ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  return std::round(quotient);
}
Status zero_divisor() { return Status::error(Code::invalid_argument, "integer division by zero"); }

struct Add {
  static int64_t apply(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
  static double apply(double a, double b) { return a + b; }
};
struct Sub {
  static int64_t apply(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b)); }
  static double apply(double a, double b) { return a - b; }
};
struct Mul {
  static int64_t apply(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }
  static double apply(double a, double b) { return a * b; }
};

Status no_bool(const Scalar& a, const Scalar& b) {
  return a.is_bool() || b.is_bool() ? Status::error(Code::invalid_data, "operand has the wrong kind", {"", "", "int or double", "bool"})
                                    : Status();
}

template <class Op>
Status arithmetic(KernelContext&, Scalar a, Scalar b, ResultSlot out) {
  PTERON_TRY(no_bool(a, b));
  if (a.is_number() || b.is_number()) return put(out, Value(Op::apply(as_double(a), as_double(b))));
  return put(out, Value(Op::apply(a.i, b.i)));
}

Status floordiv_scalar(KernelContext&, Scalar a, Scalar b, ResultSlot out) {
  PTERON_TRY(no_bool(a, b));
  if (a.is_number() || b.is_number()) return put(out, Value(divide_flooring(as_double(a), as_double(b))));
  if (b.i == 0) return zero_divisor();
  return put(out, Value(divide_flooring(a.i, b.i)));
}

Status floordiv_int(KernelContext&, int64_t a, int64_t b, ResultSlot out) {
  return b == 0 ? zero_divisor() : put(out, Value(divide_truncating(a, b)));
}

Status truediv(KernelContext&, Scalar a, Scalar b, ResultSlot out) {
  PTERON_TRY(no_bool(a, b));
  return put(out, Value(as_double(a) / as_double(b)));
}

Status mod(KernelContext&, int64_t a, int64_t b, ResultSlot out) {
  return b == 0 ? zero_divisor() : put(out, Value(remainder_truncating(a, b)));
}

Status neg(KernelContext&, Scalar a, ResultSlot out) {
  PTERON_TRY(no_bool(a, a));
  return put(out, a.is_number() ? Value(-a.d) : Value(Sub::apply(int64_t{0}, a.i)));
}

struct Eq { template <class T> static bool apply(T a, T b) { return a == b; } };
struct Gt { template <class T> static bool apply(T a, T b) { return a > b; } };
struct Lt { template <class T> static bool apply(T a, T b) { return a < b; } };
struct Ge { template <class T> static bool apply(T a, T b) { return a >= b; } };
struct Le { template <class T> static bool apply(T a, T b) { return a <= b; } };

template <class Op>
Status comparison(KernelContext&, Scalar a, Scalar b, ResultSlot out) {
  if (a.is_bool() != b.is_bool()) return Status::error(Code::invalid_data, "a bool is compared with a number");
  if (a.is_number() || b.is_number()) return put(out, Value(Op::apply(as_double(a), as_double(b))));
  return put(out, Value(Op::apply(a.i, b.i)));
}

Status sym_max(KernelContext&, int64_t a, int64_t b, ResultSlot out) { return put(out, Value(a > b ? a : b)); }
Status sym_min(KernelContext&, int64_t a, int64_t b, ResultSlot out) { return put(out, Value(a < b ? a : b)); }
Status sym_not(KernelContext&, bool a, ResultSlot out) { return put(out, Value(!a)); }

Value to_value(const Scalar& s) {
  if (s.is_number()) return Value(s.d);
  return s.is_bool() ? Value(s.i != 0) : Value(s.i);
}

Status sym_ite(KernelContext&, bool condition, Scalar t, Scalar f, ResultSlot out) { return put(out, to_value(condition ? t : f)); }
Status sym_float(KernelContext&, Scalar a, ResultSlot out) { return put(out, Value(as_double(a))); }
Status sym_int(KernelContext&, Scalar a, ResultSlot out) { return put(out, Value(a.as_int())); }

Status to_int(ResultSlot out, double value) { return put(out, Value(Scalar{Scalar::Kind::number, 0, value}.as_int())); }
Status ceil_number(KernelContext&, double a, ResultSlot out) { return to_int(out, std::ceil(a)); }
Status trunc_number(KernelContext&, double a, ResultSlot out) { return to_int(out, std::trunc(a)); }
Status round_number(KernelContext&, double a, ResultSlot out) {
  double rounded = std::round(a);  // half away from zero; halves go to the even neighbour instead
  if (std::abs(a - std::trunc(a)) == 0.5) rounded = 2 * std::round(a / 2);
  return to_int(out, rounded);
}

// These look at tensors without reading their elements, so they take values: a tensor may be without memory.
Status sym_size(KernelContext&, std::span<Value* const> args) {
  if (!args[0]->is(Value::Kind::tensor)) return unsuitable("tensor", *args[0]);
  if (!args[1]->is(Value::Kind::number_int)) return unsuitable("int", *args[1]);
  const Tensor& tensor = args[0]->tensor();
  const int64_t dim = args[1]->integer();
  if (dim < 0 || static_cast<size_t>(dim) >= tensor.rank()) {
    return Status::error(Code::invalid_argument, "no such dimension",
                         {"", "dim", "below " + std::to_string(tensor.rank()), std::to_string(dim)});
  }
  return put({args[2]}, Value(static_cast<int64_t>(tensor.size(static_cast<size_t>(dim)))));
}

Status sym_numel(KernelContext&, std::span<Value* const> args) {
  if (!args[0]->is(Value::Kind::tensor)) return unsuitable("tensor", *args[0]);
  return put({args[1]}, Value(static_cast<int64_t>(args[0]->tensor().numel())));
}

Status local_scalar_dense(KernelContext&, const Tensor& self, ResultSlot out) {
  if (self.numel() == 0) return Status::error(Code::invalid_argument, "tensor has no element to take");
  const void* at = self.data();
  switch (self.dtype()) {
    case ScalarType::Bool: return put(out, Value(load_unaligned<uint8_t>(at) != 0));
    case ScalarType::Byte: return put(out, Value(int64_t{load_unaligned<uint8_t>(at)}));
    case ScalarType::Char: return put(out, Value(int64_t{load_unaligned<int8_t>(at)}));
    case ScalarType::Short: return put(out, Value(int64_t{load_unaligned<int16_t>(at)}));
    case ScalarType::Int: return put(out, Value(int64_t{load_unaligned<int32_t>(at)}));
    case ScalarType::Long: return put(out, Value(load_unaligned<int64_t>(at)));
    case ScalarType::Half: return put(out, Value(static_cast<double>(half_to_float(load_unaligned<uint16_t>(at)))));
    case ScalarType::BFloat16: return put(out, Value(static_cast<double>(bfloat16_to_float(load_unaligned<uint16_t>(at)))));
    case ScalarType::Float: return put(out, Value(static_cast<double>(load_unaligned<float>(at))));
    case ScalarType::Double: return put(out, Value(load_unaligned<double>(at)));
    default:
      return Status::error(Code::unsupported, "tensor of this dtype is no number", {"", "", "", std::string(dtype_name(self.dtype()))});
  }
}

// out = self with other sizes and the same memory.
Status et_view(KernelContext&, std::span<Value* const> args) {
  IntList size;
  if (!args[0]->is(Value::Kind::tensor)) return unsuitable("tensor", *args[0]);
  if (!args[2]->is(Value::Kind::tensor)) return unsuitable("tensor", *args[2]);
  if (!internal::read_int_list(*args[1], size)) return unsuitable("int list", *args[1]);
  const Tensor& self = args[0]->tensor();
  Tensor& out = args[2]->tensor();
  if (self.dtype() != out.dtype() || size.size() != out.rank()) {
    return Status::error(Code::invalid_argument, "view changes dtype or rank of its out tensor");
  }
  int32_t sizes[kMaxRank];
  size_t known = 1, inferred = kMaxRank;
  for (size_t i = 0; i < size.size(); ++i) {
    const int64_t n = size[i];
    if (n == -1 && inferred == kMaxRank) {
      inferred = i;
      continue;
    }
    if (n < 0 || n > std::numeric_limits<int32_t>::max() || __builtin_mul_overflow(known, static_cast<size_t>(n), &known)) {
      return Status::error(Code::invalid_argument, "view has an impossible size", {"", "size", "", std::to_string(n)});
    }
    sizes[i] = static_cast<int32_t>(n);
  }
  if (inferred < kMaxRank) {
    if (known == 0 || self.numel() % known != 0) return Status::error(Code::invalid_argument, "view cannot infer a size");
    sizes[inferred] = static_cast<int32_t>(self.numel() / known);
  } else if (known != self.numel()) {
    return Status::error(Code::invalid_argument, "view changes the number of elements",
                         {"", "size", std::to_string(self.numel()), std::to_string(known)});
  }
  PTERON_TRY(out.resize({sizes, size.size()}));
  out.set_data(const_cast<void*>(self.data()), self.writable());
  return {};
}

// dst[index] = src, where dst grows to index + 1 rows.
Status et_copy_index(KernelContext&, Tensor& dst, const Tensor& src, int64_t index) {
  if (dst.rank() != src.rank() + 1 || dst.dtype() != src.dtype())
    return Status::error(Code::invalid_argument, "copied row has another rank or dtype");
  int32_t sizes[kMaxRank];
  for (size_t i = 0; i < src.rank(); ++i) {
    if (dst.size(i + 1) != src.size(i)) return Status::error(Code::invalid_argument, "copied row has other sizes");
    sizes[i + 1] = src.size(i);
  }
  if (index < 0 || index >= std::numeric_limits<int32_t>::max()) {
    return Status::error(Code::invalid_argument, "row index is out of range", {"", "index", "", std::to_string(index)});
  }
  sizes[0] = static_cast<int32_t>(index) + 1;
  PTERON_TRY(dst.resize({sizes, dst.rank()}));
  if (src.nbytes() > 0) std::memmove(dst.data<std::byte>() + static_cast<size_t>(index) * src.nbytes(), src.data(), src.nbytes());
  return {};
}

constexpr Kernel copy_index_kernel() {
  Kernel kernel = make_kernel<&et_copy_index>("executorch_prim::et_copy_index.tensor");
  kernel.min_args = kernel.max_args = 3;  // no entry for a return value
  return kernel;
}

constexpr Kernel kPrims[] = {
    {"aten::sym_size.int", &sym_size, 3, 3, nullptr},
    {"aten::sym_numel", &sym_numel, 2, 2, nullptr},
    make_kernel<&local_scalar_dense>("aten::_local_scalar_dense"),
    make_kernel<&arithmetic<Add>>("executorch_prim::add.Scalar"),
    make_kernel<&arithmetic<Sub>>("executorch_prim::sub.Scalar"),
    make_kernel<&arithmetic<Mul>>("executorch_prim::mul.Scalar"),
    make_kernel<&floordiv_scalar>("executorch_prim::floordiv.Scalar"),
    make_kernel<&floordiv_int>("executorch_prim::floordiv.int"),
    make_kernel<&truediv>("executorch_prim::truediv.Scalar"),
    make_kernel<&mod>("executorch_prim::mod.Scalar"),
    make_kernel<&mod>("executorch_prim::mod.int"),
    make_kernel<&neg>("executorch_prim::neg.Scalar"),
    make_kernel<&comparison<Eq>>("executorch_prim::eq.Scalar"),
    make_kernel<&comparison<Gt>>("executorch_prim::gt.Scalar"),
    make_kernel<&comparison<Lt>>("executorch_prim::lt.Scalar"),
    make_kernel<&comparison<Ge>>("executorch_prim::ge.Scalar"),
    make_kernel<&comparison<Le>>("executorch_prim::le.Scalar"),
    make_kernel<&sym_max>("executorch_prim::sym_max.Scalar"),
    make_kernel<&sym_min>("executorch_prim::sym_min.Scalar"),
    make_kernel<&sym_not>("executorch_prim::sym_not.Scalar"),
    make_kernel<&sym_ite>("executorch_prim::sym_ite.Scalar"),
    make_kernel<&sym_float>("executorch_prim::sym_float.Scalar"),
    make_kernel<&sym_int>("executorch_prim::sym_int.Scalar"),
    make_kernel<&ceil_number>("executorch_prim::ceil.Scalar"),
    make_kernel<&round_number>("executorch_prim::round.Scalar"),
    make_kernel<&trunc_number>("executorch_prim::trunc.Scalar"),
    {"executorch_prim::et_view.default", &et_view, 3, 3, nullptr},
    copy_index_kernel(),
};

}  // namespace

std::span<const Kernel> prim_kernels() { return kPrims; }

}  // namespace pteron::runtime
