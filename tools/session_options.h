// Options that run, chat, bench and the like share: how to load an engine, and how to generate.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "pteron/llm.h"
#include "tools/keys.h"
#include "tools/verb.h"

namespace pteron::tools {

struct EngineFlags {
  std::string file;
  std::vector<std::string> data;
  TrustOptions trust;
  size_t chunk = 0, min_chunk = 2;
  bool profile = false;
};

void add_engine_options(CLI::App& verb, EngineFlags& flags);
Result<Engine> load_engine(const Context& context, const EngineFlags& flags);

struct GenerateFlags {
  size_t max_tokens = 256, min_tokens = 0;
  std::optional<double> temperature, top_p, min_p, typical_p, repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<int64_t> top_k;
  std::optional<uint64_t> seed;
  std::vector<std::string> logit_bias, stop;  // biases as ID=BIAS
  bool ignore_eos = false;
  size_t lookup = 0;
  double time_limit = 0;
};

void add_generate_options(CLI::App& verb, GenerateFlags& flags);
// The file's generation config with what the command line says over it.
Result<GenerateOptions> generate_options(const Engine& engine, const GenerateFlags& flags);

// "1,2,3"; every id is below `vocab_size` (0: not checked).
Result<std::vector<TokenId>> parse_tokens(const std::string& text, size_t vocab_size);

// Peak resident memory of this process in bytes.
uint64_t peak_rss_bytes();

// Says loudly what was established about the file's signature, where a key was named or the file is signed.
void report_trust(const Context& context, const Engine& engine, const EngineFlags& flags);

}  // namespace pteron::tools
