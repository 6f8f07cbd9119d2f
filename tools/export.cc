// pteron export: a checkpoint becomes a program.
#include <cstdio>
#include <filesystem>
#include <memory>

#include "pteron/compile.h"
#include "tools/keys.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  ExportRequest request;
  std::string backend = "cpu", quant, embedding_quant, head_quant, dtype = "float32", ids_dtype = "int64", cache_dtype, mask_form = "additive", logits_rows;
  long context_length = 0, prefill_rows = -1;
  std::string sign_key, passphrase_file, report;
  bool no_assets = false, list_passes = false, list_backends = false, list_models = false;
};

ScalarType float_type(const std::string& name) {
  return name == "float16" ? ScalarType::Half : name == "bfloat16" ? ScalarType::BFloat16 : ScalarType::Float;
}

std::optional<Quantization> quantization(const std::string& name) {
  if (name.empty()) return std::nullopt;
  return name == "keep" ? Quantization::keep : name == "none" ? Quantization::none : name == "int8" ? Quantization::int8 : Quantization::int4;
}

// `name:key=value,key=value`
Status parse_backend(const std::string& text, ExportRequest& request) {
  const size_t colon = text.find(':');
  request.backend = text.substr(0, colon);
  for (size_t at = colon; at != std::string::npos;) {
    const size_t end = text.find(',', at + 1);
    const std::string item = text.substr(at + 1, end == std::string::npos ? end : end - at - 1);
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Status::error(Code::invalid_argument, "malformed backend option", {.file = {}, .field = "--backend", .expected = "name:key=value,...", .found = text});
    }
    request.backend_options.emplace_back(item.substr(0, equals), item.substr(equals + 1));
    at = end;
  }
  return {};
}

int list(const Context& context, const std::vector<Described>& rows) {
  if (context.json) {
    Json array = Json::array();
    for (const Described& row : rows) array.push_back({{"name", row.name}, {"summary", row.summary}});
    return print_json(array);
  }
  for (const Described& row : rows) std::printf("%-28s %s\n", row.name.c_str(), row.summary.c_str());
  return kDone;
}

// One line that is rewritten on a terminal; nothing elsewhere.
class ProgressLine {
 public:
  explicit ProgressLine(bool on) : on_(on) {}
  ~ProgressLine() {
    if (on_ && shown_) std::fprintf(stderr, "\r\x1b[K");
  }
  // False ends the export.
  bool show(std::string_view stage, uint64_t done, uint64_t total) {
    if (interrupted()) return false;
    if (!on_) return true;
    shown_ = true;
    if (total == 0) {
      std::fprintf(stderr, "\r\x1b[K%.*s", static_cast<int>(stage.size()), stage.data());
    } else {
      std::fprintf(stderr, "\r\x1b[K%.*s %3.0f %% of %s", static_cast<int>(stage.size()), stage.data(),
                   100.0 * static_cast<double>(done) / static_cast<double>(total), human_bytes(static_cast<double>(total)).c_str());
    }
    std::fflush(stderr);
    return true;
  }

 private:
  bool on_, shown_ = false;
};

Result<ExportReport> export_with_progress(const Context& context, ExportRequest& request) {
  ProgressLine line(!context.quiet && stderr_is_terminal());
  request.progress = [&line](std::string_view stage, uint64_t done, uint64_t total) { return line.show(stage, done, total); };
  catch_interrupts();
  return export_program(request);
}

// Whether `path` is a file of the checkpoint's folder that a report would destroy; an earlier report may be replaced.
bool is_of_source(const std::string& path, const std::string& source) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path folder = fs::path(path).parent_path();
  if (!fs::exists(path, ignored) || !fs::equivalent(folder.empty() ? fs::path(".") : folder, source, ignored)) return false;
  const Result<std::string> there = read_input(path);
  const Json json = there.ok() ? Json::parse(*there, nullptr, false) : Json();
  return !(json.is_object() && json.contains("stage_ms") && json.contains("peak_rss_bytes"));
}

