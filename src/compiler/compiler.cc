#include "compiler/compiler.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "compiler/assets.h"
#include "compiler/contract.h"
#include "compiler/report.h"
#include "import/checkpoint.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "models/build.h"
#include "models/family.h"
#include "partition/partition.h"
#include "passes/passes.h"

namespace pteron::compiler {
namespace {

constexpr int64_t kDefaultContext = 4096, kDefaultPrefillRows = 128;
constexpr int64_t kVerifyRows = 8;

Status wrong_option(const char* field, std::string expected, std::string found) {
  return Status::error(Code::invalid_argument, "an export option has a wrong value", {.field = field, .expected = std::move(expected), .found = std::move(found)});
}

ir::Packing packing(Quantization quant) {
  switch (quant) {
    case Quantization::keep: return ir::Packing::keep;
    case Quantization::int8: return ir::Packing::int8;
    case Quantization::int4: return ir::Packing::int4;
    default: return ir::Packing::plain;
  }
}

bool block_encoded(const WeightSource& weights) {
  const auto names = weights.names();
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    const ConstantPtr source = weights.find(name);
    return source && source->encoding() != BlockEncoding::none;
  });
}

Status set_packings(const CompileRequest& request, const WeightSource& weights, models::BuildOptions& out) {
  const ir::Packing preset = request.backend ? request.backend->default_packing() : ir::Packing::plain;
  const bool packs = preset != ir::Packing::plain;
  out.packing = request.quant ? packing(*request.quant) : packs && block_encoded(weights) ? ir::Packing::keep : preset;
  // Embedding and head are more sensitive than the rest: 8 bits where the rest has 4.
  const ir::Packing milder = out.packing == ir::Packing::int4 ? ir::Packing::int8 : out.packing;
  out.embedding_packing = request.embedding_quant ? packing(*request.embedding_quant) : milder;
  out.head_packing = request.head_quant ? packing(*request.head_quant) : milder;
  for (ir::Packing p : {out.packing, out.embedding_packing, out.head_packing}) {
    if (p != ir::Packing::plain && !packs) {
      return Status::error(Code::unsupported, "the backend stores weights as floats only",
                           {.field = "quant", .expected = "none", .found = std::string(ir::packing_name(p))});
    }
  }
  return {};
}

Result<models::BuildOptions> build_options(const CompileRequest& request, const models::Decoder& decoder, const WeightSource& weights, std::vector<std::string>& warnings) {
  models::BuildOptions out;
  const auto float_type = [](ScalarType t) { return t == ScalarType::Float || t == ScalarType::Half || t == ScalarType::BFloat16; };
  const ScalarType preset = request.backend ? request.backend->default_cache_dtype() : ScalarType::Float;
  out.dtype = request.dtype;
  out.cache_dtype = request.cache_dtype.value_or(preset);
  out.ids_dtype = request.ids_dtype;
  if (!float_type(out.dtype)) return wrong_option("dtype", "float32, float16 or bfloat16", std::string(dtype_name(out.dtype)));
  if (!float_type(out.cache_dtype)) return wrong_option("cache_dtype", "float32, float16 or bfloat16", std::string(dtype_name(out.cache_dtype)));
  if (out.ids_dtype != ScalarType::Long && out.ids_dtype != ScalarType::Int) return wrong_option("ids_dtype", "int64 or int32", std::string(dtype_name(out.ids_dtype)));
  if (request.context_length < 0 || request.context_length > INT32_MAX) return wrong_option("context_length", "1 to 2147483647", std::to_string(request.context_length));
  out.context_length = request.context_length > 0 ? request.context_length : std::min(decoder.max_positions, kDefaultContext);
  if (out.context_length > decoder.max_positions && !decoder.positions_limited) {
    warnings.push_back("the context of " + std::to_string(out.context_length) + " tokens exceeds the " + std::to_string(decoder.max_positions) + " that the model was trained for");
  }
  out.prefill_rows = request.prefill_rows.value_or(std::min(kDefaultPrefillRows, out.context_length));
  if (!request.prefill_rows && out.prefill_rows < 2) out.prefill_rows = 0;
  out.boolean_mask = request.boolean_mask;
  out.prefill_selected = request.selected_logits.value_or(true);
  out.decode_selected = false;  // one row either way
  // Guessed tokens are checked a few at a time: by a method of its own, unless the prefill method is as small and shows all rows, or there is none.
  if (out.prefill_rows > kVerifyRows || (out.prefill_rows > 0 && out.prefill_selected)) out.verify_rows = std::min(kVerifyRows, out.prefill_rows);
  out.flat_sliding = request.flat_sliding;
  PTERON_TRY(set_packings(request, weights, out));
  return out;
}

