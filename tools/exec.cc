// pteron exec: runs any method of any program on tensors from a file.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "pteron/program.h"
#include "pteron/tensor_file.h"
#include "tools/keys.h"
#include "tools/tensors.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) { return std::chrono::duration<double, std::milli>(Clock::now() - start).count(); }

struct Options {
  std::string file, method = "forward", inputs, output;
  std::vector<std::string> data, feed;
  TrustOptions trust;
  size_t repeat = 1;
};

// One call's worth of inputs and output buffers, kept alive while the method uses them in place.
struct Buffers {
  std::vector<OwnedTensor> inputs, outputs;
};

template <class T>
T scalar_of(const TensorView& tensor) {
  T value{};
  std::memcpy(&value, tensor.data, sizeof value);
  return value;
}

// A scalar input takes its value from a tensor of one element; left out, it is the value that the program was made for.
Status set_scalar(Method& method, size_t index, const SlotInfo& slot, const TensorView* given) {
  const bool fits = given == nullptr || given->nbytes == element_size(given->dtype);
  const auto wrong = [&](const char* expected) {
    return Status::error(Code::invalid_argument, "wrong value for a scalar input",
                         {.file = {}, .field = "input_" + std::to_string(index), .expected = expected, .found = std::string(dtype_name(given->dtype))});
  };
  switch (slot.kind) {
    case ValueKind::number_int:
      if (given == nullptr) return method.set_input(index, slot.int_value);
      if (!fits || given->dtype != ScalarType::Long) return wrong("one int64");
      return method.set_input(index, scalar_of<int64_t>(*given));
    case ValueKind::number_double:
      if (given == nullptr) return method.set_input(index, slot.double_value);
      if (!fits || given->dtype != ScalarType::Double) return wrong("one float64");
      return method.set_input(index, scalar_of<double>(*given));
    case ValueKind::boolean:
      if (given == nullptr) return method.set_input(index, slot.bool_value);
      if (!fits || given->dtype != ScalarType::Bool) return wrong("one bool");
      return method.set_input(index, scalar_of<uint8_t>(*given) != 0);
    case ValueKind::string: return method.set_input(index, std::string_view(slot.string_value));
    default: return method.set_input_none(index);
  }
}

Status set_inputs(Method& method, const TensorFile* file, const std::string& path, Buffers& buffers) {
  const std::vector<SlotInfo>& slots = method.info().inputs;
  buffers.inputs.resize(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    const std::string name = "input_" + std::to_string(i);
    const bool present = file != nullptr && std::find(file->names().begin(), file->names().end(), name) != file->names().end();
    if (slots[i].kind != ValueKind::tensor) {
      TensorView given;
      if (present) given = *file->tensor(name);
      if (Status status = set_scalar(method, i, slots[i], present ? &given : nullptr); !status.ok()) return std::move(status).in_file(path);
      continue;
    }
    if (!present) {
      return Status::error(Code::not_found, "an input is missing",
                           {.file = path.empty() ? "--inputs" : path, .field = name, .expected = std::string(dtype_name(slots[i].dtype)) + " tensor", .found = "none"});
    }
    buffers.inputs[i] = with_dim_order(*file->tensor(name), slots[i].dim_order);
    if (Status status = method.set_input(i, buffers.inputs[i].view()); !status.ok()) return std::move(status).in_file(path);
  }
  return {};
}

Status bind_outputs(Method& method, Buffers& buffers) {
  const std::vector<SlotInfo>& slots = method.info().outputs;
  buffers.outputs.resize(slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    const SlotInfo& slot = slots[i];
    if (slot.kind != ValueKind::tensor || slot.planned) continue;
    OwnedTensor& buffer = buffers.outputs[i];
    buffer = {slot.dtype, slot.sizes, slot.dim_order, std::vector<std::byte>(slot.nbytes)};
    if (Status status = method.bind_output(i, {buffer.dtype, buffer.sizes, buffer.dim_order, buffer.data.data(), buffer.data.size()}); !status.ok()) return status;
  }
  return {};
}

// "1=2" means: output 1 of a call becomes input 2 of the next.
Result<std::vector<std::pair<size_t, size_t>>> parse_feeds(const std::vector<std::string>& texts, const MethodInfo& info) {
  std::vector<std::pair<size_t, size_t>> feeds;
  for (const std::string& text : texts) {
    size_t from = 0, to = 0;
    int used = 0;
    if (std::sscanf(text.c_str(), "%zu=%zu%n", &from, &to, &used) != 2 || static_cast<size_t>(used) != text.size() || from >= info.outputs.size() ||
        to >= info.inputs.size()) {
      return Status::error(Code::invalid_argument, "malformed --feed",
                           {.file = {}, .field = "--feed",
                            .expected = "OUT=IN with OUT below " + std::to_string(info.outputs.size()) + " and IN below " + std::to_string(info.inputs.size()), .found = text});
    }
    feeds.emplace_back(from, to);
  }
  return feeds;
}

Status feed(Method& method, const std::vector<std::pair<size_t, size_t>>& feeds, Buffers& buffers) {
  for (const auto& [from, to] : feeds) {
    Result<TensorView> output = method.output(from);
    if (!output.ok()) return output.status();
    buffers.inputs[to] = with_dim_order(*output, method.info().inputs[to].dim_order);
    if (Status status = method.set_input(to, buffers.inputs[to].view()); !status.ok()) return status;
  }
  return {};
}

