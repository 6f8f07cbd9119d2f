// The architectures that GGUF files of ours can have: one row each, with tensor names.
#include <array>

#include "import/gguf_config.h"

namespace pteron::importer {
namespace {

using enum GgufLayout;

constexpr std::array kLlama = {
    GgufName{"token_embd", "model.embed_tokens"},
    GgufName{"output_norm", "model.norm"},
    GgufName{"output", "lm_head"},
    GgufName{"blk.{}.attn_norm", "model.layers.{}.input_layernorm"},
    GgufName{"blk.{}.ffn_norm", "model.layers.{}.post_attention_layernorm"},
    GgufName{"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj"},
    GgufName{"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj"},
    GgufName{"blk.{}.attn_v", "model.layers.{}.self_attn.v_proj"},
    GgufName{"blk.{}.attn_output", "model.layers.{}.self_attn.o_proj"},
    GgufName{"blk.{}.ffn_gate", "model.layers.{}.mlp.gate_proj"},
    GgufName{"blk.{}.ffn_up", "model.layers.{}.mlp.up_proj"},
    GgufName{"blk.{}.ffn_down", "model.layers.{}.mlp.down_proj"},
};
constexpr std::array kPairwise = {
    GgufName{"blk.{}.attn_q", "model.layers.{}.self_attn.q_proj", query_pairs},
    GgufName{"blk.{}.attn_k", "model.layers.{}.self_attn.k_proj", key_pairs},
};
constexpr std::array kHeadNorms = {
    GgufName{"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"},
    GgufName{"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"},
};
// Gemma 2 and 3: norms before and after both halves of a block. Olmo 2 has those after only.
constexpr std::array kFourNorms = {
    GgufName{"blk.{}.post_attention_norm", "model.layers.{}.post_attention_layernorm"},
    GgufName{"blk.{}.ffn_norm", "model.layers.{}.pre_feedforward_layernorm"},
    GgufName{"blk.{}.post_ffw_norm", "model.layers.{}.post_feedforward_layernorm"},
    GgufName{"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_norm"},
    GgufName{"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_norm"},
};
constexpr std::array kPhi3 = {
    GgufName{"blk.{}.attn_qkv", "model.layers.{}.self_attn.qkv_proj"},
    GgufName{"blk.{}.ffn_up", "model.layers.{}.mlp.gate_up_proj"},
};
constexpr std::array kStableLm = {
    GgufName{"blk.{}.attn_q_norm", "model.layers.{}.self_attn.q_layernorm.norms.{}", head_vectors},
    GgufName{"blk.{}.attn_k_norm", "model.layers.{}.self_attn.k_layernorm.norms.{}", head_vectors},
};
constexpr std::array kGpt2 = {
    GgufName{"token_embd", "transformer.wte"},
    GgufName{"position_embd", "transformer.wpe"},
    GgufName{"output_norm", "transformer.ln_f"},
    GgufName{"output", "lm_head"},
    GgufName{"blk.{}.attn_norm", "transformer.h.{}.ln_1"},
    GgufName{"blk.{}.ffn_norm", "transformer.h.{}.ln_2"},
    GgufName{"blk.{}.attn_qkv", "transformer.h.{}.attn.c_attn", transposed},
    GgufName{"blk.{}.attn_output", "transformer.h.{}.attn.c_proj", transposed},
    GgufName{"blk.{}.ffn_up", "transformer.h.{}.mlp.c_fc", transposed},
    GgufName{"blk.{}.ffn_down", "transformer.h.{}.mlp.c_proj", transposed},
};
constexpr std::array kGptNeoX = {
    GgufName{"token_embd", "gpt_neox.embed_in"},
    GgufName{"output_norm", "gpt_neox.final_layer_norm"},
    GgufName{"output", "embed_out"},
    GgufName{"blk.{}.attn_norm", "gpt_neox.layers.{}.input_layernorm"},
    GgufName{"blk.{}.ffn_norm", "gpt_neox.layers.{}.post_attention_layernorm"},
    GgufName{"blk.{}.attn_qkv", "gpt_neox.layers.{}.attention.query_key_value", grouped_qkv},
    GgufName{"blk.{}.attn_output", "gpt_neox.layers.{}.attention.dense"},
    GgufName{"blk.{}.ffn_up", "gpt_neox.layers.{}.mlp.dense_h_to_4h"},
    GgufName{"blk.{}.ffn_down", "gpt_neox.layers.{}.mlp.dense_4h_to_h"},
};
constexpr std::array kFalcon = {
    GgufName{"token_embd", "transformer.word_embeddings"},
    GgufName{"output_norm", "transformer.ln_f"},
    GgufName{"output", "lm_head"},
    GgufName{"blk.{}.attn_qkv", "transformer.h.{}.self_attention.query_key_value", grouped_qkv},
    GgufName{"blk.{}.attn_output", "transformer.h.{}.self_attention.dense"},
    GgufName{"blk.{}.ffn_up", "transformer.h.{}.mlp.dense_h_to_4h"},
    GgufName{"blk.{}.ffn_down", "transformer.h.{}.mlp.dense_4h_to_h"},
    GgufName{"blk.{}.attn_norm", "transformer.h.{}.input_layernorm"},
};
// With two norms a block, the one called attn_norm feeds the MLP.
constexpr std::array kFalconTwoNorms = {
    GgufName{"blk.{}.attn_norm", "transformer.h.{}.ln_mlp"},
    GgufName{"blk.{}.attn_norm_2", "transformer.h.{}.ln_attn"},
};

constexpr std::span<const GgufName> kNone;
constexpr std::array kArchitectures = {
    GgufArchitecture{"llama", "LlamaForCausalLM", "llama", "silu", kPairwise, kLlama},
    GgufArchitecture{"qwen2", "Qwen2ForCausalLM", "qwen2", "silu", kNone, kLlama},
    GgufArchitecture{"qwen3", "Qwen3ForCausalLM", "qwen3", "silu", kHeadNorms, kLlama},
    GgufArchitecture{"gemma", "GemmaForCausalLM", "gemma", "gelu_pytorch_tanh", kNone, kLlama, true},
    GgufArchitecture{"gemma2", "Gemma2ForCausalLM", "gemma2", "gelu_pytorch_tanh", kFourNorms, kLlama, true},
    GgufArchitecture{"gemma3", "Gemma3ForCausalLM", "gemma3_text", "gelu_pytorch_tanh", kFourNorms, kLlama, true},
    GgufArchitecture{"phi3", "Phi3ForCausalLM", "phi3", "silu", kPhi3, kLlama},
    GgufArchitecture{"smollm3", "SmolLM3ForCausalLM", "smollm3", "silu", kPairwise, kLlama},
    GgufArchitecture{"olmo2", "Olmo2ForCausalLM", "olmo2", "silu", kFourNorms, kLlama},
    GgufArchitecture{"granite", "GraniteForCausalLM", "granite", "silu", kPairwise, kLlama},
    GgufArchitecture{"stablelm", "StableLmForCausalLM", "stablelm", "silu", kStableLm, kLlama},
    GgufArchitecture{"command-r", "CohereForCausalLM", "cohere", "silu", kHeadNorms, kLlama},
    GgufArchitecture{"gpt2", "GPT2LMHeadModel", "gpt2", "gelu_new", kNone, kGpt2},
    GgufArchitecture{"gptneox", "GPTNeoXForCausalLM", "gpt_neox", "gelu", kNone, kGptNeoX},
    GgufArchitecture{"falcon", "FalconForCausalLM", "falcon", "gelu", kNone, kFalcon},
};
constexpr GgufArchitecture kFalconNew{"falcon", "FalconForCausalLM", "falcon", "gelu", kFalconTwoNorms, kFalcon};

}  // namespace

Result<const GgufArchitecture*> gguf_architecture(const GgufFile& file) {
  PTERON_ASSIGN(const std::optional<std::string> name, file.string("general.architecture"));
  if (!name)
    return Status::error(Code::invalid_data, "the file does not say its architecture",
                         {file.path(), "general.architecture", "a string", "nothing"});
  if (*name == kFalconNew.name && file.find_tensor("blk.0.attn_norm_2.weight") != nullptr) return &kFalconNew;
  std::string known;
  for (const GgufArchitecture& row : kArchitectures) {
    if (row.name == *name) return &row;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return Status::error(Code::unsupported, "unknown architecture", {file.path(), "general.architecture", "one of " + known, *name});
}

}  // namespace pteron::importer
