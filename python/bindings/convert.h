// Between Python's objects and pteron's: errors become exceptions, arrays become views and back.
#pragma once

#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <utility>

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

// An option's value; raises TypeError with the option's name where it has another type.
template <class T>
T cast_option(const py::handle& value, const char* name) {
  try {
    return value.cast<T>();
  } catch (const py::cast_error&) {
    throw py::type_error(std::string(name) + " cannot be " + py::repr(value).cast<std::string>());
  }
}

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
Policy make_policy(const std::vector<std::string>& trust, bool require_signed, bool allow_expired, uint64_t minimum_counter, const std::string& load);

void bind_program(py::module_& module);
void bind_compile(py::module_& module);
void bind_llm(py::module_& module);

}  // namespace pteron::python
