#include "pteron/compile.h"

#include <functional>
#include <optional>

#include "api/backend_adapter.h"
#include "base/file.h"
#include "builtin/compile/builtin.h"
#include "compiler/compiler.h"
#include "manifest/sign.h"
#include "models/family.h"

namespace pteron {
namespace {

Result<const partition::CompileBackend*> find_backend(const std::string& name, std::span<const partition::CompileBackend* const> callers) {
  if (name == "portable") return nullptr;
  std::string known = "portable";
  std::vector<const partition::CompileBackend*> all(callers.begin(), callers.end());
  all.insert(all.end(), builtin::builtin_compile_backends().begin(), builtin::builtin_compile_backends().end());
  for (const partition::CompileBackend* backend : all) {
    if (backend->name() == name) return backend;
    known += ", " + std::string(backend->name());
  }
  return Status::error(Code::invalid_argument, "unknown backend", {.file = {}, .field = "backend", .expected = "one of " + known, .found = name});
}

std::optional<compiler::Quantization> to_compiler(std::optional<Quantization> quant) {
  if (!quant) return std::nullopt;
  switch (*quant) {
    case Quantization::keep: return compiler::Quantization::keep;
    case Quantization::none: return compiler::Quantization::none;
    case Quantization::int8: return compiler::Quantization::int8;
    case Quantization::int4: return compiler::Quantization::int4;
  }
  return std::nullopt;
}

Result<compiler::CompileRequest> to_compiler(const ExportRequest& request, std::span<const partition::CompileBackend* const> callers) {
  compiler::CompileRequest out;
  out.source = request.source;
  out.output = request.output;
  PTERON_ASSIGN(out.backend, find_backend(request.backend, callers));
  out.backend_options = request.backend_options;
  out.quant = to_compiler(request.quant);
  out.embedding_quant = to_compiler(request.embedding_quant);
  out.head_quant = to_compiler(request.head_quant);
  out.dtype = request.dtype;
  out.context_length = static_cast<int64_t>(request.context_length);
  if (request.prefill_rows) out.prefill_rows = static_cast<int64_t>(*request.prefill_rows);
  out.cache_dtype = request.cache_dtype;
  out.ids_dtype = request.ids_dtype;
  out.boolean_mask = request.mask_form == MaskForm::boolean;
  if (request.logits_rows) out.selected_logits = *request.logits_rows == LogitsRows::selected;
  out.flat_sliding = request.flat_sliding;
  out.external_constants = request.external_constants;
  out.tokenizer = request.tokenizer;
  out.chat_template = request.chat_template;
  out.generation_config = request.generation_config;
  out.assets = request.assets;
  out.print_after = request.print_after;
  out.threads = request.threads;
  out.progress = request.progress;
  return out;
}

// Signs the program before it gets its name, so that nothing unsigned ever stands there.
std::function<Status(FileWriter&, FileWriter*)> signer(const ExportRequest& request) {
  return [&request](FileWriter& program, FileWriter* external) -> Status {
    SignOptions options;
    options.threads = request.threads;
    std::vector<manifest::DataFile> data;
    if (external != nullptr) {
      PTERON_ASSIGN(FileBytes bytes, external->map_written());
      data.push_back({request.external_constants, std::move(bytes)});
    }
    return manifest::append_signature(program, *request.key, options, std::move(data));
  };
}

}  // namespace

Result<ExportReport> export_program(const ExportRequest& request) {
  std::vector<std::unique_ptr<partition::CompileBackend>> adapted;
  std::vector<const partition::CompileBackend*> callers;
  for (const CompileBackend* backend : request.backends) {
    adapted.push_back(api::adapt(*backend));
    callers.push_back(adapted.back().get());
  }
  PTERON_ASSIGN(compiler::CompileRequest compile, to_compiler(request, callers));
  if (request.key != nullptr) compile.seal = signer(request);
  PTERON_ASSIGN(compiler::CompileReport made, compiler::compile(compile));
  return ExportReport{std::move(made.json), std::move(made.printed), made.bytes, std::move(made.warnings)};
}

std::vector<Described> list_backends() {
  std::vector<Described> rows = {{"portable", "plain operators, for the stock ExecuTorch runtime and as the reference for every other backend"}};
  for (const partition::CompileBackend* backend : builtin::builtin_compile_backends()) rows.push_back({std::string(backend->name()), std::string(backend->summary())});
  return rows;
}

std::vector<Described> list_passes() {
  std::vector<Described> rows;
  for (auto& [name, summary] : compiler::printable_passes()) rows.push_back({name, summary});
  return rows;
}

std::vector<Described> list_models() {
  std::vector<Described> rows;
  for (const models::Family& family : models::families()) rows.push_back({std::string(family.architecture), std::string(family.summary)});
  return rows;
}

}  // namespace pteron
