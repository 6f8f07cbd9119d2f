// Copies that may change the element type.
#pragma once

#include "kernels/portable/shape.h"

namespace pteron::portable {

// Fills `out` (resized to the sizes of `like`) with `from`, broadcast and converted.
Status cast_into(KernelContext& context, const Tensor& from, const Tensor& like, Tensor& out);

// The same into a tensor that keeps its sizes.
Status cast_into(KernelContext& context, const Tensor& from, Tensor& out);

}  // namespace pteron::portable
