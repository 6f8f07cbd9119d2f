// The order of trust, in one place: footer, then policy, then the verifier. Nothing else makes a VerifiedProgram.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "format/flat_tensor.h"
#include "format/verified_program.h"
#include "pteron/manifest.h"

namespace pteron::package {

// A program that may run, and what is known of its origin.
struct Opened {
  format::VerifiedProgram program;
  Trust trust;
  std::vector<format::FlatTensorFile> external;  // in the order of the paths; no key stands in two of them
};

// Opens a `.pte`, or the program inside a bundled program, and its `.ptd` files. Where a trusted key vouches for the file, every byte of it and
// of the external files is checked against the signed digests, with all cores. Errors name the file: `refused` where the policy forbids it.
// With `LoadMode::map` the files must not change while the result lives.
Result<Opened> open(const std::string& path, const LoadPolicy& policy = {}, std::span<const std::string> external_data = {});

// The same for a caller's bytes, which must outlive every copy of the program and start at an address aligned to 16 bytes.
Result<Opened> from_bytes(ByteSpan bytes, const LoadPolicy& policy = {});

}  // namespace pteron::package
