// What the verbs of the command share: options that all have, errors, and results.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "pteron/status.h"

namespace pteron::tools {

using Json = nlohmann::ordered_json;

// The options that every verb has, and what it answers.
struct Context {
  bool json = false;
  bool quiet = false;
  int verbose = 0;
  size_t threads = 0;
  int exit_code = 0;
};

enum Exit { kDone = 0, kFailed = 1, kUsage = 2, kRefused = 3, kInterrupted = 130 };

// Adds --json, --threads, -q and -v to a verb, its example to --help, and runs `body` (which returns an exit code) when it is chosen.
void finish_verb(CLI::App& verb, Context& context, const std::string& example, std::function<int()> body);

// What --json says about an error.
Json error_json(const Status& status);
// Reports an error: one line on stderr; with --json an object on stdout. Returns the exit code that fits it.
int fail(const Context& context, const Status& status);
// The same for a mistake in the command's own words (exit code 2).
int fail_usage(const Context& context, const std::string& message);

// For options that name a file: "" (a shell variable that is not set) is a mistake, not the absence of the option.
CLI::Validator file_name();
// Options that name a file, and whether the verb reads it or writes it: what is read, or written already, is not written over (exit code 2).
CLI::Option* reads(CLI::Option* option);
CLI::Option* writes(CLI::Option* option);
// For numbers that must be above 0, up to `most`.
CLI::Validator positive_number(double most);

// Text that goes into JSON must be UTF-8: replacing what is not would change it in silence. `field` names where it came from.
Status check_utf8(const std::string& field, const std::string& text);

// Prints one JSON object on stdout.
int print_json(const Json& object);

// All of a file, or of standard input for "-".
Result<std::string> read_input(const std::string& path);
// Writes a small file whole or not at all (a device or a pipe as it is), whoever else writes it at the same time.
Status write_output(const std::string& path, std::string_view text);

// Whether a terminal is there to show progress on.
bool stderr_is_terminal();

// Ctrl-C and SIGTERM end the command with exit code 130: at once, or, from `catch_interrupts` on, where the verb looks (the second one at once).
void leave_on_interrupt();
void catch_interrupts();
bool interrupted();
bool terminated();  // by SIGTERM: nothing is to be gone on with
void forget_interrupt();

// Sizes as people read them: "538.1 MB".
std::string human_bytes(double bytes);

// One function a verb, each in its own file.
void add_export(CLI::App& app, Context& context);
void add_run(CLI::App& app, Context& context);
void add_chat(CLI::App& app, Context& context);
void add_logits(CLI::App& app, Context& context);
void add_exec(CLI::App& app, Context& context);
void add_conformance(CLI::App& app, Context& context);
void add_bench(CLI::App& app, Context& context);
void add_perplexity(CLI::App& app, Context& context);
void add_inspect(CLI::App& app, Context& context);
void add_tokenize(CLI::App& app, Context& context);
void add_template(CLI::App& app, Context& context);
void add_keygen(CLI::App& app, Context& context);
void add_sign(CLI::App& app, Context& context);
void add_verify(CLI::App& app, Context& context);
void add_manifest(CLI::App& app, Context& context);

}  // namespace pteron::tools
