// pteron bench: tokens per second of prefill and decode, and how far that is from what the machine can do.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>

#include "pteron/llm.h"
#include "pteron/profile.h"
#include "tools/session_options.h"
#include "tools/verb.h"

namespace pteron::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct Options {
  EngineFlags engine;
  size_t prompt = 512, generate = 64, repeat = 5;
  bool probe = false;
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

// Null where nothing was counted.
Json per_second(uint64_t count, double seconds) { return count == 0 || seconds <= 0 ? Json() : Json(static_cast<double>(count) / seconds); }

Json profile_json(const std::vector<StepProfile>& steps) {
  Json list = Json::array();
  for (const StepProfile& step : steps) {
    list.push_back({{"method", step.method}, {"kind", step.kind}, {"calls", step.calls}, {"seconds", step.seconds}, {"bytes", step.bytes}, {"operations", step.operations},
                    {"bytes_per_second", per_second(step.bytes, step.seconds)}, {"operations_per_second", per_second(step.operations, step.seconds)}});
  }
  return list;
}

// "  12.3  57 %", or blanks where nothing was counted.
std::string rate_text(uint64_t count, double seconds, double limit) {
  if (count == 0) return std::string(14, ' ');
  const double rate = static_cast<double>(count) / seconds;
  char text[32];
  std::snprintf(text, sizeof text, "%8.1f %3.0f %%", rate * 1e-9, 100 * rate / limit);
  return text;
}

void print_limits(const MachineLimits& limits) {
  std::printf("machine  %8.1f GB/s read, %.1f GOPS of 8-bit products\n", limits.read_bytes_per_second * 1e-9, limits.dot_ops_per_second * 1e-9);
}

void print_profile(const std::vector<StepProfile>& steps, const MachineLimits& limits) {
  std::map<std::string, double> seconds;
  for (const StepProfile& step : steps) seconds[step.method] += step.seconds;
  std::string method;
  for (const StepProfile& step : steps) {
    if (step.method != method) {
      method = step.method;
      const std::string title = method + ", " + std::to_string(std::lround(seconds[method] * 1e3)) + " ms in steps";
      std::printf("\n%-36s %9s %10s %7s %14s %14s\n", title.c_str(), "calls", "ms", "share", "GB/s of limit", "GOPS of limit");
    }
    std::printf("  %-34s %9llu %10.1f %5.1f %% %s %s\n", step.kind.c_str(), static_cast<unsigned long long>(step.calls), step.seconds * 1e3,
                100 * step.seconds / seconds[method], rate_text(step.bytes, step.seconds, limits.read_bytes_per_second).c_str(),
                rate_text(step.operations, step.seconds, limits.dot_ops_per_second).c_str());
  }
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
  engine->clear_profile();
  for (size_t round = 0; round < options.repeat; ++round) {
    if (const Status status = measure(*session, prompt, options.generate, prefill, decode); !status.ok()) return fail(context, status);
  }
  Json report = {{"prefill", prefill.json(options.prompt)}, {"decode", decode.json(options.generate)}, {"load_ms", load_ms}, {"peak_rss_bytes", peak_rss_bytes()},
                       {"cpu", engine->cpu()}, {"threads", engine->threads()}};
  MachineLimits limits;
  if (options.probe || options.engine.profile) {
    Result<MachineLimits> measured = measure_machine(engine->threads());
    if (!measured.ok()) return fail(context, measured.status());
    limits = *measured;
    report["probe"] = {{"read_bytes_per_second", limits.read_bytes_per_second}, {"dot_ops_per_second", limits.dot_ops_per_second}};
  }
  const std::vector<StepProfile> steps = engine->profile();
  if (options.engine.profile) report["profile"] = profile_json(steps);
  if (context.json) return print_json(report);
  std::printf("%s, %zu threads, load %.1f ms, peak memory %s\n", engine->cpu().c_str(), engine->threads(), load_ms, human_bytes(static_cast<double>(peak_rss_bytes())).c_str());
  for (const char* kind : {"prefill", "decode"}) {
    const Json& speed = report[kind]["tokens_per_second"];
    if (speed.is_null()) continue;
    std::printf("%-8s %5zu tokens  %8.1f tokens/s  (%.1f to %.1f)\n", kind, report[kind]["tokens"].get<size_t>(), speed["median"].get<double>(), speed["min"].get<double>(),
                speed["max"].get<double>());
  }
  if (report.contains("probe")) print_limits(limits);
  print_profile(steps, limits);
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
  verb.add_flag("--probe", options->probe, "measure what the machine can read and compute at most");
  verb.add_flag("--profile", options->engine.profile, "time by kind of step, beside the machine's limits");
  finish_verb(verb, context, "pteron bench smollm2.pte -p 512 -n 64 -r 5", [&context, options] { return run_bench(context, *options); });
}

}  // namespace pteron::tools
