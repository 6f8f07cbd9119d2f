// From a decoder description and a checkpoint's tensors to the graphs of the methods.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "core/constant_source.h"
#include "ir/graph.h"
#include "models/decoder.h"

namespace pteron::models {

struct BuildOptions {
  int64_t context_length = 0;
  int64_t prefill_rows = 128;                     // 0: decode only
  ScalarType dtype = ScalarType::Float;           // of float weights and activations
  ScalarType cache_dtype = ScalarType::Float;
  ScalarType ids_dtype = ScalarType::Long;        // of token and position ids
  bool boolean_mask = false;
  bool prefill_selected = true;                   // the prefill method's logits: one row, or all
  bool decode_selected = false;
  int64_t verify_rows = 0;                        // of a third method with all rows of logits, for tokens that were guessed; 0: none
  bool flat_sliding = false;
  ir::Packing packing = ir::Packing::plain;       // of projections, as a packing backend should store them
  ir::Packing embedding_packing = ir::Packing::plain;
  ir::Packing head_packing = ir::Packing::plain;
};

// The geometry of one layer's caches, as the I/O contract states it.
struct CacheLayer {
  bool sliding = false;
  int64_t heads = 0, key_dim = 0, value_dim = 0, slots = 0, window = 0;
};

struct BuiltModel {
  ir::Module module;                      // methods "prefill" (if any), "decode" and "verify" (if asked for)
  std::vector<CacheLayer> cache;
  std::vector<RopeTable> ropes;           // how keys were rotated before they were cached
  std::vector<std::string> unused;        // tensors of the checkpoint that nothing uses
};

// Inputs of each method: token ids, position ids, masks (full before sliding), the row to read where selected; its output: logits. Caches are kept inside
// (operator `cache`) until the pass static_cache makes them inputs and outputs. Every tensor is checked against the description.
Result<BuiltModel> build(const Decoder& decoder, const WeightSource& weights, const BuildOptions& options);

}  // namespace pteron::models
