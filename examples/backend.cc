// A backend of one's own, both halves: it takes the sums and products of two tensors of a model, and everything else stays with plain operators.
// Exports a checkpoint for it, and shows that the program computes what the portable one does.
//   backend CHECKPOINT [ID...]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "pteron/pteron.h"

namespace {

using pteron::Code;
using pteron::Result;
using pteron::Status;

constexpr int32_t kMagic = 0x52494150;  // "PAIR"

// The payload: the magic, the number of arguments, the number of values that never leave the region, the elements of each of these, then the
// steps. Their operands count arguments first, then values of the region's own.
struct Step {
  int32_t kind, a, b, out;  // kind: '+' or '*'
};

class PairsCompiler : public pteron::CompileBackend {
 public:
  std::string_view name() const override { return "pairs"; }
  std::string_view delegate_id() const override { return "ExamplePairs"; }
  std::string_view summary() const override { return "sums and products of two tensors"; }

  Status check_options(pteron::BackendOptionList options) const override {
    for (const auto& [key, value] : options) {
      if (key != "only" || (value != "sums" && value != "products")) {
        return Status::error(Code::invalid_argument, "unknown option of the pairs backend", {.field = key, .expected = "only=sums or only=products", .found = value});
      }
    }
    return {};
  }

  std::vector<pteron::BackendClaim> claim(const pteron::BackendGraph& graph, pteron::BackendOptionList options) const override {
    std::vector<pteron::BackendClaim> claims;
    for (const pteron::GraphNode& node : graph.nodes) {
      std::string reason;
      if (node.op != "aten::add.out" && node.op != "aten::mul.out") reason = "neither a sum nor a product";
      else if (!options.empty() && (options[0].second == "sums") != (node.op == "aten::add.out")) reason = "left out by an option";
      for (const int32_t id : node.operands) {
        const auto& value = graph.values[static_cast<size_t>(id)];
        if (!reason.empty()) break;
        if (value.constant) reason = "an operand is a constant";
        else if (value.dtype != pteron::ScalarType::Float) reason = "an operand is not float32";
        else if (value.sizes != graph.values[static_cast<size_t>(node.results[0])].sizes) reason = "an operand is broadcast";
      }
      claims.push_back({reason.empty(), reason});
    }
    return claims;
  }

  Result<pteron::BackendPayload> compile(const pteron::BackendGraph& region, pteron::BackendOptionList) const override {
    std::vector<int32_t> number(region.values.size(), -1), sizes;
    int32_t arguments = 0;
    for (const int32_t id : region.inputs) number[static_cast<size_t>(id)] = arguments++;
    for (const int32_t id : region.outputs) number[static_cast<size_t>(id)] = arguments++;
    std::vector<Step> steps;
    for (const pteron::GraphNode& node : region.nodes) {
      const auto result = static_cast<size_t>(node.results[0]);
      if (number[result] < 0) {
        number[result] = arguments + static_cast<int32_t>(sizes.size());
        int64_t elements = 1;
        for (const int64_t size : region.values[result].sizes) elements *= size;
        sizes.push_back(static_cast<int32_t>(elements));
      }
      steps.push_back({node.op == "aten::add.out" ? '+' : '*', number[static_cast<size_t>(node.operands[0])], number[static_cast<size_t>(node.operands[1])], number[result]});
    }
    std::vector<int32_t> words = {kMagic, arguments, static_cast<int32_t>(sizes.size())};
    words.insert(words.end(), sizes.begin(), sizes.end());
    for (const Step& step : steps) words.insert(words.end(), {step.kind, step.a, step.b, step.out});
    pteron::BackendPayload out;
    out.bytes.resize(words.size() * sizeof(int32_t));
    std::memcpy(out.bytes.data(), words.data(), out.bytes.size());
    return out;
  }
};

struct Operand {
  float* data = nullptr;
  size_t count = 0;
  bool writable = true;
};

class PairsDelegate : public pteron::RunDelegate {
 public:
  PairsDelegate(size_t arguments, std::vector<std::vector<float>> own, std::vector<Step> steps)
      : arguments_(arguments), own_(std::move(own)), steps_(std::move(steps)), operands_(arguments_ + own_.size()) {}

  Status execute(std::span<const pteron::DelegateArgument> arguments) override {
    if (arguments.size() != arguments_) return Status::error(Code::invalid_argument, "the pairs backend was called with another number of arguments");
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (i >= arguments_) {
        operands_[i] = {own_[i - arguments_].data(), own_[i - arguments_].size()};
        continue;
      }
      const pteron::DelegateArgument& argument = arguments[i];
      const bool floats = argument.kind == pteron::ValueKind::tensor && argument.tensor.dtype == pteron::ScalarType::Float && argument.tensor.data != nullptr;
      if (!floats) return Status::error(Code::invalid_argument, "an argument of the pairs backend is no float32 tensor with memory");
      operands_[i] = {static_cast<float*>(argument.tensor.data), argument.tensor.nbytes / sizeof(float), argument.writable};
    }
    for (const Step& step : steps_) {
      const Operand &a = operands_[static_cast<size_t>(step.a)], &b = operands_[static_cast<size_t>(step.b)], &out = operands_[static_cast<size_t>(step.out)];
      if (a.count != out.count || b.count != out.count || !out.writable) return Status::error(Code::invalid_argument, "operands of the pairs backend do not fit each other");
      for (size_t i = 0; i < out.count; ++i) out.data[i] = step.kind == '+' ? a.data[i] + b.data[i] : a.data[i] * b.data[i];
      ++executed;
    }
    return {};
  }
  static inline size_t executed = 0;

