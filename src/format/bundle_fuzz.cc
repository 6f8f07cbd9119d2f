// Reads arbitrary bytes as a bundled program and, where that works, reads every byte of its test cases and the program inside.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "format/bundled_program.h"
#include "format/program_reader.h"

namespace {

using namespace pteron;
using namespace pteron::format;

unsigned sum_of(ByteSpan bytes) {
  unsigned sum = 0;
  for (std::byte b : bytes) sum += static_cast<unsigned>(b);
  return sum;
}

unsigned sum_of(const std::vector<BundledValue>& values) {
  unsigned sum = 0;
  for (const BundledValue& value : values) {
    if (const auto* tensor = std::get_if<BundledTensor>(&value)) sum += sum_of(tensor->data);
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static volatile unsigned sink;
  std::vector<std::byte> bytes(size);  // at an aligned address
  if (size > 0) std::memcpy(bytes.data(), data, size);
  auto bundle = read_bundled_program(bytes);
  if (!bundle.ok()) return 0;
  for (const BundledSuite& suite : bundle->suites) {
    for (const BundledCase& test_case : suite.cases) sink = sum_of(test_case.inputs) + sum_of(test_case.expected_outputs);
  }
  auto program = read_program(bundle->program);
  sink = program.ok() ? static_cast<unsigned>(program->plans.size()) : 0;
  return 0;
}
