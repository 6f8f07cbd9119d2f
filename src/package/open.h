// The order of trust, in one place: footer, then policy, then the verifier. Nothing else makes a VerifiedProgram.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "format/verified_program.h"

namespace pteron::package {

enum class LoadMode : uint8_t {
  map,   // pages come from the file as they are used and are shared by processes; the file must not change meanwhile
  copy,  // private memory: what was checked is what runs
};

// Opens a `.pte`, or the program inside a bundled program. Errors name the file.
Result<format::VerifiedProgram> open(const std::string& path, LoadMode mode = LoadMode::map);

// The same for a caller's bytes, which must outlive every copy of the result and start at an address aligned to 16 bytes.
Result<format::VerifiedProgram> from_bytes(ByteSpan bytes);

}  // namespace pteron::package
