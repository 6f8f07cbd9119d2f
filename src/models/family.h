// Model families: what each makes of a configuration.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/config.h"
#include "models/decoder.h"

namespace pteron::models {

// Whether the checkpoint has a tensor of that name; lets a family tell spellings of one name apart.
using HasTensor = std::function<bool(const std::string& name)>;

struct Family {
  std::string_view architecture;  // Hugging Face class name
  std::string_view summary;
  // Fills the description. Errors go to `config`.
  void (*describe)(Config& config, const HasTensor& has, Decoder& out);
};

// The families of models.def, in its order.
const std::vector<Family>& families();

// The description of the checkpoint that a config.json belongs to: the family by "architectures", its fields checked, what no family does refused by name.
// `file` is what errors name.
Result<Decoder> describe(const nlohmann::json& config, const std::string& file, const HasTensor& has);

}  // namespace pteron::models
