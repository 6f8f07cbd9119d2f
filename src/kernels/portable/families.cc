#include "kernels/portable/families.h"

#include <array>

namespace pteron::portable {

std::span<const std::span<const runtime::Kernel>> all_kernels() {
  static const std::array kFamilies = {
      matmul_kernels(),   binary_kernels(),   unary_kernels(),     logic_kernels(),       activation_kernels(), copy_kernels(),
      view_kernels(),     join_kernels(),     create_kernels(),    reduce_kernels(),      order_kernels(),      normalize_kernels(),
      index_kernels(),    scatter_kernels(),  embedding_kernels(), convolution_kernels(), pool_kernels(),       pad_kernels(),
      resample_kernels(), distance_kernels(), complex_kernels(),   quantize_kernels(),    attention_kernels(),  sequence_kernels(),
  };
  return kFamilies;
}

}  // namespace pteron::portable
