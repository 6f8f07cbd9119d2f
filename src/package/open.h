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
  bool complete = true;                          // false: only the tables may be used (`open_tables`)
};

// Opens a `.pte`, or the program inside a bundled program, and its `.ptd` files. Where a trusted key vouches for the file, every byte of it and
// of the external files is checked against the signed digests, with all cores. Errors name the file: `refused` where the policy forbids it.
// With `LoadMode::map` the files must not change while the result lives.
Result<Opened> open(const std::string& path, const LoadPolicy& policy = {}, std::span<const std::string> external_data = {});

// Payloads of delegates up to this size belong to the tables; larger ones hold weights.
inline constexpr uint64_t kTablePayloadBytes = 4 << 20;

// For looking at a file of any size: of what a trusted key vouches for, only the bytes that are parsed are checked, which are header and
// tables (everything in a bundle, and in a program without the extended header), and payloads of delegates up to `kTablePayloadBytes`. Constants and
// other segments must not be used.
Result<Opened> open_tables(const std::string& path, const LoadPolicy& policy = {});

// The same as `open` for a caller's bytes, which must outlive every copy of the program and start at an address aligned to 16 bytes.
Result<Opened> from_bytes(ByteSpan bytes, const LoadPolicy& policy = {});

}  // namespace pteron::package
