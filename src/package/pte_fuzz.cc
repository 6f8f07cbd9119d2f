// Opens arbitrary bytes as a program and, where that works, looks at everything that the view offers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/sha256.h"
#include "format/program_reader.h"
#include "format/rewrite_for_test.h"
#include "package/open.h"

namespace {

using namespace pteron;
using namespace pteron::format;

// Reads every byte, so that a sanitizer sees one that is not there.
void touch(ByteSpan bytes) { sha256(bytes); }

void walk_plan(const VerifiedProgram& program, const Plan& plan) {
  if (program.find_plan(plan.name) != &plan) std::abort();
  for (const Value& value : plan.values) {
    const auto* tensor = std::get_if<Tensor>(&value);
    if (tensor == nullptr || tensor->external || tensor->data_buffer_idx == 0) continue;
    touch(tensor->allocation ? program.initial_state(tensor->data_buffer_idx, tensor->nbytes) : program.constant(tensor->data_buffer_idx, tensor->nbytes));
  }
  for (const Delegate& delegate : plan.delegates) touch(program.delegate_data(delegate));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes(size);  // at an aligned address
  if (size > 0) std::memcpy(bytes.data(), data, size);
  auto opened = package::from_bytes(bytes);
  if (!opened.ok()) return opened.status().message().empty() ? (std::abort(), 0) : 0;
  const VerifiedProgram& program = opened->program;
  for (const Plan& plan : program.program().plans) walk_plan(program, plan);
  for (size_t i = 0; i < program.program().segments.size(); ++i) touch(*program.segment(i));
  for (const NamedData& named : program.program().named_data) touch(*program.named_data(named.key));
  // What was accepted can be written, and what was written is accepted.
  ProgramToWrite again = rewrite(program);
  uint64_t total = 0;  // entries may share bytes, which makes a small file a large one here
  for (const auto* blobs : {&again.constants, &again.mutable_data, &again.delegate_blobs}) {
    for (const Blob& blob : *blobs) total += blob.size;
  }
  for (const NamedBlob& named : again.named_data) total += named.blob.size;
  if (total > 16 * size) return 0;
  auto file = written(std::move(again));
  if (!file.ok() || !read_program(*file).ok()) std::abort();
  return 0;
}
