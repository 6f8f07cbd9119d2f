#include "kernels/cpu/kernels.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/cpu/kernel_cases.h"

namespace pteron::kernels::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr size_t kSizes[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 64, 100, 576};

void expect_close(const std::vector<float>& found, const std::vector<float>& expected, float relative, float absolute) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i] == expected[i] || (std::isnan(expected[i]) && std::isnan(found[i]))) continue;
    ASSERT_NEAR(found[i], expected[i], relative * std::abs(expected[i]) + absolute) << i << " of " << found.size();
  }
}

std::vector<float> wide_range(size_t n, uint32_t seed) {
  auto x = random_floats(n, seed, 4.0f);
  const float special[] = {0.0f, -0.0f, 30.0f, -30.0f, 90.0f, -90.0f, 1e-20f, -1e-20f, 1e10f, -1e10f};
  for (size_t i = 0; i < n && i < std::size(special); ++i) x[i * 7 % n] = special[i];
  return x;
}

using Unary = void (*)(const float*, size_t, float*);
void check_unary(Unary kernel, Unary expected) {
  for (const size_t n : kSizes) {
    const auto x = wide_range(n, 3);
    std::vector<float> found(n), plain(n);
    kernel(x.data(), n, found.data());
    expected(x.data(), n, plain.data());
    expect_close(found, plain, 4e-6f, 2e-6f);
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  float y = 0;
  kernel(&nan, 1, &y);
  EXPECT_TRUE(std::isnan(y));
}

using Gated = void (*)(const float*, const float*, size_t, float*);
void check_gated(Gated kernel, Gated expected) {
  for (const size_t n : kSizes) {
    const auto gate = wide_range(n, 4), up = random_floats(n, 5);
    std::vector<float> found = gate, plain(n);
    kernel(found.data(), up.data(), n, found.data());
    expected(gate.data(), up.data(), n, plain.data());
    expect_close(found, plain, 4e-6f, 4e-6f);
  }
}

using Narrow = void (*)(const float*, size_t, uint16_t*);
void check_narrow(Narrow kernel, Narrow expected) {
  for (const size_t n : kSizes) {
    auto x = wide_range(n, 6);
    const float special[] = {65504.0f, 65519.0f, 65520.0f, 1e-8f, 6e-8f, 1.0009765625f, 1.00048828125f, 3.3895e38f, kInfinity, -kInfinity};
    for (size_t i = 0; i < std::size(special) && i < n; ++i) x[n - 1 - i] = special[i];
    std::vector<uint16_t> found(n + 1, 0xabcd), plain(n + 1, 0xabcd);
    kernel(x.data(), n, found.data());
    expected(x.data(), n, plain.data());
    EXPECT_EQ(found, plain);
  }
}

using Widen = void (*)(const uint16_t*, size_t, float*);
void check_widen(Widen kernel, Widen expected) {
  std::vector<uint16_t> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  for (const size_t n : {size_t{3}, size_t{65536}}) {
    std::vector<float> found(n), plain(n);
    kernel(all.data(), n, found.data());
    expected(all.data(), n, plain.data());
    for (size_t i = 0; i < n; ++i) ASSERT_TRUE(found[i] == plain[i] || (std::isnan(found[i]) && std::isnan(plain[i]))) << i;
  }
}

using Rope = void (*)(float*, const float*, const float*, size_t);
void check_rope(Rope kernel, Rope expected) {
  for (const size_t half : {size_t{1}, size_t{3}, size_t{8}, size_t{13}, size_t{32}, size_t{64}}) {
    const auto cos = random_floats(half, 7), sin = random_floats(half, 8);
    auto found = random_floats(2 * half + 4, 9), plain = found;
    kernel(found.data(), cos.data(), sin.data(), half);
    expected(plain.data(), cos.data(), sin.data(), half);
    EXPECT_EQ(found, plain);
  }
}

}  // namespace

void check_quantize_row(const KernelTable& table, const KernelTable& reference) {
  for (const size_t n : kSizes) {
    auto x = wide_range(n, 1);
    for (const float special : {0.0f, kInfinity, std::numeric_limits<float>::quiet_NaN(), 3e38f, 1e-40f}) {
      x[n / 2] = special;
      const size_t groups = group_count(n);
      std::vector<int8_t> found(groups * kGroupColumns, 99), plain = found;
      std::vector<GroupScale> found_groups(groups), plain_groups(groups);
      table.quantize_row(x.data(), n, found.data(), found_groups.data());
      reference.quantize_row(x.data(), n, plain.data(), plain_groups.data());
      EXPECT_EQ(found, plain);
      EXPECT_EQ(std::memcmp(found_groups.data(), plain_groups.data(), groups * sizeof(GroupScale)), 0);
      EXPECT_EQ(std::isnan(found_groups[n / 2 / 32].scale), !std::isfinite(special));
    }
  }
}

