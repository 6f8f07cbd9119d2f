#include "llm/conformance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "llm/conformance_suite.h"
#include "llm/sampler.h"

namespace pteron::llm {
namespace {

std::array<std::span<const Case>, 4> families() { return {contract_cases(), driver_cases(), program_cases(), session_cases()}; }

bool selected(std::string_view name, std::string_view only) {
  return only.empty() || name == only || (name.starts_with(only) && name[only.size()] == '.');
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok: return "ok";
    case Outcome::failed: return "failed";
    case Outcome::not_applicable: return "not applicable";
  }
  return "";
}

Suite::Suite(const MethodSource& source, const ConformanceOptions& options)
    : source_(source), options_(options), registry_(options.registry != nullptr ? *options.registry : IoManagerRegistry::with_defaults()) {
  auto object = source.constant_string(kContractMethod);
  if (!object.ok()) {
    opened_ = std::move(object).status();
    return;
  }
  object_ = *object;
  auto contract = parse_contract(object_);
  auto io = registry_.open(source);
  opened_ = contract.ok() ? io.status() : contract.status();
  if (!opened_.ok()) return;
  contract_ = std::move(*contract);
  io_ = std::move(*io);
}

size_t Suite::rows() const {
  const MethodSpec* prefill = contract_.method(MethodRole::prefill);
  return prefill == nullptr ? 0 : static_cast<size_t>(prefill->rows);
}

const LayerSpec* Suite::ring() const {
  const auto at = std::find_if(contract_.layers.begin(), contract_.layers.end(), [&](const LayerSpec& layer) { return !holds_everything(contract_, layer); });
  return at == contract_.layers.end() ? nullptr : &*at;
}

std::vector<TokenId> Suite::tokens(size_t count, uint32_t seed) const {
  Random random(seed);
  std::vector<TokenId> out(count);
  for (TokenId& token : out) token = static_cast<TokenId>(random.next() % static_cast<uint64_t>(contract_.vocab_size));
  return out;
}

Result<Session> Suite::session(const MethodSource& source, const SessionOptions& options, bool use_prefill) const {
  ManagerOptions manager_options;
  manager_options.use_prefill = use_prefill;
  manager_options.threads = options_.threads;
  return Session::create(*io_, source, manager_options, options);
}

Result<std::unique_ptr<IoManager>> Suite::manager(const MethodSource& source) const {
  ManagerOptions manager_options;
  manager_options.threads = options_.threads;
  return io_->new_manager(source, manager_options);
}

bool Suite::near(std::span<const float> a, std::span<const float> b, std::string& difference) const {
  double largest = 1, apart = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
    const double d = std::abs(static_cast<double>(a[i]) - b[i]);
    if (!(d <= apart)) apart = d;  // NaN too
  }
  difference = "max abs difference " + std::to_string(apart);
  return a.size() == b.size() && apart <= options_.tolerance * largest;
}

double Suite::seconds_for(size_t tokens) const {
  if (call_seconds_[0] < 0) {
    auto made = manager(source_);
    if (!made.ok()) return 0;
    const std::vector<TokenId> some = this->tokens(std::max<size_t>(rows(), 1));
    for (const Step step : {Step::decode, Step::prefill}) {
      if (step == Step::prefill && rows() == 0) continue;
      const auto begin = std::chrono::steady_clock::now();
      (void)(*made)->run(step, std::span(some).first(step == Step::decode ? 1 : rows()), 0);
      call_seconds_[step == Step::decode ? 0 : 1] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }
  }
  if (rows() == 0) return call_seconds_[0] * static_cast<double>(tokens);
  return call_seconds_[1] * static_cast<double>(tokens / rows()) + call_seconds_[0] * static_cast<double>(std::min(tokens, rows()));
}

std::vector<float> copy(LogitsView logits) { return {logits.begin(), logits.end()}; }

std::vector<std::string_view> conformance_cases() {
  std::vector<std::string_view> names;
  for (const auto family : families()) {
    for (const Case& entry : family) names.push_back(entry.name);
  }
  return names;
}

Result<std::vector<CaseResult>> run_conformance(const MethodSource& source, const ConformanceOptions& options) {
  const Suite suite(source, options);
  std::vector<CaseResult> results;
  for (const auto family : families()) {
    for (const Case& entry : family) {
      if (!selected(entry.name, options.only)) continue;
      if (options.on_start) options.on_start(entry.name);
      Verdict verdict = suite.opened().ok() || !entry.needs_program ? entry.run(suite) : not_applicable("the contract cannot be opened");
      results.push_back({std::string(entry.name), verdict.outcome, std::move(verdict.detail)});
      if (options.on_case) options.on_case(results.back());
    }
  }
  if (results.empty()) return Status::error(Code::not_found, "no conformance case has that name", {"", "case", "a name or family of cases", options.only});
  return results;
}

}  // namespace pteron::llm
