// Bundled programs (`.bpte`, identifier BP08): a `.pte` in one file with inputs and the outputs that they must give.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "pteron/tensor.h"

namespace pteron::format {

// Data lies in memory as `dim_order` says; `data.size()` is the byte count of the sizes.
struct BundledTensor {
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  ByteSpan data;
};

using BundledValue = std::variant<BundledTensor, int64_t, bool, double>;

struct BundledCase {
  std::vector<BundledValue> inputs, expected_outputs;  // flattened; a case may expect nothing
};

struct BundledSuite {
  std::string method;
  std::vector<BundledCase> cases;
};

struct BundledProgram {
  std::vector<BundledSuite> suites;  // sorted by method
  ByteSpan program;                  // a whole `.pte`, not verified; its segments are aligned to 32 bytes at most
};

// Whether the file says that it is a bundled program.
bool is_bundled_program(ByteSpan file);

// Reads and checks everything but the program inside. Spans point into `file`, which must start at an address aligned to 16 bytes.
Result<BundledProgram> read_bundled_program(ByteSpan file);

// Writes a bundled program. It is put together in memory, so the program must be smaller than 2 GiB. Suites are sorted by method.
Status write_bundled_program(const BundledProgram& bundle, FileWriter& out);

}  // namespace pteron::format
