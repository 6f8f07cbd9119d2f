// The operator lists of this folder, one a file. src/builtin/run says which of them a build contains.
#pragma once

#include <span>

#include "runtime/kernel.h"

namespace pteron::portable {

std::span<const runtime::Kernel> unary_kernels();
std::span<const runtime::Kernel> binary_kernels();
std::span<const runtime::Kernel> logic_kernels();
std::span<const runtime::Kernel> activation_kernels();
std::span<const runtime::Kernel> copy_kernels();
std::span<const runtime::Kernel> view_kernels();
std::span<const runtime::Kernel> join_kernels();
std::span<const runtime::Kernel> create_kernels();
std::span<const runtime::Kernel> matmul_kernels();
std::span<const runtime::Kernel> reduce_kernels();
std::span<const runtime::Kernel> normalize_kernels();
std::span<const runtime::Kernel> index_kernels();
std::span<const runtime::Kernel> embedding_kernels();
std::span<const runtime::Kernel> order_kernels();
std::span<const runtime::Kernel> scatter_kernels();
std::span<const runtime::Kernel> convolution_kernels();
std::span<const runtime::Kernel> pool_kernels();
std::span<const runtime::Kernel> pad_kernels();
std::span<const runtime::Kernel> resample_kernels();
std::span<const runtime::Kernel> distance_kernels();
std::span<const runtime::Kernel> complex_kernels();
std::span<const runtime::Kernel> quantize_kernels();
std::span<const runtime::Kernel> attention_kernels();
std::span<const runtime::Kernel> sequence_kernels();

// All of them: every operator of the portable and the optimized library, the quantized library and the LLM operators.
std::span<const std::span<const runtime::Kernel>> all_kernels();

}  // namespace pteron::portable
