// What a GGUF file's metadata says, in the words of a Hugging Face config.json, and how its tensors are named and laid out there.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "import/gguf_file.h"

namespace pteron::importer {

// How a GGUF tensor differs from the Hugging Face tensor of the same meaning.
enum class GgufLayout : uint8_t {
  same,
  query_pairs,   // rows 2i, 2i + 1 of each query head are rows i, i + D/2 there
  key_pairs,     // the same for key heads
  transposed,    // [in, out] there
  grouped_qkv,   // [all q | all k | all v] here, per kv head [its q heads | k | v] there
  head_vectors,  // [heads, D] here, one vector a head there: the name there has a second number
};

struct GgufName {
  std::string_view gguf;  // "{}" stands for the layer; ".weight" or ".bias" follows both names
  std::string_view hf;
  GgufLayout layout = GgufLayout::same;
};

struct GgufArchitecture {
  std::string_view name;      // general.architecture
  std::string_view hf_class;  // architectures[0]
  std::string_view model_type;
  std::string_view activation;     // hidden_act
  std::span<const GgufName> own;   // looked up first
  std::span<const GgufName> base;  // then these
  bool norms_include_one = false;
};

// The architecture of a file; an error that lists the known ones for another.
Result<const GgufArchitecture*> gguf_architecture(const GgufFile& file);

struct GgufHeads {
  int64_t query = 0, key = 0;  // numbers of heads
  int64_t dim = 0;             // elements of a head
};
// Attention heads as the metadata gives them, every number from 1 to 2^20. The same for all layers: a file where they differ is refused.
Result<GgufHeads> gguf_heads(const GgufFile& file);

// The id under "tokenizer.ggml.<key>"; nothing where the key is missing or holds the largest uint32, which some writers put for "none".
Result<std::optional<int64_t>> gguf_token_id(const GgufFile& file, std::string_view key);

// The config.json that says the same as the metadata.
Result<nlohmann::json> gguf_config(const GgufFile& file, const GgufArchitecture& architecture);

// generation_config.json from the special tokens and sampling defaults in the metadata.
Result<nlohmann::json> gguf_generation_config(const GgufFile& file);

}  // namespace pteron::importer