int run_export(Context& context, Options& options) {
  if (options.list_backends) return list(context, list_backends());
  if (options.list_passes) return list(context, list_passes());
  if (options.list_models) return list(context, list_models());
  ExportRequest& request = options.request;
  if (request.source.empty()) return fail_usage(context, "export: SOURCE is missing (try `pteron export --help`)");
  if (request.output.empty()) return fail_usage(context, "export: -o OUT.pte is missing (try `pteron export --help`)");
  if (!options.report.empty() && is_of_source(options.report, request.source)) return fail_usage(context, "export: --report is a file of the source: " + options.report);
  if (const Status status = parse_backend(options.backend, request); !status.ok()) return fail_usage(context, status.message());
  request.quant = quantization(options.quant);
  request.embedding_quant = quantization(options.embedding_quant);
  request.head_quant = quantization(options.head_quant);
  request.dtype = float_type(options.dtype);
  request.ids_dtype = options.ids_dtype == "int32" ? ScalarType::Int : ScalarType::Long;
  if (!options.cache_dtype.empty()) request.cache_dtype = float_type(options.cache_dtype);
  request.mask_form = options.mask_form == "boolean" ? MaskForm::boolean : MaskForm::additive;
  if (!options.logits_rows.empty()) request.logits_rows = options.logits_rows == "all" ? LogitsRows::all : LogitsRows::selected;
  request.context_length = static_cast<size_t>(options.context_length);
  if (options.prefill_rows >= 0) request.prefill_rows = static_cast<size_t>(options.prefill_rows);
  request.assets = !options.no_assets;
  request.threads = context.threads;
  std::optional<PrivateKey> key;
  if (!options.sign_key.empty()) {
    Result<PrivateKey> read = read_private_key(options.sign_key, options.passphrase_file);
    if (!read.ok()) return fail(context, read.status());
    key.emplace(std::move(*read));
    request.key = &*key;
  }
  Result<ExportReport> made = export_with_progress(context, request);
  if (!made.ok()) return fail(context, made.status());
  const ExportReport& report = *made;
  if (!options.report.empty()) {
    if (const Status status = write_output(options.report, report.json + "\n"); !status.ok()) return fail(context, status);
  }
  if (!context.quiet) {
    for (const std::string& warning : report.warnings) std::fprintf(stderr, "pteron: note: %s\n", warning.c_str());
  }
  if (context.json) return print_json(Json::parse(report.json));
  std::fwrite(report.printed.data(), 1, report.printed.size(), stdout);
  if (!context.quiet) std::fprintf(stderr, "wrote %s (%s)\n", request.output.c_str(), human_bytes(static_cast<double>(report.bytes)).c_str());
  return kDone;
}

}  // namespace

void add_export(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  ExportRequest& request = options->request;
  CLI::App& verb = *app.add_subcommand("export", "make a program from a checkpoint");
  reads(verb.add_option("SOURCE", request.source, "a folder with config.json and safetensors, a .gguf file, or a .pt2 file"));
  writes(verb.add_option("-o,--output", request.output, "the .pte to write"));
  const auto quant = CLI::IsMember({"keep", "none", "int8", "int4"});
  const auto floats = CLI::IsMember({"float32", "float16", "bfloat16"});
  verb.add_option("--backend", options->backend, "portable, cpu, ...; with options as name:key=value,...")->capture_default_str();
  verb.add_option("--quant", options->quant, "weights: keep, none, int8 or int4 (keep for GGUF, int4 for cpu from safetensors, none for portable)")->check(quant);
  verb.add_option("--embedding-quant", options->embedding_quant, "the same for the embedding (int8 where --quant is int4)")->check(quant);
  verb.add_option("--head-quant", options->head_quant, "the same for the output head (int8 where --quant is int4)")->check(quant);
  verb.add_option("--dtype", options->dtype, "float weights and activations: float32, float16, bfloat16")->check(floats)->capture_default_str();
  verb.add_option("--context-length", options->context_length, "tokens of context (the model's maximum, at most 4096 unless asked)")->check(CLI::Range(1, 1 << 24));
  verb.add_option("--prefill-rows", options->prefill_rows, "rows of the prefill method, 0 for a decode-only program (128)")->check(CLI::Range(0, 1 << 16));
  verb.add_option("--cache-dtype", options->cache_dtype, "float32, float16, bfloat16 (float16 for cpu, float32 for portable)")->check(floats);
  verb.add_option("--ids-dtype", options->ids_dtype, "token and position ids: int64 or int32")->check(CLI::IsMember({"int64", "int32"}))->capture_default_str();
  verb.add_option("--mask-form", options->mask_form, "additive or boolean")->check(CLI::IsMember({"additive", "boolean"}))->capture_default_str();
  verb.add_option("--logits-rows", options->logits_rows, "logits of the prefill method: all or selected (selected)")->check(CLI::IsMember({"all", "selected"}));
  verb.add_flag("--flat-sliding", request.flat_sliding, "sliding layers as flat caches under a window mask instead of rings");
  verb.add_option("--external-constants", request.external_constants, "put the weights in NAME.ptd beside the program")->check(file_name());
  reads(verb.add_option("--tokenizer", request.tokenizer, "a tokenizer.json instead of the source's"));
  reads(verb.add_option("--chat-template", request.chat_template, "a template file instead of the source's"));
  reads(verb.add_option("--generation-config", request.generation_config, "a generation_config.json instead of the source's"));
  verb.add_flag("--no-assets", options->no_assets, "leave tokenizer, template and generation config out");
  reads(verb.add_option("--sign-key", options->sign_key, "sign with this PEM key"));
  reads(verb.add_option("--passphrase-file", options->passphrase_file, "first line: the key's passphrase"));
  writes(verb.add_option("--report", options->report, "write what was done as JSON"));
  verb.add_option("--print-after", request.print_after, "print the graphs after these passes")->delimiter(',');
  verb.add_flag("--list-passes", options->list_passes, "list the passes and stop");
  verb.add_flag("--list-backends", options->list_backends, "list the backends and stop");
  verb.add_flag("--list-models", options->list_models, "list the architectures and stop");
  finish_verb(verb, context, "pteron export SmolLM2-135M-Instruct/ -o smollm2.pte --backend cpu --quant int4", [&context, options] { return run_export(context, *options); });
}

}  // namespace pteron::tools
