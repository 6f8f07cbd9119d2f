#include "tools/verb.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <span>
#include <system_error>

namespace pteron::tools {
namespace {

constexpr size_t kMaxInputBytes = size_t{256} << 20;

volatile std::sig_atomic_t interrupt_count = 0, was_terminated = 0;

extern "C" void on_early_interrupt(int) { std::_Exit(kInterrupted); }

extern "C" void on_interrupt(int signal) {
  if (signal == SIGTERM) was_terminated = 1;
  interrupt_count = interrupt_count + 1;
  if (interrupt_count > 1) std::_Exit(kInterrupted);  // asked twice: go at once
}

void handle_interrupts(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;  // without SA_RESTART, so that waiting for input ends too
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Status os_error(std::string_view what, const std::string& path, int error) {
  return Status::error(error == ENOENT ? Code::not_found : Code::io_error, what, {.file = path, .field = {}, .expected = {}, .found = std::generic_category().message(error)});
}

int exit_code_of(Code code) {
  switch (code) {
    case Code::ok: return kDone;
    case Code::refused: return kRefused;
    case Code::cancelled: return kInterrupted;
    default: return kFailed;
  }
}

// "-1", "0x10", "010" and what does not fit in 64 bits are no counts; strtoull would take them all.
CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) {
        uint64_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, number);
        const bool good = error == std::errc() && stop == end && (text.size() == 1 || text[0] != '0');
        return good ? std::string() : "expected a whole number from 0, found " + text;
      },
      "");
}

// A file that the verb writes and that it reads as well, or writes as something else; empty where there is none. `sign`, `strip` and `append` replace their
// program as a whole, and a session may be saved where it came from.
std::string lost_file(const CLI::App& verb) {
  std::vector<std::pair<std::string, std::string>> outputs, inputs;  // option and path
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0) continue;
    const std::string name = option->get_name();
    const bool output = name == "--output" || name == "--html" || name == "--report" || name == "--save-session" || name == "--public";
    const bool input = name == "FILE" || name == "SOURCE" || name == "--key" || name == "--sign-key" || name == "--inputs" || name == "--data" ||
                       name == "--load-session" || name == "--file" || name == "--trust" || name == "--signature-file";
    for (const std::string& path : option->results()) {
      if (output) outputs.emplace_back(name, path);
      if (input) inputs.emplace_back(name, path);
    }
  }
  const bool replaces = verb.get_name() == "sign" || verb.get_name() == "strip" || verb.get_name() == "append";
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, path] = outputs[i];
    std::error_code ignored;
    for (const auto& [other, read] : inputs) {
      if ((replaces && other == "FILE") || (option == "--save-session" && other == "--load-session")) continue;
      if (std::filesystem::is_regular_file(read, ignored) && std::filesystem::equivalent(path, read, ignored)) return option + " is the file of " + other + ": " + path;
    }
    for (const auto& [other, written] : std::span(outputs).first(i)) {
      const bool same_name = std::filesystem::path(path).lexically_normal() == std::filesystem::path(written).lexically_normal();
      if (same_name || (std::filesystem::is_regular_file(written, ignored) && std::filesystem::equivalent(path, written, ignored))) return option + " is the file of " + other + ": " + path;
    }
  }
  return {};
}

}  // namespace

void finish_verb(CLI::App& verb, Context& context, const std::string& example, std::function<int()> body) {
  verb.add_flag("--json", context.json, "print one JSON object on stdout");
  verb.add_option("--threads", context.threads, "threads where work is parallel (default: the cores this process may use)")->check(CLI::Range(1, 1024));
  verb.add_flag("-q,--quiet", context.quiet, "no progress and no remarks on stderr");
  verb.add_flag("-v,--verbose", context.verbose, "say more on stderr");
  verb.footer("Example:\n  " + example);
  for (CLI::Option* option : verb.get_options()) {
    if (option->get_type_name().starts_with("UINT")) option->check(whole_number());
  }
  verb.callback([&context, &verb, body = std::move(body)] {
    const std::string lost = lost_file(verb);
    context.exit_code = lost.empty() ? body() : fail_usage(context, verb.get_name() + ": " + lost);
  });
}

Json error_json(const Status& status) {
  Json error = {{"code", code_name(status.code())}, {"message", status.message()}};
  const Detail& detail = status.detail();
  const std::pair<const char*, const std::string*> parts[] = {
      {"file", &detail.file}, {"field", &detail.field}, {"expected", &detail.expected}, {"found", &detail.found}};
  for (const auto& [key, text] : parts) {
    if (!text->empty()) error[key] = *text;
  }
  return error;
}

int fail(const Context& context, const Status& status) {
  std::cout.flush();
  std::fprintf(stderr, "pteron: %s\n", status.message().c_str());
  if (context.json) print_json({{"error", error_json(status)}});
  return exit_code_of(status.code());
}

int fail_usage(const Context& context, const std::string& message) {
  std::fprintf(stderr, "pteron: %s\n", message.c_str());
  if (context.json) print_json({{"error", {{"code", "usage"}, {"message", message}}}});
  return kUsage;
}

CLI::Validator file_name() {
  return CLI::Validator([](std::string& text) { return text.empty() ? std::string("a file name is empty") : std::string(); }, "FILE");
}

int print_json(const Json& object) {
  // Text from files may not be UTF-8: replaced rather than refused.
  std::cout << object.dump(1, ' ', false, Json::error_handler_t::replace) << "\n" << std::flush;
  return std::cout ? kDone : kFailed;
}

Result<std::string> read_input(const std::string& path) {
  const bool standard = path == "-";
  std::FILE* const file = standard ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) return os_error("cannot open", path, errno);
  std::string text;
  char buffer[1 << 16];
  size_t got = 0;
  while (text.size() <= kMaxInputBytes && (got = std::fread(buffer, 1, sizeof buffer, file)) > 0) text.append(buffer, got);
  const int error = std::ferror(file) != 0 ? errno : 0;
  if (!standard) std::fclose(file);
  if (error != 0) return os_error("cannot read", path, error);
  if (text.size() > kMaxInputBytes) {
    return Status::error(Code::out_of_capacity, "too much text", {.file = path, .field = {}, .expected = "at most " + std::to_string(kMaxInputBytes) + " bytes", .found = "more"});
  }
  return text;
}

Status write_output(const std::string& path, std::string_view text) {
  struct stat info {};
  const bool special = ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);  // a device or a pipe cannot be replaced by a rename
  const std::string target = special ? path : path + ".partial";
  std::FILE* const file = std::fopen(target.c_str(), "wb");
  if (file == nullptr) return os_error("cannot write", path, errno);
  int error = std::fwrite(text.data(), 1, text.size(), file) == text.size() ? 0 : errno;
  if (std::fclose(file) != 0 && error == 0) error = errno;
  if (error == 0 && !special && std::rename(target.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return {};
  if (!special) std::remove(target.c_str());
  return os_error("cannot write", path, error);
}

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

bool interrupted() { return interrupt_count > 0; }

bool terminated() { return was_terminated != 0; }

void forget_interrupt() { interrupt_count = 0; }

void leave_on_interrupt() { handle_interrupts(on_early_interrupt); }

void catch_interrupts() { handle_interrupts(on_interrupt); }

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
