// Any bytes as a contract object, and as a generation config: errors, never a crash; what is accepted survives the checks too.
#include <cstdint>
#include <string_view>

#include "llm/contract.h"
#include "llm/generation_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)pteron::llm::identify_contract(text);
  (void)pteron::llm::parse_generation_config(text);
  const auto contract = pteron::llm::parse_contract(text);
  if (!contract.ok()) return 0;
  // A program that has the methods which the object names, with sizes of its own.
  std::vector<pteron::MethodInfo> methods;
  for (const auto& spec : contract->methods) {
    pteron::MethodInfo info;
    info.name = spec.name;
    info.inputs.resize(spec.inputs.size());
    info.outputs.resize(spec.outputs.size());
    for (size_t i = 0; i < spec.inputs.size(); ++i) {
      if (spec.inputs[i].index >= info.inputs.size()) continue;
      auto& slot = info.inputs[spec.inputs[i].index];
      slot.kind = pteron::ValueKind::tensor;
      slot.dtype = spec.inputs[i].dtype;
      slot.sizes.assign(spec.inputs[i].shape.begin(), spec.inputs[i].shape.end());
    }
    for (size_t i = 0; i < spec.outputs.size(); ++i) {
      if (spec.outputs[i].index >= info.outputs.size()) continue;
      auto& slot = info.outputs[spec.outputs[i].index];
      slot.kind = pteron::ValueKind::tensor;
      slot.dtype = spec.outputs[i].dtype;
      slot.sizes.assign(spec.outputs[i].shape.begin(), spec.outputs[i].shape.end());
    }
    methods.push_back(std::move(info));
  }
  if (pteron::llm::validate_contract(*contract, methods).ok()) (void)pteron::llm::cache_bytes(*contract);
  return 0;
}