 private:
  size_t arguments_;
  std::vector<std::vector<float>> own_;
  std::vector<Step> steps_;
  std::vector<Operand> operands_;
};

class PairsRunner : public pteron::RunBackend {
 public:
  std::string_view id() const override { return "ExamplePairs"; }

  // A payload comes from a file: whatever it says is checked here, once.
  Result<std::unique_ptr<pteron::RunDelegate>> init(std::span<const std::byte> payload, const pteron::DelegateContext&) const override {
    std::vector<int32_t> words(payload.size() / sizeof(int32_t));
    if (!words.empty()) std::memcpy(words.data(), payload.data(), words.size() * sizeof(int32_t));
    const auto malformed = [](const char* field) { return Status::error(Code::invalid_data, "malformed payload of the pairs backend", {.field = field}); };
    if (words.size() < 3 || payload.size() % sizeof(int32_t) != 0 || words[0] != kMagic) return malformed("magic");
    const int64_t arguments = words[1], own = words[2], rest = static_cast<int64_t>(words.size()) - 3 - own;
    if (arguments < 0 || arguments > 1 << 16) return malformed("arguments");
    if (own < 0 || rest < 0 || rest % 4 != 0) return malformed("size");
    std::vector<std::vector<float>> memory;
    for (int64_t i = 0; i < own; ++i) {
      const int32_t elements = words[static_cast<size_t>(3 + i)];
      if (elements < 1 || elements > 1 << 24) return malformed("elements");
      memory.emplace_back(static_cast<size_t>(elements));
    }
    std::vector<Step> steps;
    for (size_t at = static_cast<size_t>(3 + own); at < words.size(); at += 4) {
      const Step step = {words[at], words[at + 1], words[at + 2], words[at + 3]};
      if (step.kind != '+' && step.kind != '*') return malformed("kind");
      for (const int32_t index : {step.a, step.b, step.out}) {
        if (index < 0 || index >= arguments + own) return malformed("operand");
      }
      steps.push_back(step);
    }
    return std::unique_ptr<pteron::RunDelegate>(std::make_unique<PairsDelegate>(static_cast<size_t>(arguments), std::move(memory), std::move(steps)));
  }
};

int fail(const Status& status) {
  std::fprintf(stderr, "backend: %s\n", status.message().c_str());
  return 1;
}

// The logits after `tokens`, of a program that was exported for `backend`.
Result<std::vector<float>> logits(const std::string& checkpoint, const std::string& backend, const std::vector<pteron::TokenId>& tokens) {
  const PairsCompiler compiler;
  const PairsRunner runner;
  pteron::ExportRequest request;
  request.source = checkpoint;
  request.output = backend + ".pte";
  request.backend = backend;
  request.backends = {&compiler};
  request.assets = false;
  if (const auto made = pteron::export_program(request); !made.ok()) return made.status();
  pteron::EngineOptions options;
  options.backends = {&runner};
  auto engine = pteron::Engine::load(request.output, options);
  if (!engine.ok()) return engine.status();
  auto session = engine->new_session();
  if (!session.ok()) return session.status();
  const auto row = session->append(tokens);
  if (!row.ok()) return row.status();
  return std::vector<float>(row->begin(), row->end());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: backend CHECKPOINT [ID...]\n");
    return 2;
  }
  std::vector<pteron::TokenId> tokens;
  for (int i = 2; i < argc; ++i) tokens.push_back(std::atoi(argv[i]));
  if (tokens.empty()) tokens = {1, 2, 3};
  const auto pairs = logits(argv[1], "pairs", tokens);
  if (!pairs.ok()) return fail(pairs.status());
  const size_t executed = PairsDelegate::executed;
  const auto portable = logits(argv[1], "portable", tokens);
  if (!portable.ok()) return fail(portable.status());
  float worst = 0;
  for (size_t i = 0; i < pairs->size(); ++i) worst = std::max(worst, std::fabs((*pairs)[i] - (*portable)[i]));
  // Without its run half the program is refused, not half run.
  const auto refused = pteron::Engine::load("pairs.pte");
  const auto session = refused.ok() ? refused->new_session().status() : refused.status();
  std::printf("%zu steps in the backend, logits within %g of the portable program; without the backend: %s\n", executed, static_cast<double>(worst),
              session.ok() ? "loaded" : session.message().c_str());
  return executed > 0 && worst == 0 && !session.ok() ? 0 : 1;
}
