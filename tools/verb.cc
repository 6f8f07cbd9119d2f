#include "tools/verb.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

namespace pteron::tools {
namespace {

volatile std::sig_atomic_t interrupt_count = 0;

extern "C" void on_interrupt(int) {
  interrupt_count = interrupt_count + 1;
  if (interrupt_count > 1) std::_Exit(kInterrupted);  // asked twice: go at once
}

int exit_code_of(Code code) {
  switch (code) {
    case Code::ok: return kDone;
    case Code::refused: return kRefused;
    case Code::cancelled: return kInterrupted;
    default: return kFailed;
  }
}

}  // namespace

void finish_verb(CLI::App& verb, Context& context, const std::string& example, std::function<int()> body) {
  verb.add_flag("--json", context.json, "print one JSON object on stdout");
  verb.add_option("--threads", context.threads, "threads where work is parallel (default: the cores this process may use)")->check(CLI::Range(1, 1024));
  verb.add_flag("-q,--quiet", context.quiet, "no progress and no remarks on stderr");
  verb.add_flag("-v,--verbose", context.verbose, "say more on stderr");
  verb.footer("Example:\n  " + example);
  verb.callback([&context, body = std::move(body)] { context.exit_code = body(); });
}

int fail(const Context& context, const Status& status) {
  std::cout.flush();
  std::fprintf(stderr, "pteron: %s\n", status.message().c_str());
  if (context.json) {
    Json error = {{"code", code_name(status.code())}, {"message", status.message()}};
    const Detail& detail = status.detail();
    const std::pair<const char*, const std::string*> parts[] = {
        {"file", &detail.file}, {"field", &detail.field}, {"expected", &detail.expected}, {"found", &detail.found}};
    for (const auto& [key, text] : parts) {
      if (!text->empty()) error[key] = *text;
    }
    print_json({{"error", std::move(error)}});
  }
  return exit_code_of(status.code());
}

int fail_usage(const Context& context, const std::string& message) {
  std::fprintf(stderr, "pteron: %s\n", message.c_str());
  if (context.json) print_json({{"error", {{"code", "usage"}, {"message", message}}}});
  return kUsage;
}

int print_json(const Json& object) {
  // Text from files may not be UTF-8: replaced rather than refused.
  std::cout << object.dump(1, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
  return std::cout ? kDone : kFailed;
}

Result<std::string> read_input(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf()) ) {
    if (in && in.peek() == std::ifstream::traits_type::eof()) return std::string();
    return Status::error(Code::not_found, "cannot read", {.file = path, .field = {}, .expected = "a readable file", .found = {}});
  }
  return std::move(text).str();
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

bool interrupted() { return interrupt_count > 0; }

void forget_interrupt() { interrupt_count = 0; }

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

std::string human_bytes(double bytes) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(units)) {
    bytes /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
  return text;
}

}  // namespace pteron::tools
