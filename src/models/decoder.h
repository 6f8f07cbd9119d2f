// A decoder-only language model as data: what each family makes of its configuration, and what the builder turns into graphs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/rope.h"

namespace pteron::models {

// A normalisation. Without a weight name there is none.
struct Norm {
  enum class Kind : uint8_t { rms, layer };
  Kind kind = Kind::rms;
  std::string weight = {}, bias = {};
  std::vector<std::string> weight_rows = {};  // instead of `weight`: one tensor a head, stacked
  std::vector<int64_t> shape = {};            // of the weight
  double eps = 1e-6;
  double offset = 0;                     // added to the weight
  explicit operator bool() const { return !weight.empty() || !weight_rows.empty(); }
};

// A projection [out, in]: a stored tensor, or rows of a fused one.
struct Matrix {
  std::string weight = {}, bias = {};                // bias may be empty
  int64_t out = 0, in = 0;
  std::string part = {};                             // of a fused tensor, as it is called in constant names ("query")
  int64_t stored_out = 0;                            // rows of the fused tensor; 0: not fused
  std::vector<std::pair<int64_t, int64_t>> rows = {};// begin and end of what belongs to this projection, in order
  bool transposed = false;                           // stored as [in, out]
};

struct Attention {
  Matrix query, key, value, output;
  Norm query_norm, key_norm;
  bool norm_whole = false;   // query_norm and key_norm span all heads at once
  int32_t rope = -1;         // index into Decoder::ropes
  double scale = 1;
  double softcap = 0;
  int64_t window = 0;        // 0: full
};

struct Mlp {
  bool gated = true;
  std::string activation;    // silu, gelu, gelu_tanh, relu
  Matrix gate, up, down;
};

// x + r * post(attn(pre(x))), then the same with the MLP; in a parallel block the MLP reads x too, through its own norm or, without
// one, through the attention's.
struct Block {
  Norm attention_pre, attention_post, mlp_pre, mlp_post;
  Attention attention;
  Mlp mlp;
  bool parallel = false;
  double residual_multiplier = 1;
};

struct Decoder {
  std::string architecture = {};
  int64_t vocab = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  int64_t max_positions = 0;
  bool positions_limited = false;     // more than max_positions cannot be represented at all
  std::string embedding = {};         // weight [vocab, hidden]
  std::string position_embedding = {};// weight [max_positions, hidden]; empty: none
  double embedding_scale = 1;
  std::vector<Rope> ropes = {};
  bool alibi = false;
  std::vector<Block> blocks = {};
  Norm final_norm = {};
  bool tied = false;
  Matrix head = {};                   // where not tied
  double logits_scale = 1;
  double logits_softcap = 0;
  std::vector<std::string> ignored = {};   // endings of tensors that may be in a file and mean nothing
};

}  // namespace pteron::models
