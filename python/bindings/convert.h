// Between Python's objects and pteron's: errors become exceptions, arrays become views and back.
#pragma once

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "pteron/generation.h"
#include "pteron/manifest.h"
#include "pteron/status.h"
#include "pteron/tensor.h"

namespace pteron::python {

namespace py = pybind11;

// Raises pteron.Error for a failure. Needs the GIL.
void check(const Status& status);

template <class T>
T unwrap(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

// Raises pteron.Error for a value that an argument cannot have.
[[noreturn]] void refuse(const std::string& argument, std::string expected, std::string found);

// An argument's value. Raises TypeError with its name where it has another type, pteron.Error for a number out of range.
template <class T>
T cast_option(const py::handle& value, const std::string& name) {
  try {
    return value.cast<T>();
  } catch (const py::cast_error&) {
    const auto text = py::repr(value).cast<std::string>();
    if constexpr (std::is_integral_v<T>) {
      if (py::isinstance<py::int_>(value)) refuse(name, std::to_string(std::numeric_limits<T>::min()) + " to " + std::to_string(std::numeric_limits<T>::max()), text);
    }
    throw py::type_error(name + " cannot be " + text);
  }
}

// A count, which Python may give as a negative number.
inline size_t count_of(const char* name, int64_t value) {
  if (value < 0) refuse(name, "0 or more", std::to_string(value));
  return static_cast<size_t>(value);
}

// Text as Python has it; bytes that are no UTF-8 become replacement characters.
py::str text_of(std::string_view text);

// Token ids as C++ has them.
std::vector<TokenId> token_ids(const std::vector<int64_t>& ids);

// Reads keyword options into their places, name after place; what is left out or None leaves a place as it is.
inline void read_options(const py::dict&) {}
template <class T, class... Rest>
void read_options(const py::dict& options, const char* name, T& place, Rest&&... rest) {
  if (options.contains(name) && !options[name].is_none()) place = cast_option<T>(options[name], name);
  read_options(options, std::forward<Rest>(rest)...);
}
// An option that may be left out.
template <class T>
std::optional<T> option(const py::dict& options, const char* name) {
  std::optional<T> value;
  if (options.contains(name) && !options[name].is_none()) value = cast_option<T>(options[name], name);
  return value;
}

// Lets other Python threads run while C++ computes. As py::gil_scoped_release, but a thread that Python ends when it wants the GIL back (a daemon thread,
// while the interpreter goes away) is unwound, not terminated.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() noexcept(false) { PyEval_RestoreThread(state_); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* state_;
};

// What `work` gives, which computes without the GIL.
template <class Work>
auto unlocked(Work work) {
  const Unlocked released;
  return work();
}

// What Python has raised while C++ computed without the GIL, Ctrl-C among it. It is kept, ends the work, and is raised behind it: frames without unwinding lie between.
class Interrupts {
 public:
  // False once something was raised: by a signal handler, which is asked for at most 20 times a second, ...
  bool none() {
    const auto now = std::chrono::steady_clock::now();
    if (raised_ || now - asked_ < std::chrono::milliseconds(50)) return !raised_;
    asked_ = now;
    return none_from([] {});
  }
  // ... or by `work`, which needs the GIL.
  template <class Work>
  bool none_from(Work work) {
    if (raised_) return false;
    const py::gil_scoped_acquire held;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      work();
    } catch (py::error_already_set& error) {
      raised_.emplace(std::move(error));
    }
    return !raised_;
  }
  // Raises what was raised. Needs the GIL.
  void raise() {
    if (raised_) throw std::move(*raised_);
  }

 private:
  std::optional<py::error_already_set> raised_;
  std::chrono::steady_clock::time_point asked_ = std::chrono::steady_clock::now();
};

// Where something with threads was made. A fork has none of these threads, and would wait for them for ever.
class Process {
 public:
  Status check(const char* what) const {
    if (getpid() == id_) return {};
    return Status::error(Code::unsupported, "it was made before a fork", {.file = {}, .field = what, .expected = "one of this process", .found = "one of its parent"});
  }

 private:
  const pid_t id_ = getpid();
};

// The element type of a numpy dtype; raises TypeError for one that has none.
ScalarType dtype_of(const py::dtype& dtype);
// The numpy dtype of an element type; bfloat16 and other types that numpy lacks come as unsigned integers of their size.
py::dtype numpy_dtype(ScalarType type);

// A C-contiguous array as a tensor; `sizes` holds its shape and must outlive the view, as must the array.
TensorView view_of(const py::array& array, std::vector<int32_t>& sizes);
// A new array with the values of a tensor in row-major order.
py::array copy_of(const TensorView& tensor);
// An array over a tensor's own memory; `owner` is kept alive by it.
py::array array_over(const MutableTensorView& tensor, py::handle owner);

// What Python says about trust, as keyword arguments of several calls.
struct Policy {
  std::vector<PublicKey> keys;
  LoadPolicy policy;
};
Policy make_policy(const std::vector<std::string>& trust, bool require_signed, bool allow_expired, int64_t minimum_counter, const std::string& load);

// The sampling chain's parameters among keyword options.
void read_sampler(const py::dict& given, SamplerParams& to);

void bind_program(py::module_& module);
void bind_compile(py::module_& module);
void bind_text(py::module_& module);
void bind_session(py::module_& module);
void bind_engine(py::module_& module);

}  // namespace pteron::python
