// What the methods of a program take, and a run of one on zeros: any_method FILE.pte [METHOD]
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "pteron/pteron.h"

namespace {

int fail(const pteron::Status& status) {
  std::fprintf(stderr, "any_method: %s\n", status.message().c_str());
  return 1;
}

std::string shape(const pteron::SlotInfo& slot) {
  std::string text(pteron::dtype_name(slot.dtype));
  for (const int32_t size : slot.sizes) text += " " + std::to_string(size);
  return text;
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return std::fprintf(stderr, "usage: any_method FILE.pte [METHOD]\n"), 2;
  const pteron::Result<pteron::Program> program = pteron::Program::open(words[1]);
  if (!program.ok()) return fail(program.status());
  for (const pteron::MethodInfo& method : program->methods()) {
    std::printf("%s: %zu inputs, %zu outputs\n", method.name.c_str(), method.inputs.size(), method.outputs.size());
  }
  if (count < 3) return 0;

  pteron::Result<pteron::Method> method = program->load(words[2]);
  if (!method.ok()) return fail(method.status());
  std::vector<std::vector<std::byte>> zeros;
  for (size_t i = 0; i < method->info().inputs.size(); ++i) {
    const pteron::SlotInfo& slot = method->info().inputs[i];
    if (slot.kind != pteron::ValueKind::tensor) continue;
    const auto& bytes = zeros.emplace_back(slot.nbytes);
    if (const auto set = method->set_input(i, pteron::TensorView{slot.dtype, slot.sizes, slot.dim_order, bytes.data(), bytes.size()}); !set.ok()) return fail(set);
  }
  if (const auto given = method->allocate_outputs(); !given.ok()) return fail(given);
  if (const auto run = method->execute(); !run.ok()) return fail(run);
  for (size_t i = 0; i < method->info().outputs.size(); ++i) std::printf("output %zu: %s\n", i, shape(method->info().outputs[i]).c_str());
}
