// A program that uses the installed package: opens a program, runs its method on zeros, says what came out.
#include <cstdio>
#include <vector>

#include "pteron/pteron.h"

namespace {

int fail(const pteron::Status& status) {
  std::fprintf(stderr, "consumer: %s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  pteron::Result<pteron::Program> program = pteron::Program::open(argv[1]);
  if (!program.ok()) return fail(program.status());
  pteron::Result<pteron::Method> method = program->load("forward");
  if (!method.ok()) return fail(method.status());
  std::vector<std::vector<std::byte>> buffers;
  const pteron::MethodInfo& info = method->info();
  for (size_t i = 0; i < info.inputs.size(); ++i) {
    const pteron::SlotInfo& slot = info.inputs[i];
    buffers.emplace_back(slot.nbytes);
    if (pteron::Status status = method->set_input(i, pteron::TensorView{slot.dtype, slot.sizes, slot.dim_order, buffers.back().data(), slot.nbytes}); !status.ok()) return fail(status);
  }
  if (pteron::Status status = method->execute(); !status.ok()) return fail(status);
  const pteron::Result<pteron::TensorView> output = method->output(0);
  if (!output.ok()) return fail(output.status());
  std::printf("pteron %s: %zu bytes of %.*s\n", PTERON_VERSION, output->nbytes, static_cast<int>(pteron::dtype_name(output->dtype).size()), pteron::dtype_name(output->dtype).data());
  return 0;
}