nlohmann::ordered_json options_json(const CompileRequest& request, const models::BuildOptions& o) {
  nlohmann::ordered_json out = {{"backend", request.backend ? std::string(request.backend->name()) : "portable"},
                                {"dtype", dtype_name(o.dtype)},
                                {"quant", ir::packing_name(o.packing)},
                                {"embedding_quant", ir::packing_name(o.embedding_packing)},
                                {"head_quant", ir::packing_name(o.head_packing)},
                                {"context_length", o.context_length},
                                {"prefill_rows", o.prefill_rows},
                                {"cache_dtype", dtype_name(o.cache_dtype)},
                                {"ids_dtype", dtype_name(o.ids_dtype)},
                                {"mask_form", o.boolean_mask ? "boolean" : "additive"},
                                {"logits_rows", o.prefill_selected ? "selected" : "all"},
                                {"flat_sliding", o.flat_sliding}};
  for (const auto& [key, value] : request.backend_options) out["backend_options"][key] = value;
  return out;
}

// One run of the pipeline.
class Pipeline {
 public:
  explicit Pipeline(const CompileRequest& request) : request_(request), stages_(request) {}

  Result<CompileReport> run() {
    PTERON_TRY(check_print_after());
    PTERON_TRY(check_output());
    PTERON_TRY(stages_.begin("import"));
    PTERON_ASSIGN(checkpoint_, importer::open_checkpoint(request_.source));
    PTERON_TRY(stages_.begin("build"));
    PTERON_TRY(build());
    PTERON_TRY(stages_.begin("passes"));
    for (const ir::Pass& pass : request_.passes) PTERON_TRY(run_pass(pass));
    PTERON_TRY(run_pass(*passes::find_pass("dedupe_constants")));
    PTERON_TRY(stages_.begin("partition"));
    PTERON_TRY(partition());
    PTERON_TRY(stages_.begin("legalize"));
    for (const char* name : {"legalize", "fold", "reinplace", "dce"}) PTERON_TRY(run_pass(*passes::find_pass(name)));
    return write();
  }

 private:
  Status check_print_after() const {
    const auto known = printable_passes();
    for (const std::string& name : request_.print_after) {
      const bool found = std::any_of(known.begin(), known.end(), [&](const auto& pass) { return pass.first == name; });
      if (!found && std::none_of(request_.passes.begin(), request_.passes.end(), [&](const ir::Pass& pass) { return pass.name == name; })) {
        std::string list;
        for (const auto& pass : known) list += (list.empty() ? "" : ", ") + pass.first;
        return wrong_option("print_after", "one of " + list, name);
      }
    }
    return {};
  }

  // What is read is not written over, and of two outputs none is the other.
  Status check_output() const {
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::path output(request_.output), source(request_.source);
    const bool reads_it = fs::equivalent(output, source, ignored) ||
                          (fs::equivalent(output.parent_path().empty() ? fs::path(".") : output.parent_path(), source, ignored) &&
                           (output.extension() == ".json" || output.extension() == ".safetensors" || output.extension() == ".gguf"));
    if (reads_it) return Status::error(Code::invalid_argument, "the output is a file of the source", {request_.output, "output", "another name", {}});
    const std::string& external = request_.external_constants;
    if (external.empty()) return {};
    if (external.find('/') != std::string::npos || external == "." || external == ".." || external == output.filename().string())
      return wrong_option("external_constants", "a file name without folders, other than the program's", external);
    return {};
  }

