#include "kernels/portable/families.h"

#include <array>

namespace pteron::portable {

std::span<const std::span<const runtime::Kernel>> all_kernels() {
  static const std::array kFamilies = {
      matmul_kernels(), binary_kernels(),    unary_kernels(),  logic_kernels(), activation_kernels(), copy_kernels(),    view_kernels(), join_kernels(),
      create_kernels(), reduce_kernels(), normalize_kernels(), index_kernels(), embedding_kernels(),
  };
  return kFamilies;
}

}  // namespace pteron::portable
