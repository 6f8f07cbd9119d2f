#include "passes/passes.h"

namespace pteron::passes {

const std::vector<ir::Pass>& all_passes() {
  static const auto* const kPasses = new std::vector<ir::Pass>{
#define PTERON_PASS(function, name, summary) {name, summary, function},
#include "passes/passes.def"
#undef PTERON_PASS
  };
  return *kPasses;
}

const ir::Pass* find_pass(std::string_view name) {
  for (const ir::Pass& pass : all_passes()) {
    if (pass.name == name) return &pass;
  }
  return nullptr;
}

}  // namespace pteron::passes