  Status print_if_asked(const std::string& name) {
    if (std::find(request_.print_after.begin(), request_.print_after.end(), name) == request_.print_after.end()) return {};
    PTERON_ASSIGN(const std::string text, ir::print(model_.module));
    report_.printed += "# after " + name + "\n" + text;
    return {};
  }

  // A pass leaves a module that verifies; one that does not has a defect of its own.
  Status run_pass(const ir::Pass& pass) {
    PTERON_TRY(pass.run(model_.module, notes_));
    PTERON_TRY(ir::verify(model_.module).in_field(pass.name));
    return print_if_asked(pass.name);
  }

  Status build() {
    const WeightSource& weights = *checkpoint_.weights;
    PTERON_ASSIGN(decoder_, models::describe(checkpoint_.config, config_file(), [&](const std::string& name) { return weights.find(name) != nullptr; }));
    PTERON_ASSIGN(generation_, generation_config(request_, checkpoint_, decoder_.vocab));
    auto tokens = special_tokens(checkpoint_, generation_, decoder_.vocab);
    if (!tokens.ok()) return std::move(tokens).status().in_file(config_file());
    tokens_ = std::move(*tokens);
    PTERON_ASSIGN(options_, build_options(request_, decoder_, weights, report_.warnings));
    PTERON_ASSIGN(model_, models::build(decoder_, weights, options_));
    PTERON_TRY(check_session_size());
    PTERON_TRY(ir::verify(model_.module).in_field("build"));
    PTERON_TRY(print_if_asked("build"));
    if (!model_.unused.empty()) {
      report_.warnings.push_back(std::to_string(model_.unused.size()) + " tensors of the checkpoint are not used, the first is " + model_.unused[0]);
    }
    return run_pass(*passes::find_pass("static_cache"));
  }

  // A context as large as a number can say is no use to a machine that has to hold its masks and caches.
  Status check_session_size() {
    constexpr int64_t kMaxMaskBytes = int64_t{1} << 31, kLargeSession = int64_t{1} << 32;
    const int64_t rows = std::max<int64_t>(options_.prefill_rows, 1), mask_element = options_.boolean_mask ? 1 : static_cast<int64_t>(element_size(options_.dtype));
    int64_t slots = 0, cache_elements = 0;
    for (const models::CacheLayer& layer : model_.cache) {
      slots = std::max(slots, layer.slots);
      cache_elements += layer.slots * layer.heads * (layer.key_dim + layer.value_dim);
    }
    const int64_t mask_bytes = rows * slots * mask_element, cache_bytes = cache_elements * static_cast<int64_t>(element_size(options_.cache_dtype));
    if (mask_bytes > kMaxMaskBytes) {
      return Status::error(Code::out_of_capacity, "the mask of a prefill call is too large; a shorter context or fewer prefill rows make it smaller",
                           {.field = "context_length",
                            .expected = "at most " + std::to_string(kMaxMaskBytes / (rows * mask_element)) + " tokens with " + std::to_string(rows) + " prefill rows (a mask of " + std::to_string(kMaxMaskBytes) + " bytes)",
                            .found = std::to_string(options_.context_length) + " tokens (" + std::to_string(mask_bytes) + " bytes)"});
    }
    if (mask_bytes + cache_bytes > kLargeSession) {
      report_.warnings.push_back("a session with " + std::to_string(options_.context_length) + " tokens of context takes " + std::to_string(cache_bytes / 1000000) + " MB of caches and " +
                                 std::to_string(mask_bytes / 1000000) + " MB of masks; a smaller context_length takes less");
    }
    return {};
  }

  std::string config_file() const { return checkpoint_.source.ends_with(".gguf") ? checkpoint_.source : checkpoint_.source + "/config.json"; }

