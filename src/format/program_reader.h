// Bytes of a `.pte` -> the program as plain values, everything in it checked.
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "format/model.h"

namespace pteron::format {

// Reads a whole `.pte` (trailing bytes are legal) and checks all that verified_program.h promises. Spans of the result point into `file`,
// which must start at an address aligned to 16 bytes. Only the program region is read: time and memory do not depend on the constants.
Result<Program> read_program(ByteSpan file);

}  // namespace pteron::format
