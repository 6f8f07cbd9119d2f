#include "python/bindings/convert.h"

#include <cstring>

namespace pteron::python {

void check(const Status& status) {
  if (status.ok()) return;
  const Detail& detail = status.detail();
  const py::object error = py::module_::import("pteron.errors").attr("Error");
  const py::object instance = error(text_of(status.message()), text_of(code_name(status.code())), text_of(detail.file), text_of(detail.field), text_of(detail.expected), text_of(detail.found));
  PyErr_SetObject(error.ptr(), instance.ptr());
  throw py::error_already_set();
}

void refuse(const std::string& argument, std::string expected, std::string found) {
  check(Status::error(Code::invalid_argument, "an argument cannot be used", {.file = {}, .field = argument, .expected = std::move(expected), .found = std::move(found)}));
  throw py::value_error(argument);  // not reached: an error is raised
}

py::str text_of(std::string_view text) {
  PyObject* const decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

std::vector<TokenId> token_ids(const std::vector<int64_t>& ids) {
  std::vector<TokenId> out(ids.begin(), ids.end());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (out[i] != ids[i]) refuse("tokens[" + std::to_string(i) + "]", "an id of the vocabulary", std::to_string(ids[i]));
  }
  return out;
}

ScalarType dtype_of(const py::dtype& dtype) {
  const char kind = dtype.kind();
  const auto size = dtype.itemsize();
  if (kind == 'b') return ScalarType::Bool;
  if (kind == 'f') {
    if (size == 2) return ScalarType::Half;
    if (size == 4) return ScalarType::Float;
    if (size == 8) return ScalarType::Double;
  }
  if (kind == 'i') return size == 1 ? ScalarType::Char : size == 2 ? ScalarType::Short : size == 4 ? ScalarType::Int : ScalarType::Long;
  if (kind == 'u') return size == 1 ? ScalarType::Byte : size == 2 ? ScalarType::UInt16 : size == 4 ? ScalarType::UInt32 : ScalarType::UInt64;
  if (kind == 'c' && size == 8) return ScalarType::ComplexFloat;
  if (kind == 'c' && size == 16) return ScalarType::ComplexDouble;
  const auto name = py::str(py::handle(dtype)).cast<std::string>();
  if (name == "bfloat16") return ScalarType::BFloat16;
  throw py::type_error("no tensor has elements of type " + name);
}

py::dtype numpy_dtype(ScalarType type) {
  switch (type) {
    case ScalarType::Bool: return py::dtype("bool");
    case ScalarType::Half: return py::dtype("float16");
    case ScalarType::Float: return py::dtype("float32");
    case ScalarType::Double: return py::dtype("float64");
    case ScalarType::Char: return py::dtype("int8");
    case ScalarType::Short: return py::dtype("int16");
    case ScalarType::Int: return py::dtype("int32");
    case ScalarType::Long: return py::dtype("int64");
    case ScalarType::ComplexFloat: return py::dtype("complex64");
    case ScalarType::ComplexDouble: return py::dtype("complex128");
    default: break;
  }
  switch (element_size(type)) {
    case 1: return py::dtype("uint8");
    case 2: return py::dtype("uint16");
    case 4: return py::dtype("uint32");
    default: return py::dtype("uint64");
  }
}

TensorView view_of(const py::array& array, std::vector<int32_t>& sizes) {
  sizes.clear();
  for (py::ssize_t i = 0; i < array.ndim(); ++i) {
    if (array.shape(i) > INT32_MAX) throw py::value_error("an array with a dimension of 2^31 or more is no tensor");
    sizes.push_back(static_cast<int32_t>(array.shape(i)));
  }
  return {dtype_of(array.dtype()), sizes, {}, array.data(), static_cast<size_t>(array.nbytes())};
}

py::array copy_of(const TensorView& tensor) {
  std::vector<py::ssize_t> shape(tensor.sizes.begin(), tensor.sizes.end()), strides(shape.size());
  const auto element = static_cast<py::ssize_t>(element_size(tensor.dtype));
  py::ssize_t stride = element;
  for (size_t i = shape.size(); i-- > 0;) {
    const size_t dim = tensor.dim_order.empty() ? i : tensor.dim_order[i];
    strides[dim] = stride;
    stride *= shape[dim] == 0 ? 1 : shape[dim];
  }
  const py::array strided(numpy_dtype(tensor.dtype), shape, strides, tensor.data);  // copies, in the tensor's own order
  return py::module_::import("numpy").attr("ascontiguousarray")(strided).attr("reshape")(py::tuple(py::cast(shape)));
}

py::array array_over(const MutableTensorView& tensor, py::handle owner) {
  const std::vector<py::ssize_t> shape(tensor.sizes.begin(), tensor.sizes.end());
  return py::array(numpy_dtype(tensor.dtype), shape, {}, tensor.data, owner);
}

Policy make_policy(const std::vector<std::string>& trust, bool require_signed, bool allow_expired, int64_t minimum_counter, const std::string& load) {
  Policy result;
  for (const std::string& path : trust) result.keys.push_back(unwrap(PublicKey::from_file(path)));
  if (load != "mmap" && load != "copy") refuse("load", "mmap or copy", load);
  result.policy.trusted = result.keys;
  result.policy.require_signed = require_signed;
  result.policy.allow_expired = allow_expired;
  result.policy.minimum_counter = count_of("minimum_counter", minimum_counter);
  result.policy.mode = load == "copy" ? LoadMode::copy : LoadMode::map;
  return result;
}

}  // namespace pteron::python
