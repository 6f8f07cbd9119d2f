// What a program contains, as the JSON object behind `pteron inspect` and `Program::describe`.
#pragma once

#include <nlohmann/json.hpp>

#include "format/verified_program.h"

namespace pteron::api {

// Keys: bytes, methods, named_data, weights, segments, constants; with `instructions`, each method's listing. Reads metadata only, and payloads of
// delegates: small ones where the program is not `complete`, but opened for its tables.
nlohmann::ordered_json describe(const format::VerifiedProgram& program, bool complete, bool instructions);

}  // namespace pteron::api
