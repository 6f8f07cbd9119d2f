// pteron bench: tokens per second of prefill and decode.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

#include "pteron/llm.h"
#include "tools/session_options.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  EngineFlags engine;
  size_t prompt = 512, generate = 64, repeat = 5;
};

struct Rates {
  std::vector<double> values;
  Json json(size_t tokens) const {
    if (values.empty()) return {{"tokens", tokens}, {"tokens_per_second", nullptr}};
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    return {{"tokens", tokens}, {"tokens_per_second", {{"median", sorted[sorted.size() / 2]}, {"min", sorted.front()}, {"max", sorted.back()}}}};
  }
};

// One round: a fresh session reads the prompt, then takes one token after the other (the content of a token costs nothing extra).
Status measure(Session& session, const std::vector<TokenId>& prompt, size_t generate, Rates& prefill, Rates& decode) {
  if (Status status = session.reset(); !status.ok()) return status;
  const auto rate = [](size_t tokens, Clock::time_point start) { return static_cast<double>(tokens) / std::chrono::duration<double>(Clock::now() - start).count(); };
  if (!prompt.empty()) {
    const Clock::time_point start = Clock::now();
    if (const Result<LogitsView> logits = session.append(prompt); !logits.ok()) return logits.status();
    prefill.values.push_back(rate(prompt.size(), start));
  }
  if (generate > 0) {
    const Clock::time_point start = Clock::now();
    for (size_t i = 0; i < generate; ++i) {
      const TokenId token = static_cast<TokenId>(i % 97 + 3);
      if (const Result<LogitsView> logits = session.append({&token, 1}); !logits.ok()) return logits.status();
      if (interrupted()) return Status::error(Code::cancelled, "interrupted");
    }
    decode.values.push_back(rate(generate, start));
  }
  return {};
}

int run_bench(Context& context, const Options& options) {
  const Clock::time_point load_start = Clock::now();
  Result<Engine> engine = load_engine(context, options.engine);
  if (!engine.ok()) return fail(context, engine.status());
  Result<Session> session = engine->new_session();
  if (!session.ok()) return fail(context, session.status().in_file(options.engine.file));
  const double load_ms = std::chrono::duration<double, std::milli>(Clock::now() - load_start).count();
  if (options.prompt + options.generate > engine->context_length()) {
    return fail(context, Status::error(Code::out_of_capacity, "the benchmark does not fit the context",
                                       {.file = options.engine.file, .field = "-p + -n", .expected = "at most " + std::to_string(engine->context_length()),
                                        .found = std::to_string(options.prompt + options.generate)}));
  }
  std::vector<TokenId> prompt(options.prompt);
  for (size_t i = 0; i < prompt.size(); ++i) prompt[i] = static_cast<TokenId>((i * 31 + 7) % std::min<size_t>(engine->vocab_size(), 1000));
  catch_interrupts();
  Rates prefill, decode, warm;
  if (const Status status = measure(*session, prompt, std::min<size_t>(options.generate, 2), warm, warm); !status.ok()) return fail(context, status);
  for (size_t round = 0; round < options.repeat; ++round) {
    if (const Status status = measure(*session, prompt, options.generate, prefill, decode); !status.ok()) return fail(context, status);
  }
  const Json report = {{"prefill", prefill.json(options.prompt)}, {"decode", decode.json(options.generate)}, {"load_ms", load_ms}, {"peak_rss_bytes", peak_rss_bytes()},
                       {"cpu", engine->cpu()}, {"threads", engine->threads()}};
  if (context.json) return print_json(report);
  std::printf("%s, %zu threads, load %.1f ms, peak memory %s\n", engine->cpu().c_str(), engine->threads(), load_ms, human_bytes(static_cast<double>(peak_rss_bytes())).c_str());
  for (const char* kind : {"prefill", "decode"}) {
    const Json& speed = report[kind]["tokens_per_second"];
    if (speed.is_null()) continue;
    std::printf("%-8s %5zu tokens  %8.1f tokens/s  (%.1f to %.1f)\n", kind, report[kind]["tokens"].get<size_t>(), speed["median"].get<double>(), speed["min"].get<double>(),
                speed["max"].get<double>());
  }
  return kDone;
}

}  // namespace

void add_bench(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  CLI::App& verb = *app.add_subcommand("bench", "measure tokens per second");
  add_engine_options(verb, options->engine);
  verb.add_option("-p,--prompt-tokens", options->prompt, "tokens of the prompt")->capture_default_str();
  verb.add_option("-n,--tokens", options->generate, "tokens to decode")->capture_default_str();
  verb.add_option("-r,--repeat", options->repeat, "rounds; the median counts")->check(CLI::Range(1, 10000))->capture_default_str();
  finish_verb(verb, context, "pteron bench smollm2.pte -p 512 -n 64 -r 5", [&context, options] { return run_bench(context, *options); });
}

}  // namespace pteron::tools
