// pteron conformance: runs the contract's cases against a program.
#include "pteron/conformance.h"

#include <cstdio>
#include <memory>

#include "tools/keys.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  std::string file;
  std::vector<std::string> data;
  TrustOptions trust;
  ConformanceOptions cases;
  bool list = false;
};

int run(Context& context, Options& options) {
  if (options.list) {
    for (const std::string& name : conformance_cases()) std::printf("%s\n", name.c_str());
    return kDone;
  }
  if (options.file.empty()) return fail_usage(context, "conformance: FILE is missing");
  const Result<TrustedPolicy> trusted = load_policy(options.trust);
  if (!trusted.ok()) return fail(context, trusted.status());
  const Result<Program> program = Program::open(options.file, trusted->policy, options.data);
  if (!program.ok()) return fail(context, program.status());
  options.cases.threads = context.threads;
  const bool show = !context.quiet && stderr_is_terminal();
  size_t begun = 0;
  if (show) options.cases.on_start = [&](const std::string& name) { std::fprintf(stderr, "\r\x1b[K%zu of %zu: %s", ++begun, conformance_cases().size(), name.c_str()); };
  if (!context.json) {
    options.cases.on_case = [&](const ConformanceCase& result) {
      if (show) std::fprintf(stderr, "\r\x1b[K");
      std::printf("%-15s %s%s%s\n", result.result.c_str(), result.name.c_str(), result.detail.empty() ? "" : ": ", result.detail.c_str());
      std::fflush(stdout);
    };
  }
  const Result<std::vector<ConformanceCase>> results = run_conformance(*program, options.cases);
  if (show) std::fprintf(stderr, "\r\x1b[K");
  if (!results.ok()) return fail(context, results.status().in_file(options.file));
  size_t failed = 0;
  Json cases = Json::array();
  for (const ConformanceCase& result : *results) {
    failed += result.result == "failed";
    Json row = {{"name", result.name}, {"result", result.result}};
    if (!result.detail.empty()) row["detail"] = result.detail;
    cases.push_back(std::move(row));
  }
  if (context.json) print_json({{"cases", std::move(cases)}});
  else if (!context.quiet) std::fprintf(stderr, "%zu cases, %zu failed\n", results->size(), failed);
  return failed == 0 ? kDone : kFailed;
}

}  // namespace

void add_conformance(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("conformance", "run the contract's cases against a program");
  reads(verb.add_option("FILE", options->file, "the program"));
  reads(verb.add_option("--data", options->data, "a .ptd file with external tensors (repeatable)"));
  verb.add_option("--case", options->cases.only, "one case, or the part of its name before the dot");
  verb.add_option("--seconds", options->cases.seconds, "leave out cases that would take longer")->check(CLI::Range(0.0, 1e6))->capture_default_str();
  verb.add_flag("--list", options->list, "list the cases and stop");
  add_trust_options(verb, options->trust);
  finish_verb(verb, context, "pteron conformance smollm2.pte", [&context, options] { return run(context, *options); });
}

}  // namespace pteron::tools
