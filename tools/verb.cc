#include "tools/verb.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
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

// Returns errno, or 0.
int write_and_close(int file, std::string_view text, bool sync) {
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count >= 0) text.remove_prefix(static_cast<size_t>(count));
    else if (errno != EINTR || interrupted()) error = errno;
  }
  if (error == 0 && sync && ::fsync(file) != 0) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  return error;
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

// "nan" and "inf" are numbers to a parser and to nobody else.
CLI::Validator finite_number() {
  return CLI::Validator(
      [](std::string& text) {
        char* end = nullptr;
        const double number = std::strtod(text.c_str(), &end);
        return std::isfinite(number) && *end == '\0' && !text.empty() ? std::string() : "expected a finite number, found " + text;
      },
      "");
}

constexpr const char* kRead = "PATH";
constexpr const char* kWritten = "OUT";

// A file that the verb writes and that it reads as well, or writes as something else; empty where there is none.
std::string lost_file(const CLI::App& verb) {
  std::vector<std::pair<std::string, std::string>> outputs, inputs;  // option and path
  for (const CLI::Option* option : verb.get_options()) {
    if (option->count() == 0) continue;
    const std::string name = option->get_name(), kind = option->get_type_name();
    for (const std::string& path : option->results()) {
      if (kind == kWritten) outputs.emplace_back(name, path);
      if (kind == kRead) inputs.emplace_back(name, path);
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, path] = outputs[i];
    std::error_code ignored;
    for (const auto& [other, read] : inputs) {
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
    if (option->get_type_name().starts_with("FLOAT")) option->check(finite_number());
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
  return CLI::Validator([](std::string& text) { return text.empty() ? std::string("a file name is empty") : std::string(); }, "");
}

CLI::Option* reads(CLI::Option* option) { return option->check(file_name())->type_name(kRead); }

CLI::Option* writes(CLI::Option* option) { return option->check(file_name())->type_name(kWritten); }

CLI::Validator positive_number(double most) {
  return CLI::Validator(
      [most](std::string& text) {
        const double number = std::strtod(text.c_str(), nullptr);
        char expected[64];
        std::snprintf(expected, sizeof expected, "expected a number above 0, at most %g, found ", most);
        return number > 0 && number <= most ? std::string() : expected + text;
      },
      "");
}

Status check_utf8(const std::string& field, const std::string& text) {
  try {
    (void)Json(text).dump();
    return {};
  } catch (const Json::exception& error) {  // "[...] invalid UTF-8 byte at index 3: 0xFF"
    const std::string_view what = error.what();
    return Status::error(Code::invalid_argument, "text is not UTF-8", {.file = {}, .field = field, .expected = "UTF-8", .found = std::string(what.substr(what.find("] ") + 2))});
  }
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
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {  // a device or a pipe cannot be replaced by a rename
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const int error = file < 0 ? errno : write_and_close(file, text, false);
    return error == 0 ? Status() : os_error("cannot write", path, error);
  }
  // An interrupt waits until the file has its name or is gone again.
  sigset_t interrupts, before;
  sigemptyset(&interrupts);
  sigaddset(&interrupts, SIGINT);
  sigaddset(&interrupts, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &interrupts, &before);
  std::string target = path + ".XXXXXX";
  const int file = ::mkostemp(target.data(), O_CLOEXEC);
  int error = file < 0 ? errno : 0;
  if (error == 0) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    if (::fchmod(file, 0666 & ~mask) != 0) error = errno;
    const int written = write_and_close(file, text, true);
    if (error == 0) error = written;
    if (error == 0 && std::rename(target.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) ::unlink(target.c_str());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return error == 0 ? Status() : os_error("cannot write", path, error);
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
