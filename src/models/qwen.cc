#include "models/llama_layout.h"

namespace pteron::models {
namespace {

constexpr int64_t kVocab = 151936, kIntermediate = 22016, kHeads = 32, kMaxPositions = 32768;

// Windows apply from `max_window_layers` upwards, and only where they are switched on.
void set_qwen_windows(Config& config, Decoder& out) {
  std::optional<int64_t> window;
  if (config.boolean("use_sliding_window", false)) window = config.mentions("sliding_window") ? config.optional_size("sliding_window") : std::optional<int64_t>(4096);
  const auto* first = config.find("max_window_layers");
  const int64_t max_window_layers = first && first->is_number_integer() && *first == 0 ? 0 : config.size("max_window_layers", 28);
  set_windows(config, window, [=](int64_t layer) { return layer >= max_window_layers; }, out);
}

}  // namespace

void describe_qwen2(Config& config, const HasTensor& has, Decoder& out) {
  describe_llama_layout(config, has, {.vocab = kVocab, .intermediate = kIntermediate, .heads = kHeads, .kv_heads = 32, .max_positions = kMaxPositions}, out);
  add_attention_biases(out, false);
  set_qwen_windows(config, out);
}

void describe_qwen3(Config& config, const HasTensor& has, Decoder& out) {
  describe_llama_layout(config, has, {.vocab = kVocab, .intermediate = kIntermediate, .heads = kHeads, .kv_heads = 32, .head_dim = 128, .max_positions = kMaxPositions}, out);
  if (config.boolean("attention_bias", false)) add_attention_biases(out, true);
  add_head_norms(out, 0);
  set_qwen_windows(config, out);
}

}  // namespace pteron::models
