// Reads arbitrary bytes as a bundled program and, where that works, reads every byte of its test cases and the program inside.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/sha256.h"
#include "format/bundled_program.h"
#include "format/program_reader.h"

namespace {

using namespace pteron;
using namespace pteron::format;

// Reads every byte, so that a sanitizer sees one that is not there.
void touch(const std::vector<BundledValue>& values) {
  for (const BundledValue& value : values) {
    if (const auto* tensor = std::get_if<BundledTensor>(&value)) sha256(tensor->data);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes(size);  // at an aligned address
  if (size > 0) std::memcpy(bytes.data(), data, size);
  auto bundle = read_bundled_program(bytes);
  if (!bundle.ok()) return 0;
  for (const BundledSuite& suite : bundle->suites) {
    for (const BundledCase& test_case : suite.cases) {
      touch(test_case.inputs);
      touch(test_case.expected_outputs);
    }
  }
  const Status status = read_program(bundle->program).status();
  if (!status.ok() && status.message().empty()) std::abort();
  return 0;
}
