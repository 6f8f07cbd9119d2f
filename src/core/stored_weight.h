// What is known about a weight as a backend stores it: for reports and for looking into programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pteron {

struct StoredWeight {
  std::string key;               // of the named data
  std::string encoding;          // the backend's name of it, for example "int4"
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
  std::optional<float> error;    // relative root mean square error, where the weight was quantised at export
};

}  // namespace pteron
