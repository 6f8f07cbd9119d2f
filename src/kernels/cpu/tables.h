// The table that each instruction set's file defines; kernels.cc chooses among those that this build has.
#pragma once

#include "kernels/cpu/kernels.h"

namespace pteron::kernels::cpu {

// A group of activations whose largest magnitude is below this counts as zero: 127 / maximum must stay finite.
inline constexpr float kSmallestMaximum = 1e-30f;

const KernelTable& scalar_kernels();
const KernelTable& avx2_kernels();
const KernelTable& avxvnni_kernels();
const KernelTable& avx512vnni_kernels();
const KernelTable& neon_kernels();
const KernelTable& dotprod_kernels();
const KernelTable& i8mm_kernels();

}  // namespace pteron::kernels::cpu
