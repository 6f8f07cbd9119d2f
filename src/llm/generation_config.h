// What a file says about generating with it: Hugging Face's generation_config.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "llm/sampler.h"

namespace pteron::llm {

// Absent fields were absent (or null) in the file.
struct GenerationConfig {
  std::vector<TokenId> eos_tokens;
  std::optional<bool> do_sample;
  std::optional<double> temperature, top_p, min_p, typical_p, repetition_penalty;
  std::optional<int64_t> top_k;

  // Sampling as Hugging Face would do it with this file: greedy unless it says `do_sample` (or says a temperature and nothing of
  // `do_sample`); where it samples, an absent temperature is 1 and an absent top_k is 50.
  SamplerParams sampler() const;
};

// Unknown keys are ignored; a known one of the wrong type, or that a sampler would not take, is an error with its name.
Result<GenerationConfig> parse_generation_config(std::string_view json);

}  // namespace pteron::llm
