// Export.
#include <optional>

#include "pteron/compile.h"
#include "python/bindings/convert.h"

namespace pteron::python {
namespace {

ScalarType float_type(const std::string& name, const char* what) {
  if (name == "float32") return ScalarType::Float;
  if (name == "float16") return ScalarType::Half;
  if (name == "bfloat16") return ScalarType::BFloat16;
  throw py::value_error(std::string(what) + " must be 'float32', 'float16' or 'bfloat16', not '" + name + "'");
}

std::optional<Quantization> quantization(const py::object& value, const char* what) {
  if (value.is_none()) return std::nullopt;
  const auto name = value.cast<std::string>();
  if (name == "keep") return Quantization::keep;
  if (name == "none") return Quantization::none;
  if (name == "int8") return Quantization::int8;
  if (name == "int4") return Quantization::int4;
  throw py::value_error(std::string(what) + " must be 'keep', 'none', 'int8' or 'int4', not '" + name + "'");
}

// Takes `key` out of the options; None counts as left out.
py::object take(py::dict& options, const char* key) {
  if (!options.contains(key)) return py::none();
  py::object value = options[key];
  options.attr("pop")(key);
  return value;
}

template <class T>
void take_into(py::dict& options, const char* key, T& target) {
  if (const py::object value = take(options, key); !value.is_none()) target = cast_option<T>(value, key);
}

std::string choice(py::dict& options, const char* key, const char* first, const char* second) {
  const py::object value = take(options, key);
  if (value.is_none()) return {};
  const auto name = value.cast<std::string>();
  if (name != first && name != second) throw py::value_error(std::string(key) + " must be '" + first + "' or '" + second + "', not '" + name + "'");
  return name;
}

// Tells Python how far an export is. An exception (Ctrl-C among them) is kept until the export is over: frames without unwinding lie between.
class Progress {
 public:
  explicit Progress(py::object callback) : callback_(std::move(callback)) {}
  // False once something was raised.
  bool tell(std::string_view stage, uint64_t done, uint64_t total) {
    const py::gil_scoped_acquire held;
    if (raised_) return false;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!callback_.is_none()) callback_(std::string(stage), done, total);
    } catch (py::error_already_set& error) {
      raised_.emplace(std::move(error));
    }
    return !raised_;
  }
  void raise() {
    if (raised_) throw std::move(*raised_);
  }

 private:
  py::object callback_;
  std::optional<py::error_already_set> raised_;
};

std::string export_to(const std::string& source, const std::string& output, py::dict options) {
  ExportRequest request;
  request.source = source;
  request.output = output;
  take_into(options, "backend", request.backend);
  if (const py::object values = take(options, "backend_options"); !values.is_none()) {
    for (const auto& [key, value] : values.cast<py::dict>()) request.backend_options.emplace_back(py::str(key), py::str(value));
  }
  request.quant = quantization(take(options, "quant"), "quant");
  request.embedding_quant = quantization(take(options, "embedding_quant"), "embedding_quant");
  request.head_quant = quantization(take(options, "head_quant"), "head_quant");
  if (const py::object dtype = take(options, "dtype"); !dtype.is_none()) request.dtype = float_type(dtype.cast<std::string>(), "dtype");
  if (const py::object dtype = take(options, "cache_dtype"); !dtype.is_none()) request.cache_dtype = float_type(dtype.cast<std::string>(), "cache_dtype");
  take_into(options, "context_length", request.context_length);
  if (const py::object rows = take(options, "prefill_rows"); !rows.is_none()) request.prefill_rows = cast_option<size_t>(rows, "prefill_rows");
  if (choice(options, "mask_form", "additive", "boolean") == "boolean") request.mask_form = MaskForm::boolean;
  if (const std::string rows = choice(options, "logits_rows", "all", "selected"); !rows.empty()) request.logits_rows = rows == "all" ? LogitsRows::all : LogitsRows::selected;
  if (choice(options, "ids_dtype", "int64", "int32") == "int32") request.ids_dtype = ScalarType::Int;
  take_into(options, "flat_sliding", request.flat_sliding);
  take_into(options, "external_constants", request.external_constants);
  take_into(options, "tokenizer", request.tokenizer);
  take_into(options, "chat_template", request.chat_template);
  take_into(options, "generation_config", request.generation_config);
  take_into(options, "assets", request.assets);
  take_into(options, "threads", request.threads);
  std::optional<PrivateKey> key;
  const py::object passphrase = take(options, "passphrase");
  if (const py::object path = take(options, "sign_key"); !path.is_none()) {
    Passphrase ask;
    if (!passphrase.is_none()) ask = [text = passphrase.cast<std::string>()]() -> Result<std::string> { return text; };
    key.emplace(unwrap(PrivateKey::from_file(path.cast<std::string>(), ask)));
    request.key = &*key;
  }
  Progress progress(take(options, "progress"));
  request.progress = [&progress](std::string_view stage, uint64_t done, uint64_t total) { return progress.tell(stage, done, total); };
  for (const auto& [name, value] : options) throw py::type_error("export() got an unexpected keyword argument '" + py::str(name).cast<std::string>() + "'");
  Result<ExportReport> made = [&] {
    const py::gil_scoped_release released;
    return export_program(request);
  }();
  progress.raise();
  return unwrap(std::move(made)).json;
}

}  // namespace

void bind_compile(py::module_& module) {
  module.def("export", export_to);
  const auto list = [](std::vector<Described> rows) {
    py::dict out;
    for (const Described& row : rows) out[py::str(row.name)] = row.summary;
    return out;
  };
  module.def("backends", [list] { return list(list_backends()); });
  module.def("models", [list] { return list(list_models()); });
}

}  // namespace pteron::python
