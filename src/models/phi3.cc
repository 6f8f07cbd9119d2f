#include "models/llama_layout.h"

namespace pteron::models {

void describe_phi3(Config& config, const HasTensor& has, Decoder& out) {
  describe_llama_layout(config, has, {.vocab = 32064, .hidden = 3072, .intermediate = 8192, .max_positions = 4096, .eps = 1e-5}, out);
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    const std::string prefix = layer_prefix(out, i);
    Attention& a = out.blocks[i].attention;
    Mlp& mlp = out.blocks[i].mlp;
    fuse(prefix + "self_attn.qkv_proj.weight", {{&a.query, "query"}, {&a.key, "key"}, {&a.value, "value"}});
    fuse(prefix + "mlp.gate_up_proj.weight", {{&mlp.gate, "gate"}, {&mlp.up, "up"}});
  }
  set_windows(config, config.optional_size("sliding_window"), [](int64_t) { return true; }, out);
}

}  // namespace pteron::models
