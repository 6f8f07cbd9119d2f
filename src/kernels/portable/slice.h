// Parts of a tensor along one dimension.
#pragma once

#include <optional>

#include "kernels/portable/strided.h"

namespace pteron::portable {

// The elements at `index` of dimension `dim`, which disappears.
Result<View> select_view(const Tensor& self, int64_t dim, int64_t index);
// start, start + step, ... before end; bounds count from the end if negative and are clipped.
Result<View> slice_view(const Tensor& self, int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end, int64_t step);

}  // namespace pteron::portable
