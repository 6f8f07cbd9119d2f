#include "models/family.h"

namespace pteron::models {

#define PTERON_MODEL(architecture, function, summary) void function(Config& config, const HasTensor& has, Decoder& out);
#include "models/models.def"
#undef PTERON_MODEL

namespace {

struct Refusal {
  const char* key;
  const char* what;
};

// Fields that switch on what no family here does.
constexpr Refusal kExperts[] = {{"num_experts", "mixture of experts is not supported"}, {"num_local_experts", "mixture of experts is not supported"},
                                {"n_routed_experts", "mixture of experts is not supported"}, {"moe_num_experts", "mixture of experts is not supported"}};
constexpr Refusal kPresent[] = {{"quantization_config", "quantised checkpoints of this form are not supported"}, {"attention_chunk_size", "chunked attention is not supported"},
                                {"num_kv_shared_layers", "layers that share key and value caches are not supported"}};

void refuse_features(Config& config) {
  for (const Refusal& r : kExperts) {
    const auto* value = config.find(r.key);
    if (value && value->is_number() && *value > 1) config.fail(r.key, r.what, "nothing", value->dump());
  }
  for (const Refusal& r : kPresent) {
    const auto* value = config.find(r.key);
    if (!value || (value->is_number() && *value == 0)) continue;
    std::string found = "a value";
    if (value->is_object() && value->contains("quant_method") && (*value)["quant_method"].is_string()) found = (*value)["quant_method"].get<std::string>();
    config.fail(r.key, r.what, "nothing", found);
  }
  if (config.boolean("is_encoder_decoder", false)) config.fail("is_encoder_decoder", "encoder-decoder models are not supported", "false", "true");
  if (config.boolean("add_cross_attention", false)) config.fail("add_cross_attention", "cross attention is not supported", "false", "true");
}

std::string known_architectures() {
  std::string list;
  for (const Family& family : families()) list += (list.empty() ? "" : ", ") + std::string(family.architecture);
  return "one of " + list;
}

}  // namespace

const std::vector<Family>& families() {
  static const auto* const kFamilies = new std::vector<Family>{
#define PTERON_MODEL(architecture, function, summary) {architecture, summary, function},
#include "models/models.def"
#undef PTERON_MODEL
  };
  return *kFamilies;
}

Result<Decoder> describe(const nlohmann::json& json, const std::string& file, const HasTensor& has) {
  Config config(json, file);
  const std::vector<std::string> names = config.texts("architectures");
  PTERON_TRY(Status(config.status()));
  const Family* found = nullptr;
  for (const Family& family : families()) {
    for (const std::string& name : names) {
      if (!found && name == family.architecture) found = &family;
    }
  }
  refuse_features(config);
  PTERON_TRY(Status(config.status()));
  if (!found) {
    return Status::error(Code::unsupported, "the model's architecture is not known", {.file = file, .field = "architectures", .expected = known_architectures(),
                                                                                        .found = names.empty() ? "nothing" : names[0]});
  }
  Decoder out;
  out.architecture = found->architecture;
  found->describe(config, has, out);
  PTERON_TRY(Status(config.status()));
  return out;
}

}  // namespace pteron::models
