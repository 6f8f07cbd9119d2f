// What the cases of the conformance suite share.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "llm/audit.h"
#include "llm/conformance.h"
#include "llm/geometry.h"
#include "llm/session.h"

namespace pteron::llm {

struct Verdict {
  Outcome outcome = Outcome::ok;
  std::string detail;
};
inline Verdict passed(std::string detail = {}) { return {Outcome::ok, std::move(detail)}; }
inline Verdict failed(std::string detail) { return {Outcome::failed, std::move(detail)}; }
inline Verdict not_applicable(std::string reason) { return {Outcome::not_applicable, std::move(reason)}; }

// The program under test, its contract, and the driver that the registry selects.
class Suite {
 public:
  Suite(const MethodSource& source, const ConformanceOptions& options);

  // Why the program or its contract cannot be used; ok where it can.
  const Status& opened() const { return opened_; }
  const Contract& contract() const { return contract_; }
  const MethodSource& source() const { return source_; }
  const IoManagerRegistry& registry() const { return registry_; }
  const IoContract& io() const { return *io_; }
  const ConformanceOptions& options() const { return options_; }
  std::string_view object() const { return object_; }  // the text of io_contract

  size_t capacity() const { return static_cast<size_t>(contract_.context_length); }
  size_t rows() const;                                   // C; 0 without a prefill method
  const LayerSpec* ring() const;                         // the first sliding layer whose cache is shorter than the context, or null
  std::vector<TokenId> tokens(size_t count, uint32_t seed = 1) const;

  Result<Session> session(const MethodSource& source, const SessionOptions& options = {}, bool use_prefill = true) const;
  Result<Session> session(const SessionOptions& options = {}, bool use_prefill = true) const { return session(source_, options, use_prefill); }
  Result<std::unique_ptr<IoManager>> manager(const MethodSource& source) const;

  // Whether two rows of numbers agree within the tolerance; the text says how far they are apart.
  bool near(std::span<const float> a, std::span<const float> b, std::string& difference) const;
  // Seconds that appending `tokens` tokens takes, by one call of each method.
  double seconds_for(size_t tokens) const;

 private:
  const MethodSource& source_;
  const ConformanceOptions& options_;
  IoManagerRegistry registry_;
  Status opened_;
  std::string object_;
  Contract contract_;
  std::unique_ptr<IoContract> io_;
  mutable double call_seconds_[2] = {-1, -1};  // decode, prefill; measured when first asked for
};

struct Case {
  std::string_view name;
  Verdict (*run)(const Suite&);
  bool needs_program = true;  // the contract was opened
};

// The families, in the order they run.
std::span<const Case> contract_cases();
std::span<const Case> driver_cases();
std::span<const Case> program_cases();
std::span<const Case> session_cases();

std::vector<float> copy(LogitsView logits);

// `PTERON_CASE(auto x, f())`: x from a Result, or the case fails with its error.
#define PTERON_CASE(lhs, expr) PTERON_CASE_INNER(PTERON_CONCAT(pteron_c, __LINE__), lhs, expr)
#define PTERON_CASE_INNER(tmp, lhs, expr)                     \
  auto tmp = (expr);                                          \
  if (!tmp.ok()) return failed(tmp.status().message());       \
  lhs = std::move(tmp).value()
#define PTERON_CASE_OK(expr)                                              \
  do {                                                                    \
    if (::pteron::Status pteron_s = (expr); !pteron_s.ok()) return failed(pteron_s.message()); \
  } while (false)

}  // namespace pteron::llm
