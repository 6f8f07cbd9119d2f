// Runs the check of every kernel of the list on every instruction set of this machine, against the scalar reference.
#include "kernels/cpu/kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "kernels/cpu/kernel_cases.h"

namespace pteron::kernels::cpu {
namespace {

using Check = void (*)(const KernelTable&, const KernelTable&);
struct Case {
  const char* name;
  Check check;
};
constexpr Case kCases[] = {
#define PTERON_KERNEL(name, parameters) {#name, &check_##name},
#include "kernels/cpu/kernels.def"
#undef PTERON_KERNEL
};
constexpr CpuTarget kTargets[] = {CpuTarget::scalar, CpuTarget::avx2,    CpuTarget::avxvnni, CpuTarget::avx512vnni,
                                  CpuTarget::neon,   CpuTarget::dotprod, CpuTarget::i8mm};

TEST(Kernels, EveryKernelOnEveryTargetAgreesWithTheReference) {
  const KernelTable& reference = *kernels_for(CpuTarget::scalar);
  for (const CpuTarget target : kTargets) {
    const KernelTable* table = kernels_for(target);
    if (table == nullptr) continue;
    EXPECT_EQ(table->target, target);
    for (const Case& kernel : kCases) {
      SCOPED_TRACE(std::string(cpu_target_name(target)) + " " + kernel.name);
      kernel.check(*table, reference);
    }
  }
}

TEST(Kernels, TargetsThatTheMachineLacksHaveNoTable) {
  for (const CpuTarget target : kTargets) EXPECT_EQ(kernels_for(target) != nullptr, cpu_supports(target)) << cpu_target_name(target);
}

TEST(Kernels, EnvironmentForcesATargetAndRefusesUnknownOnes) {
  ASSERT_EQ(setenv("PTERON_CPU", "scalar", 1), 0);
  const auto forced = active_kernels();
  ASSERT_EQ(setenv("PTERON_CPU", "z80", 1), 0);
  const auto unknown = active_kernels();
  unsetenv("PTERON_CPU");
  ASSERT_TRUE(forced.ok());
  EXPECT_EQ((*forced)->target, CpuTarget::scalar);
  EXPECT_EQ(unknown.code(), Code::invalid_argument);
}

TEST(Kernels, DequantizedRowsEqualAProductWithUnitVectors) {
  const KernelTable& table = *kernels_for(CpuTarget::scalar);
  for (size_t i = 0; i < kPackedEncodings; ++i) {
    const auto encoding = static_cast<PackedEncoding>(i);
    SCOPED_TRACE(packed_layout(encoding)->name);
    const size_t rows = 21, columns = 70;
    const auto weight = random_weight(encoding, rows, columns, 5);
    std::vector<float> identity(columns * columns, 0.0f);
    for (size_t k = 0; k < columns; ++k) identity[k * columns + k] = 127.0f;
    Rows x = input_rows(table, encoding, identity, columns, columns);
    std::vector<float> y(columns * rows), row(columns);
    Aligned<std::byte> scratch(matmul_scratch_bytes(columns));
    matmul_kernel(table, encoding)({.weights = weight.data(), .outputs = rows, .columns = columns, .tile_begin = 0, .tile_end = 2,
                                    .x = x.bytes.data(), .x_stride = x.stride, .rows = columns, .y = y.data(), .y_stride = rows,
                                    .bias = nullptr, .accumulate = false, .scratch = scratch.data()});
    for (size_t n = 0; n < rows; ++n) {
      dequantize_row(encoding, weight.data(), columns, n, row.data());
      for (size_t k = 0; k < columns; ++k) EXPECT_NEAR(row[k] * 127.0f, y[k * rows + n], 1e-5f * (1 + std::abs(y[k * rows + n]))) << n << " " << k;
    }
  }
}

}  // namespace
}  // namespace pteron::kernels::cpu
