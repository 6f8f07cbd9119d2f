// What the driver writes before each call, as the program sees it.
#include <algorithm>
#include <array>

#include "llm/conformance_suite.h"

namespace pteron::llm {
namespace {

// A conversation with full and padded chunks and single tokens; what the audit noted about `subject` fails the case.
Verdict audited(const Suite& suite, std::string_view subject, bool applies, std::string_view reason) {
  if (!applies) return not_applicable(std::string(reason));
  const size_t rows = std::max<size_t>(suite.rows(), 2);
  std::vector<size_t> lengths = {rows + 1, 2, 1, rows, rows - 1, 3};
  if (const LayerSpec* ring = suite.ring()) lengths.push_back(static_cast<size_t>(ring->slots) + rows);  // once around
  const std::string prefix = std::string(subject) + ": ";
  for (const bool use_prefill : {true, false}) {
    AuditedSource audit(suite.source(), suite.contract());  // of one session: addresses must stay
    PTERON_CASE(Session session, suite.session(audit, {.min_chunk = 1}, use_prefill));
    for (const size_t length : lengths) {
      if (!use_prefill && length > 64) continue;
      if (!session.can_append(length)) break;
      PTERON_CASE_OK(session.append(suite.tokens(length)).status());
    }
    for (const std::string& violation : audit.violations()) {
      if (violation.starts_with(prefix)) return failed(violation.substr(prefix.size()));
    }
  }
  return passed();
}

bool has_input(const Suite& suite, InputRole role) {
  return std::any_of(suite.contract().methods.begin(), suite.contract().methods.end(), [&](const MethodSpec& method) {
    return std::any_of(method.inputs.begin(), method.inputs.end(), [&](const InputSpec& input) { return input.role == role; });
  });
}

Verdict positions(const Suite& suite) { return audited(suite, "positions", true, ""); }
Verdict masks(const Suite& suite) { return audited(suite, "masks", true, ""); }
Verdict binding(const Suite& suite) { return audited(suite, "binding", true, ""); }
Verdict counter(const Suite& suite) { return audited(suite, "counter", has_input(suite, InputRole::counter), "no method has a counter"); }
Verdict capacity(const Suite& suite) { return audited(suite, "capacity", true, ""); }

// Rows behind the valid ones hold the pad token, written anew after a call that filled them.
Verdict padding(const Suite& suite) {
  const size_t rows = suite.rows();
  if (rows == 0) return not_applicable("no prefill method");
  AuditedSource audit(suite.source(), suite.contract());
  PTERON_CASE(Session session, suite.session(audit, {.min_chunk = 1}));
  std::vector<TokenId> full(rows, static_cast<TokenId>(suite.contract().pad_token == 0 ? suite.contract().vocab_size - 1 : 0));
  for (size_t n = 1; n <= rows && session.can_append(2 * rows); ++n) {
    PTERON_CASE_OK(session.append(full).status());
    (void)audit.take_calls();
    PTERON_CASE_OK(session.append(std::span(full).first(n)).status());
    const auto calls = audit.take_calls();
    if (calls.size() != 1 || calls[0].role != MethodRole::prefill) return failed(std::to_string(n) + " tokens took " + std::to_string(calls.size()) + " calls");
    for (size_t r = n; r < rows; ++r) {
      if (calls[0].ids[r] != suite.contract().pad_token) return failed("row " + std::to_string(r) + " of " + std::to_string(n) + " valid ones holds " + std::to_string(calls[0].ids[r]));
    }
    PTERON_CASE_OK(session.rewind(0));
    if (rows > 16 && n == 3) n = rows - 3;
  }
  return passed();
}

Verdict last_row(const Suite& suite) {
  const bool applies = has_input(suite, InputRole::last_row);
  if (!applies) return not_applicable("no method has last_row");
  AuditedSource audit(suite.source(), suite.contract());
  PTERON_CASE(Session session, suite.session(audit, {.min_chunk = 1}));
  const size_t rows = std::max<size_t>(suite.rows(), 1);
  for (size_t n = 1; n <= rows && session.can_append(rows); n = n < 3 || n + 1 >= rows ? n + 1 : rows - 1) {
    (void)audit.take_calls();
    PTERON_CASE_OK(session.append(suite.tokens(n)).status());
    const AuditedCall call = audit.take_calls().back();
    if (call.last_row && *call.last_row != static_cast<int64_t>(n) - 1) return failed("holds " + std::to_string(*call.last_row) + " with " + std::to_string(n) + " valid rows");
    PTERON_CASE_OK(session.reset());
  }
  return passed();
}

// The rule of chapter 9.4, call by call.
Verdict split(const Suite& suite) {
  AuditedSource audit(suite.source(), suite.contract());
  PTERON_CASE(Session session, suite.session(audit));
  const size_t rows = suite.rows();
  for (const size_t length : {size_t{1}, size_t{2}, std::max<size_t>(rows, 1), rows + 1, 2 * rows + 3}) {
    if (!session.can_append(length)) continue;
    size_t position = session.position(), left = length;
    (void)audit.take_calls();
    const std::vector<TokenId> prompt = suite.tokens(length);
    PTERON_CASE_OK(session.append(prompt).status());
    for (const AuditedCall& call : audit.take_calls()) {
      const bool chunk = rows > 0 && position + rows <= suite.capacity() && left >= 2;
      const size_t n = chunk ? std::min(rows, left) : 1;
      if ((call.role == MethodRole::prefill) != chunk) return failed(std::string(role_name(call.role)) + " ran with " + std::to_string(left) + " tokens left");
      if (call.position != static_cast<int64_t>(position)) return failed("a call at " + std::to_string(call.position) + " instead of " + std::to_string(position));
      for (size_t r = 0; r < n; ++r) {
        if (call.ids[r] != prompt[length - left + r]) return failed("row " + std::to_string(r) + " at " + std::to_string(position) + " holds another token");
      }
      position += n;
      left -= std::min(left, n);
    }
    if (left != 0 || session.position() != position) return failed(std::to_string(left) + " tokens were not fed");
  }
  return passed();
}

Verdict only_selected(const Suite& suite) {
  AuditedSource audit(suite.source(), suite.contract());
  ManagerOptions options;
  options.use_prefill = options.use_verify = false;
  PTERON_CASE(Session session, Session::create(suite.io(), audit, options));
  const std::string& decode = suite.contract().method(MethodRole::decode)->name;
  if (audit.loaded() != std::vector<std::string>{decode}) return failed(std::to_string(audit.loaded().size()) + " methods were loaded for a decode-only session");
  return passed();
}

}  // namespace

std::span<const Case> driver_cases() {
  static constexpr std::array<Case, 9> kCases = {{{"driver.split", split},
                                                  {"driver.padding", padding},
                                                  {"driver.positions", positions},
                                                  {"driver.counter", counter},
                                                  {"driver.last_row", last_row},
                                                  {"driver.masks", masks},
                                                  {"driver.binding", binding},
                                                  {"driver.capacity", capacity},
                                                  {"driver.only_selected", only_selected}}};
  return kCases;
}

}  // namespace pteron::llm
