// A constant of which only the type and the digest are known: what the parser makes where a text names a SHA-256.
#pragma once

#include <string>
#include <vector>

#include "core/constant_source.h"

namespace pteron::ir {

// Reading or streaming it is an error that names the digest.
ConstantPtr make_digest_source(ScalarType dtype, std::vector<int64_t> shape, std::string sha256_hex);

}  // namespace pteron::ir
