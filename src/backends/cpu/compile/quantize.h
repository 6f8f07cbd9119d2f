// Groups of floats as integers with the scale that loses least.
#pragma once

#include "backends/cpu/compile/block_values.h"

namespace pteron::cpu_backend {

// 32 floats as symmetric integers of `bits` (4 or 8). The scale, a float16, is the best of a search over how far the largest magnitude
// is clipped, each candidate refitted by least squares.
void quantize_group(const float* x, int bits, GroupValues& out);

// 32 floats as 4-bit integers with a scale and an offset, both float16: the best of a search over how far the ends of the range are clipped, where
// errors of large values count more. A group that
// was made of such numbers comes out as it was.
void quantize_group_affine(const float* x, GroupValues& out);

}  // namespace pteron::cpu_backend