// Scalar outputs become tensors of rank 0, so that a result file holds everything a method gave.
Result<OwnedTensor> fetch(const Method& method, size_t index) {
  const auto scalar = [](ScalarType dtype, const void* value, size_t bytes) {
    OwnedTensor tensor{dtype, {}, {}, std::vector<std::byte>(bytes)};
    std::memcpy(tensor.data.data(), value, bytes);
    return tensor;
  };
  switch (method.output_kind(index)) {
    case ValueKind::tensor: {
      Result<TensorView> view = method.output(index);
      if (!view.ok()) return view.status();
      return with_dim_order(*view, {});
    }
    case ValueKind::number_int: {
      const int64_t value = *method.output_int(index);
      return scalar(ScalarType::Long, &value, sizeof value);
    }
    case ValueKind::number_double: {
      const double value = *method.output_double(index);
      return scalar(ScalarType::Double, &value, sizeof value);
    }
    case ValueKind::boolean: {
      const bool value = *method.output_bool(index);
      return scalar(ScalarType::Bool, &value, 1);
    }
    case ValueKind::string: {
      const std::string_view text = *method.output_string(index);
      OwnedTensor tensor{ScalarType::Byte, {static_cast<int32_t>(text.size())}, {}, std::vector<std::byte>(text.size())};
      std::memcpy(tensor.data.data(), text.data(), text.size());
      return tensor;
    }
    default: return OwnedTensor{ScalarType::Byte, {0}, {}, {}};  // None
  }
}

Json describe_output(const OwnedTensor& tensor) { return {{"dtype", dtype_name(tensor.dtype)}, {"shape", tensor.sizes}}; }

int run_exec(Context& context, const Options& options) {
  const Result<TrustedPolicy> trusted = load_policy(options.trust);
  if (!trusted.ok()) return fail(context, trusted.status());
  const Clock::time_point load_start = Clock::now();
  Result<Program> program = Program::open(options.file, trusted->policy, options.data);
  if (!program.ok()) return fail(context, program.status());
  MethodOptions method_options;
  method_options.threads = context.threads;
  Result<Method> method = program->load(options.method, method_options);
  if (!method.ok()) return fail(context, method.status().in_file(options.file));
  const double load_ms = ms_since(load_start);

  std::optional<TensorFile> file;
  if (!options.inputs.empty()) {
    Result<TensorFile> opened = TensorFile::open(options.inputs);
    if (!opened.ok()) return fail(context, opened.status());
    file.emplace(std::move(*opened));
  }
  const auto feeds = parse_feeds(options.feed, method->info());
  if (!feeds.ok()) return fail_usage(context, feeds.status().message());
  Buffers buffers;
  if (const Status status = set_inputs(*method, file ? &*file : nullptr, options.inputs, buffers); !status.ok()) return fail(context, status);
  if (Status status = bind_outputs(*method, buffers); !status.ok()) return fail(context, std::move(status).in_file(options.file));

  catch_interrupts();
  double first_ms = 0;
  std::vector<double> later;
  for (size_t call = 0; call < options.repeat; ++call) {
    if (interrupted()) return kInterrupted;
    if (call > 0) {
      if (const Status status = feed(*method, *feeds, buffers); !status.ok()) return fail(context, status);
    }
    const Clock::time_point start = Clock::now();
    if (Status status = method->execute(); !status.ok()) return fail(context, std::move(status).in_file(options.file));
    const double ms = ms_since(start);
    if (call == 0) first_ms = ms;
    else later.push_back(ms);
  }
  std::sort(later.begin(), later.end());

  std::vector<OwnedTensor> results;
  std::vector<NamedTensor> named;
  Json outputs = Json::array();
  for (size_t i = 0; i < method->info().outputs.size(); ++i) {
    Result<OwnedTensor> result = fetch(*method, i);
    if (!result.ok()) return fail(context, result.status().in_file(options.file));
    outputs.push_back(describe_output(*result));
    results.push_back(std::move(*result));
  }
  for (size_t i = 0; i < results.size(); ++i) named.push_back({"output_" + std::to_string(i), results[i].view()});
  if (!options.output.empty()) {
    if (const Status status = write_tensor_file(options.output, named); !status.ok()) return fail(context, status);
  }
  const double median = later.empty() ? first_ms : later[later.size() / 2];
  if (context.json) return print_json({{"load_ms", load_ms}, {"first_ms", first_ms}, {"median_ms", median}, {"calls", options.repeat}, {"outputs", outputs}});
  std::printf("load %.1f ms, first call %.2f ms, median %.2f ms\n", load_ms, first_ms, median);
  for (size_t i = 0; i < outputs.size(); ++i) std::printf("output_%zu %s %s\n", i, outputs[i]["dtype"].get<std::string>().c_str(), outputs[i]["shape"].dump().c_str());
  return kDone;
}

}  // namespace

void add_exec(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("exec", "run a method of any program on tensors from a file");
  reads(verb.add_option("FILE", options->file, "the program"))->required();
  verb.add_option("--method", options->method, "the method")->capture_default_str();
  reads(verb.add_option("--inputs", options->inputs, "safetensors file with input_0, input_1, ... (scalars as tensors of one element)"));
  writes(verb.add_option("-o,--output", options->output, "safetensors file to write output_0, output_1, ... to"));
  reads(verb.add_option("--data", options->data, "a .ptd file with external tensors (repeatable)"));
  verb.add_option("--repeat", options->repeat, "number of calls; state carries over")->check(CLI::Range(1, 100000000))->capture_default_str();
  verb.add_option("--feed", options->feed, "OUT=IN: output OUT of a call becomes input IN of the next (repeatable)");
  add_trust_options(verb, options->trust);
  finish_verb(verb, context, "pteron exec model.pte --method forward --inputs in.safetensors -o out.safetensors", [&context, options] { return run_exec(context, *options); });
}

}  // namespace pteron::tools
