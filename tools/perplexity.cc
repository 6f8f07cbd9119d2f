// pteron perplexity: how well a program predicts a text.
#include <cmath>
#include <cstdio>
#include <memory>

#include "pteron/llm.h"
#include "tools/session_options.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

struct Options {
  EngineFlags engine;
  std::string text, tokens;
  PerplexityOptions windows;
};

int run_perplexity(Context& context, const Options& options) {
  if (options.text.empty() == options.tokens.empty()) return fail_usage(context, "perplexity: give one of -f FILE and --tokens IDS");
  Result<Engine> engine = load_engine(context, options.engine);
  if (!engine.ok()) return fail(context, engine.status());
  Result<std::vector<TokenId>> ids = std::vector<TokenId>();
  if (!options.tokens.empty()) {
    ids = parse_tokens(options.tokens, engine->vocab_size());
  } else {
    const Result<std::string> text = read_input(options.text);
    if (!text.ok()) return fail(context, text.status());
    if (engine->tokenizer() == nullptr) {
      return fail(context, Status::error(Code::unsupported, "the program carries no tokenizer", {.file = options.engine.file, .field = "tokenizer", .expected = "named data, or --tokens", .found = "none"}));
    }
    ids = engine->tokenizer()->encode(*text);
  }
  if (!ids.ok()) return fail(context, ids.status());
  catch_interrupts();
  const bool show = !context.quiet && stderr_is_terminal();
  const Result<Perplexity> result = engine->perplexity(*ids, options.windows, [&](size_t done, size_t total) {
    if (show) std::fprintf(stderr, "\r\x1b[K%zu of %zu tokens", done, total);
    return !interrupted();
  });
  if (show) std::fprintf(stderr, "\r\x1b[K");
  if (!result.ok()) return fail(context, result.status());
  if (result->tokens == 0) {
    return fail(context, Status::error(Code::invalid_argument, "there is nothing to score", {.field = "text", .expected = "two tokens, or one where the tokenizer puts a BOS", .found = std::to_string(ids->size()) + " tokens"}));
  }
  const double mean = result->nll_sum / static_cast<double>(result->tokens);
  const double speed = result->seconds > 0 ? static_cast<double>(result->tokens) / result->seconds : 0;
  if (context.json) return print_json({{"tokens", result->tokens}, {"nll_mean", mean}, {"perplexity", std::exp(mean)}, {"tokens_per_second", speed}});
  std::printf("perplexity %.4f (mean %.5f nats over %zu tokens, %.0f tokens/s)\n", std::exp(mean), mean, result->tokens, speed);
  return kDone;
}

}  // namespace

void add_perplexity(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("perplexity", "score a text");
  add_engine_options(verb, options->engine);
  reads(verb.add_option("-f,--file", options->text, "the text; - for standard input"));
  verb.add_option("--tokens", options->tokens, "token ids instead of a text, comma-separated");
  verb.add_option("--ctx", options->windows.window, "tokens of a window")->check(CLI::Range(2, 1 << 24))->capture_default_str();
  verb.add_option("--stride", options->windows.stride, "a new window every so many tokens")->check(CLI::Range(1, 1 << 24))->capture_default_str();
  finish_verb(verb, context, "pteron perplexity smollm2.pte -f text.txt --ctx 512 --stride 512", [&context, options] { return run_perplexity(context, *options); });
}

}  // namespace pteron::tools
