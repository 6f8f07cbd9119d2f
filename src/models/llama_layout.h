// The layout that most families share: Llama's tensor names and block, with the fields that config.json gives. A family states its defaults,
// takes the description, and changes what it does differently.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "models/config.h"
#include "models/decoder.h"
#include "models/family.h"

namespace pteron::models {

// What a family's class has where config.json leaves a field out.
struct LlamaDefaults {
  int64_t vocab = 32000, hidden = 4096, intermediate = 11008, layers = 32, heads = 32;
  std::optional<int64_t> kv_heads = {};   // as many as heads
  std::optional<int64_t> head_dim = {};   // hidden / heads
  int64_t max_positions = 2048;
  Norm::Kind norm = Norm::Kind::rms;
  double eps = 1e-6;
  double theta = 10000, partial = 1;
  bool interleaved = false;
  bool tied = false;
  std::string activation = "silu";
};

// Fills `out` with the plain Llama description: prefix "model." (or a spelling that the checkpoint has), one RoPE, full attention, no biases.
void describe_llama_layout(Config& config, const HasTensor& has, const LlamaDefaults& defaults, Decoder& out);

// Adds biases to the attention's projections.
void add_attention_biases(Decoder& out, bool output_too);

void add_mlp_biases(Decoder& out);

// Says that projections are consecutive rows of one stored tensor, each with the name of its part. Their biases, where they have one, are of the tensor
// beside it.
struct FusedPart {
  Matrix* matrix;
  const char* part;
};
void fuse(const std::string& weight, std::initializer_list<FusedPart> parts);

// Says that query, key and value lie in the tensor `name`.weight (and .bias) head by head: for each key head its query heads, the key, the value.
void fuse_by_head(const std::string& name, bool bias, int64_t heads, int64_t kv_heads, int64_t head_dim, Attention& attention);

// Gives a projection the tensors `name`.weight and, with a bias, `name`.bias.
void rename(Matrix& matrix, const std::string& name, bool bias);

// The epsilon of a norm: any number that is not negative.
double norm_eps(Config& config, std::string_view key, double fallback);

// The kernel's name for an activation of a configuration; an unknown one is refused by name. `key` is the field that it came from.
std::string activation_name(Config& config, std::string_view key, const std::string& name);

// The first prefix for which the checkpoint has `prefix + tensor`; the first of all where none has.
std::string find_prefix(const HasTensor& has, std::initializer_list<const char*> prefixes, const std::string& tensor);

// Sets the windows of all layers: `layer_types` where given, else the rule of the family (layer -> sliding). `window` is the value of
// `sliding_window`, nothing for none.
void set_windows(Config& config, std::optional<int64_t> window, const std::function<bool(int64_t)>& sliding, Decoder& out);

// A norm on each head of query and key, before RoPE ("q_norm", "k_norm").
void add_head_norms(Decoder& out, double offset);

// The name of block `layer`'s tensors: Decoder::embedding's prefix + "layers.N.".
std::string layer_prefix(const Decoder& decoder, size_t layer);

}  // namespace pteron::models
