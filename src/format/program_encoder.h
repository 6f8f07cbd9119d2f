// Plain values -> the tables of a `.pte`.
#pragma once

#include <cstddef>
#include <vector>

#include "format/model.h"

namespace pteron::format {

// The finished FlatBuffer, without extended header. `program` is one that `check_program` accepts; its segment offsets are written as they are.
// All fields that runtimes require are written, empty ones too; optional ones only where they are used.
std::vector<std::byte> encode_program(const Program& program);

}  // namespace pteron::format
