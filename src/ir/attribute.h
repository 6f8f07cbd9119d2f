// Attribute values: the non-tensor arguments of operators.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "pteron/tensor.h"

namespace pteron::ir {

struct NoneValue {
  bool operator==(const NoneValue&) const = default;
};

using Attribute = std::variant<NoneValue, int64_t, double, bool, std::string, ScalarType, std::vector<int64_t>, std::vector<double>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

// As in the text form: 3, 0.5, true, "text", none, float32, [1, 2]. Doubles are printed so that they read back to the same value.
std::string to_string(const Attribute& value);
// A double that never looks like an integer ("1.0", "1e-05").
std::string number_to_string(double value);

}  // namespace pteron::ir
