// The `pteron` command: one verb a file; this one puts them together.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "pteron/version.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

int run_command(int argc, char** argv) {
  CLI::App app("pteron: language models as signed ExecuTorch programs, made and run without Python or torch", "pteron");
  app.set_version_flag("--version", std::string("pteron ") + PTERON_VERSION);
  app.require_subcommand(1);
  app.footer("`pteron VERB --help` shows the options of a verb with an example.\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 refused by policy, 130 interrupted.");
  Context context;
  add_export(app, context);
  add_run(app, context);
  add_chat(app, context);
  add_logits(app, context);
  add_exec(app, context);
  add_bench(app, context);
  add_perplexity(app, context);
  add_conformance(app, context);
  add_inspect(app, context);
  add_tokenize(app, context);
  add_template(app, context);
  add_keygen(app, context);
  add_sign(app, context);
  add_verify(app, context);
  add_manifest(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    for (int i = 1; i < argc; ++i) context.json = context.json || std::strcmp(argv[i], "--json") == 0;
    if (app.get_subcommands().empty() && argc > 1 && argv[1][0] != '-') return fail_usage(context, std::string("unknown verb ") + argv[1] + " (try `pteron --help`)");
    std::string hint = "try `pteron --help`";
    for (const CLI::App* verb : app.get_subcommands()) hint = "try `pteron " + verb->get_name() + " --help`";
    return fail_usage(context, std::string(error.what()) + " (" + hint + ")");
  }
  return context.exit_code;
}

}  // namespace
}  // namespace pteron::tools

int main(int argc, char** argv) {
  pteron::tools::leave_on_interrupt();
  try {
    const int code = pteron::tools::run_command(argc, argv);
    // What was printed is a result as well: one that is lost is no success.
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.flush().good()) return code;
    std::fprintf(stderr, "pteron: cannot write to standard output: %s\n", std::strerror(errno));
    return code == pteron::tools::kDone ? pteron::tools::kFailed : code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pteron: %s\n", error.what());
    return pteron::tools::kFailed;
  }
}
