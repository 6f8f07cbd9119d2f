#include "tools/session_options.h"

#include <sys/resource.h>

#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

namespace pteron::tools {
namespace {

// "ID=BIAS": a number, or minus infinity.
std::optional<std::pair<TokenId, double>> parse_bias(const std::string& text) {
  std::pair<TokenId, double> bias;
  const char* const end = text.data() + text.size();
  const auto id = std::from_chars(text.data(), end, bias.first);
  if (id.ec != std::errc() || bias.first < 0 || id.ptr == end || *id.ptr != '=') return std::nullopt;
  const auto number = std::from_chars(id.ptr + 1, end, bias.second);
  if (number.ec != std::errc() || number.ptr != end || std::isnan(bias.second) || bias.second == std::numeric_limits<double>::infinity()) return std::nullopt;
  return bias;
}

}  // namespace

void add_engine_options(CLI::App& verb, EngineFlags& flags) {
  reads(verb.add_option("FILE", flags.file, "the program"))->required();
  reads(verb.add_option("--data", flags.data, "a .ptd file with external tensors (repeatable)"));
  verb.add_option("--chunk", flags.chunk, "rows used of a prefill call (all)")->check(CLI::Range(1, 1 << 20));
  verb.add_option("--min-chunk", flags.min_chunk, "fewer remaining tokens than this go one by one through decode")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  add_trust_options(verb, flags.trust);
}

Result<Engine> load_engine(const Context& context, const EngineFlags& flags) {
  const Result<TrustedPolicy> trusted = load_policy(flags.trust);
  if (!trusted.ok()) return trusted.status();
  EngineOptions options;
  options.policy = trusted->policy;
  options.external_data = flags.data;
  options.threads = context.threads;
  options.chunk = flags.chunk;
  options.min_chunk = flags.min_chunk;
  options.profile = flags.profile;
  return Engine::load(flags.file, options);
}

void add_generate_options(CLI::App& verb, GenerateFlags& flags) {
  verb.add_option("-n,--max-tokens", flags.max_tokens, "most tokens to generate")->capture_default_str();
  verb.add_option("--min-tokens", flags.min_tokens, "no end of text before this many tokens");
  verb.add_option("--temperature", flags.temperature, "0 is greedy (the file's generation config, else 0)")->check(CLI::Range(0.0, 1e6));
  verb.add_option("--top-k", flags.top_k, "keep the k best tokens; 0 is off")->check(CLI::Range(0, 1 << 30));
  verb.add_option("--top-p", flags.top_p, "keep the smallest set of tokens with this probability")->check(CLI::Range(0.0, 1.0));
  verb.add_option("--min-p", flags.min_p, "keep tokens with at least this share of the best one's probability")->check(CLI::Range(0.0, 1.0));
  verb.add_option("--typical-p", flags.typical_p, "keep the most typical tokens up to this probability")->check(positive_number(1));
  verb.add_option("--repetition-penalty", flags.repetition_penalty, "above 1: tokens already there become less likely")->check(positive_number(1e6));
  verb.add_option("--presence-penalty", flags.presence_penalty, "subtracted from the score of a token that was generated");
  verb.add_option("--frequency-penalty", flags.frequency_penalty, "subtracted once for each time a token was generated");
  verb.add_option("--logit-bias", flags.logit_bias, "ID=BIAS (repeatable); -inf bans the token")->check(CLI::Validator(
      [](std::string& text) { return parse_bias(text) ? std::string() : "expected ID=BIAS with a token id and a number, found " + text; }, ""));
  verb.add_option("--seed", flags.seed, "of the sampler; equal seeds give equal text");
  verb.add_option("--stop", flags.stop, "end the generation before this text (repeatable)");
  verb.add_flag("--ignore-eos", flags.ignore_eos, "an end-of-text token does not end the generation");
  verb.add_option("--lookup", flags.lookup, "guess up to N tokens a step from the text so far (0: off)")->check(CLI::Range(0, 4096));
  verb.add_option("--time-limit", flags.time_limit, "seconds after which the generation ends")->check(CLI::Range(0.0, 1e9));
}

Result<GenerateOptions> generate_options(const Engine& engine, const GenerateFlags& flags) {
  GenerateOptions options = engine.default_generation();
  SamplerParams& sampler = options.sampler;
  options.max_tokens = flags.max_tokens;
  options.min_tokens = flags.min_tokens;
  if (flags.temperature) sampler.temperature = *flags.temperature;
  if (flags.top_k) sampler.top_k = *flags.top_k;
  if (flags.top_p) sampler.top_p = *flags.top_p;
  if (flags.min_p) sampler.min_p = *flags.min_p;
  if (flags.typical_p) sampler.typical_p = *flags.typical_p;
  if (flags.repetition_penalty) sampler.repetition_penalty = *flags.repetition_penalty;
  if (flags.presence_penalty) sampler.presence_penalty = *flags.presence_penalty;
  if (flags.frequency_penalty) sampler.frequency_penalty = *flags.frequency_penalty;
  if (flags.seed) sampler.seed = *flags.seed;
  for (const std::string& text : flags.logit_bias) {
    const auto bias = parse_bias(text);
    if (!bias || static_cast<size_t>(bias->first) >= engine.vocab_size()) {
      return Status::error(Code::invalid_argument, "malformed --logit-bias",
                           {.file = {}, .field = "--logit-bias", .expected = "ID=BIAS with ID below " + std::to_string(engine.vocab_size()), .found = text});
    }
    sampler.logit_bias.push_back(*bias);
  }
  if (flags.ignore_eos) options.eos_tokens.clear();
  options.stop_strings = flags.stop;
  options.lookup = flags.lookup;
  options.time_limit = std::chrono::milliseconds(static_cast<int64_t>(std::ceil(flags.time_limit * 1000)));
  return options;
}

Result<std::vector<TokenId>> parse_tokens(const std::string& text, size_t vocab_size) {
  std::vector<TokenId> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    while (at < end && *at == ' ') ++at;
    TokenId id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc() || id < 0 || (next < end && *next != ',' && *next != ' ')) {
      return Status::error(Code::invalid_argument, "malformed token list", {.file = {}, .field = "--tokens", .expected = "comma-separated integers", .found = std::string(at, std::min(end, at + 20))});
    }
    if (vocab_size != 0 && static_cast<size_t>(id) >= vocab_size) {
      return Status::error(Code::invalid_argument, "token outside the vocabulary", {.file = {}, .field = "--tokens", .expected = "ids below " + std::to_string(vocab_size), .found = std::to_string(id)});
    }
    ids.push_back(id);
    at = next;
    while (at < end && *at == ' ') ++at;
    if (at < end && *at++ == ',' && at == end) {
      return Status::error(Code::invalid_argument, "malformed token list", {.file = {}, .field = "--tokens", .expected = "an integer after the last comma", .found = "nothing"});
    }
  }
  if (ids.empty()) return Status::error(Code::invalid_argument, "empty token list", {.file = {}, .field = "--tokens", .expected = "comma-separated integers", .found = "nothing"});
  return ids;
}

void report_trust(const Context& context, const Engine& engine, const EngineFlags& flags) {
  const Trust& trust = engine.program().trust();
  if (context.quiet || (trust.state == Trust::State::unsigned_file && flags.trust.trust.empty())) return;
  const std::string state(trust_state_name(trust.state));
  std::fprintf(stderr, "signature: %s%s\n", state.c_str(), trust.algorithm ? (" (key " + trust.key.hex() + ")").c_str() : "");
}

uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace pteron::tools
