// ALiBi: attention biases that grow with the key's position.
#pragma once

#include <cstdint>
#include <vector>

namespace pteron::models {

// The bias of each head at each position, [heads, positions], times `scale`. Slopes, positions and their products are rounded to bfloat16, as the
// architecture that uses them does.
std::vector<float> alibi_table(int64_t heads, int64_t positions, double scale);

}  // namespace pteron::models
