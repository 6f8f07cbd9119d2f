// Rotary position embedding: what a configuration says, and the frequencies that follow from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/config.h"

namespace pteron::models {

enum class RopeType : uint8_t { plain, linear, llama3, yarn, longrope };

struct Rope {
  RopeType type = RopeType::plain;
  double theta = 10000;
  int64_t rotary_dims = 0;           // even; the first dimensions of each head
  bool interleaved = false;          // pairs (2i, 2i + 1) instead of (i, i + rotary_dims / 2)
  double factor = 1;
  double attention_factor = 0;       // 0: follows from the others
  int64_t original_positions = 0;    // the context that the model was trained with
  int64_t max_positions = 0;
  double low_freq_factor = 1, high_freq_factor = 4;           // llama3
  double beta_fast = 32, beta_slow = 1, mscale = 0, mscale_all_dim = 0;  // yarn
  bool truncate = true;
  std::vector<double> short_factor, long_factor;              // longrope, one a frequency
};

// Defaults of an architecture for what config.json leaves out.
struct RopeDefaults {
  double theta = 10000;
  double partial = 1;
  int64_t head_dim = 0;
  int64_t max_positions = 0;
  bool interleaved = false;
  std::string layer_type;                    // key of nested parameters ("sliding_attention"); empty: the full layers'
  std::string theta_key = "rope_theta";      // top-level name of the base in old configurations
  bool old_scaling = true;                   // whether an old top-level `rope_scaling` applies to these layers
};

// Reads `rope_parameters` (nested or not), or the older top-level fields and `rope_scaling`. A type that cannot be frozen into a static program, or
// an unknown one, is refused by name through `config.fail`.
Rope read_rope(Config& config, const RopeDefaults& defaults);

struct RopeTable {
  std::vector<float> inv_freq;    // rotary_dims / 2
  double attention_factor = 1;    // multiplies cos and sin
};

// The frequencies of a program with that context; longrope takes its long list where the context exceeds the original one.
RopeTable rope_table(const Rope& rope, int64_t context_length);

}  // namespace pteron::models