void check_rms_norm(const KernelTable& table, const KernelTable& reference) {
  for (const size_t n : kSizes) {
    const auto x = random_floats(n, 1, 3), weight = random_floats(n, 2);
    for (const float* w : {static_cast<const float*>(nullptr), weight.data()}) {
      std::vector<float> found(n), plain(n);
      table.rms_norm(x.data(), w, 1e-5f, 1.0f, n, found.data());
      reference.rms_norm(x.data(), w, 1e-5f, 1.0f, n, plain.data());
      expect_close(found, plain, 4e-6f, 1e-7f);
    }
  }
}

void check_layer_norm(const KernelTable& table, const KernelTable& reference) {
  for (const size_t n : kSizes) {
    const auto x = random_floats(n, 1, 3), weight = random_floats(n, 2), bias = random_floats(n, 3);
    std::vector<float> found(n), plain(n);
    table.layer_norm(x.data(), weight.data(), bias.data(), 1e-5f, n, found.data());
    reference.layer_norm(x.data(), weight.data(), bias.data(), 1e-5f, n, plain.data());
    expect_close(found, plain, 1e-5f, 1e-5f);
    table.layer_norm(x.data(), nullptr, nullptr, 1e-5f, n, found.data());
    reference.layer_norm(x.data(), nullptr, nullptr, 1e-5f, n, plain.data());
    expect_close(found, plain, 1e-5f, 1e-5f);
  }
}

#define PTERON_CHECK(how, name) \
  void check_##name(const KernelTable& table, const KernelTable& reference) { check_##how(table.name, reference.name); }
PTERON_CHECK(rope, rope_split)
PTERON_CHECK(rope, rope_interleaved)
PTERON_CHECK(unary, silu)
PTERON_CHECK(unary, gelu_tanh)
PTERON_CHECK(unary, gelu_erf)
PTERON_CHECK(unary, relu)
PTERON_CHECK(gated, silu_mul)
PTERON_CHECK(gated, gelu_tanh_mul)
PTERON_CHECK(gated, gelu_erf_mul)
PTERON_CHECK(gated, relu_mul)
PTERON_CHECK(gated, multiply)
PTERON_CHECK(narrow, to_float16)
PTERON_CHECK(narrow, to_bfloat16)
PTERON_CHECK(widen, from_float16)
PTERON_CHECK(widen, from_bfloat16)
#undef PTERON_CHECK

void check_softcap(const KernelTable& table, const KernelTable& reference) {
  for (const size_t n : kSizes) {
    const auto x = wide_range(n, 2);
    std::vector<float> found(n), plain(n);
    table.softcap(x.data(), 30.0f, n, found.data());
    reference.softcap(x.data(), 30.0f, n, plain.data());
    expect_close(found, plain, 1e-6f, 1e-5f);
  }
}

void check_add_scaled(const KernelTable& table, const KernelTable& reference) {
  for (const size_t n : kSizes) {
    const auto a = random_floats(n, 1), b = random_floats(n, 2);
    std::vector<float> found(n), plain(n);
    table.add_scaled(a.data(), b.data(), 0.3f, n, found.data());
    reference.add_scaled(a.data(), b.data(), 0.3f, n, plain.data());
    EXPECT_EQ(found, plain);
  }
}

void check_scale(const KernelTable& table, const KernelTable& reference) {
  for (const size_t n : kSizes) {
    const auto x = random_floats(n, 1);
    std::vector<float> found(n), plain(n);
    table.scale(x.data(), 0.3f, n, found.data());
    reference.scale(x.data(), 0.3f, n, plain.data());
    EXPECT_EQ(found, plain);
  }
}

void check_read_bytes(const KernelTable& table, const KernelTable& reference) {
  std::vector<std::byte> data(4096 + 128 * 33);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i * 37);
  uint64_t found = 0, plain = 0;
  table.read_bytes(data.data(), 128 * 33, &found);
  reference.read_bytes(data.data(), 128 * 33, &plain);
  EXPECT_EQ(found, plain);
}

void check_dot_bytes(const KernelTable& table, const KernelTable&) {
  uint64_t few = 0, many = 0;
  table.dot_bytes(10, &few);
  table.dot_bytes(30, &many);
  EXPECT_GT(few, 0u);
  EXPECT_EQ(many, 3 * few);
}

}  // namespace pteron::kernels::cpu
