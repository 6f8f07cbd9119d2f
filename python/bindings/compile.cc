// Export.
#include <initializer_list>
#include <optional>
#include <utility>

#include "pteron/compile.h"
#include "python/bindings/convert.h"

namespace pteron::python {
namespace {

// The one of several named values that an option asks for; an error names them all where it is none of them.
template <class T>
std::optional<T> named(const py::dict& given, const char* key, std::initializer_list<std::pair<const char*, T>> values) {
  const auto name = option<std::string>(given, key);
  if (!name) return std::nullopt;
  std::string known;
  for (const auto& [text, value] : values) {
    if (*name == text) return value;
    known += (known.empty() ? "one of " : ", ") + std::string(text);
  }
  refuse(key, known, *name);
}

std::optional<ScalarType> float_type(const py::dict& given, const char* key) {
  return named<ScalarType>(given, key, {{"float32", ScalarType::Float}, {"float16", ScalarType::Half}, {"bfloat16", ScalarType::BFloat16}});
}

std::optional<Quantization> quantization(const py::dict& given, const char* key) {
  return named<Quantization>(given, key, {{"keep", Quantization::keep}, {"none", Quantization::none}, {"int8", Quantization::int8}, {"int4", Quantization::int4}});
}

ExportRequest export_request(const std::string& source, const std::string& output, const py::dict& given) {
  ExportRequest to;
  to.source = source;
  to.output = output;
  read_options(given, "backend", to.backend, "context_length", to.context_length, "flat_sliding", to.flat_sliding, "external_constants", to.external_constants,
               "tokenizer", to.tokenizer, "chat_template", to.chat_template, "generation_config", to.generation_config, "assets", to.assets, "threads", to.threads);
  if (const auto values = option<py::dict>(given, "backend_options")) {
    for (const auto& [key, value] : *values) to.backend_options.emplace_back(py::str(key), py::str(value));
  }
  to.quant = quantization(given, "quant");
  to.embedding_quant = quantization(given, "embedding_quant");
  to.head_quant = quantization(given, "head_quant");
  to.dtype = float_type(given, "dtype").value_or(to.dtype);
  if (const auto dtype = float_type(given, "cache_dtype")) to.cache_dtype = *dtype;
  if (const auto rows = option<size_t>(given, "prefill_rows")) to.prefill_rows = *rows;
  to.mask_form = named<MaskForm>(given, "mask_form", {{"additive", MaskForm::additive}, {"boolean", MaskForm::boolean}}).value_or(to.mask_form);
  if (const auto rows = named<LogitsRows>(given, "logits_rows", {{"all", LogitsRows::all}, {"selected", LogitsRows::selected}})) to.logits_rows = *rows;
  to.ids_dtype = named<ScalarType>(given, "ids_dtype", {{"int64", ScalarType::Long}, {"int32", ScalarType::Int}}).value_or(to.ids_dtype);
  return to;
}

std::string export_to(const std::string& source, const std::string& output, const py::dict& given) {
  ExportRequest request = export_request(source, output, given);
  std::optional<PrivateKey> key;
  if (const auto path = option<std::string>(given, "sign_key")) {
    Passphrase ask;
    if (auto passphrase = option<std::string>(given, "passphrase")) ask = [text = *passphrase]() -> Result<std::string> { return text; };
    key.emplace(unwrap(PrivateKey::from_file(*path, ask)));
    request.key = &*key;
  }
  const auto progress = option<py::object>(given, "progress");
  Interrupts interrupts;
  request.progress = [&](std::string_view stage, uint64_t done, uint64_t total) {
    if (!progress) return interrupts.none();
    return interrupts.none_from([&] { (*progress)(std::string(stage), done, total); });
  };
  Result<ExportReport> made = unlocked([&] { return export_program(request); });
  interrupts.raise();
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
