// What a program contains, as the JSON object behind `pteron inspect` and `Program::describe`.
#pragma once

#include <nlohmann/json.hpp>

#include "format/verified_program.h"

namespace pteron::api {

// Keys: bytes, methods, named_data, segments, constants; with `instructions`, each method's listing. Reads metadata only, except for small named data.
nlohmann::ordered_json describe(const format::VerifiedProgram& program, bool instructions);

}  // namespace pteron::api