  Status partition() {
    if (!request_.backend) {
      return request_.backend_options.empty() ? Status() : partition::unknown_option("portable", request_.backend_options[0].first, {});
    }
    PTERON_ASSIGN(const auto options, request_.backend->parse_options(request_.backend_options));
    for (const ir::Pass& pass : request_.backend->edge_transforms(*options)) PTERON_TRY(run_pass(pass));
    for (ir::Graph& graph : model_.module.methods) {
      PTERON_ASSIGN(auto split, partition::partition(model_.module, graph, *request_.backend, *options, data_));
      partitions_.push_back(std::move(split));
    }
    PTERON_TRY(ir::verify(model_.module).in_field("partition"));
    return print_if_asked("partition");
  }

  Result<CompileReport> write() {
    PTERON_TRY(stages_.begin("assets"));
    const nlohmann::ordered_json options = options_json(request_, options_);
    emit::EmitRequest emission;
    PTERON_ASSIGN(emission.named_data, make_assets(request_, checkpoint_, generation_, options, report_.warnings,
                                                       [&](uint64_t done, uint64_t total) { return stages_.progress(done, total); }));
    emission.module = &model_.module;
    emission.state_outputs = request_.state_outputs;
    emission.constant_methods = contract_methods(
        model_.module, {&decoder_, &options_, &model_.cache, &model_.ropes, request_.state_outputs, tokens_.eos, tokens_.bos, tokens_.pad});
    for (const auto& entry : data_.entries()) emission.named_data.push_back({entry.key, entry.bytes.nbytes, entry.bytes.stream, entry.alignment});
    for (auto& split : partitions_) {
      auto& blobs = emission.delegates.emplace_back();
      for (auto& delegate : split.delegates) blobs.push_back({delegate.id, delegate.payload.bytes, delegate.payload.compile_specs});
    }
    if (!request_.external_constants.empty() && !data_.entries().empty()) {
      report_.warnings.push_back("weights that the backend packed stay in the program; only constants of plain operators go to " + request_.external_constants);
    }
    PTERON_TRY(stages_.begin("emit"));
    PTERON_ASSIGN(FileWriter file, FileWriter::create(request_.output));
    std::optional<FileWriter> external;
    if (!request_.external_constants.empty()) {
      const size_t slash = request_.output.rfind('/');
      PTERON_ASSIGN(FileWriter writer, FileWriter::create((slash == std::string::npos ? "" : request_.output.substr(0, slash + 1)) + request_.external_constants));
      external.emplace(std::move(writer));
      emission.external = &*external;
    }
    uint64_t noted = 0;
    PTERON_ASSIGN(const emit::EmitReport emitted, emit::emit(emission, file, [&](uint64_t done, uint64_t total) -> Status {
      if (done - noted < (uint64_t{4} << 20) && done != total) return {};
      noted = done;
      stages_.note_memory();
      return stages_.progress(done, total);
    }));
    if (request_.seal) PTERON_TRY(request_.seal(file, emission.external));
    PTERON_TRY(stages_.progress(0, 0));
    report_.bytes = file.position();
    if (external) PTERON_TRY(external->commit());
    PTERON_TRY(file.commit());
    stages_.end();
    const std::string backend = request_.backend ? std::string(request_.backend->name()) : "portable";
    report_.json = report_json({backend, &model_.module, &partitions_, &emitted, options, notes_, report_.warnings, report_.bytes}, stages_).dump(2);
    return std::move(report_);
  }

  const CompileRequest& request_;
  Stages stages_;
  importer::Checkpoint checkpoint_;
  models::Decoder decoder_;
  nlohmann::json generation_;
  SpecialTokens tokens_;
  models::BuildOptions options_;
  models::BuiltModel model_;
  partition::NamedDataStore data_;
  std::vector<partition::MethodPartition> partitions_;
  ir::Notes notes_;
  CompileReport report_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> printable_passes() {
  std::vector<std::pair<std::string, std::string>> out{{"build", "the graphs as the model family builds them, caches inside"}};
  for (const ir::Pass& pass : passes::all_passes()) out.emplace_back(pass.name, pass.summary);
  out.emplace_back("partition", "regions that the backend claims become delegate calls");
  return out;
}

Result<CompileReport> compile(const CompileRequest& request) { return Pipeline(request).run(); }

}  // namespace pteron::compiler
