// The loops in which time goes, once for each instruction set: chosen at run time by the processor, or by PTERON_CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/cpu.h"

namespace pteron::portable {

// c[i, j] = bias[j] + sum over k of a[i, k] * w[j, k]; rows of `a`, `w` and `c` are lda, ldw and ldc elements apart. `bias` may be null.
// Elements of w are float32, float16 or bfloat16 by the function.
struct DotArgs {
  const float* a = nullptr;
  int64_t lda = 0;
  const void* w = nullptr;
  int64_t ldw = 0;
  const float* bias = nullptr;
  float* c = nullptr;
  int64_t ldc = 0;
  int64_t m = 0, n = 0, k = 0;
};

// c[i, j] = sum over k of a[i, k] * b[k, j], added to what is there if `accumulate`.
struct GemmArgs {
  const float* a = nullptr;
  int64_t lda = 0;
  const float* b = nullptr;
  int64_t ldb = 0;
  float* c = nullptr;
  int64_t ldc = 0;
  int64_t m = 0, n = 0, k = 0;
  bool accumulate = false;
};

struct Isa {
  CpuTarget target = CpuTarget::scalar;
  void (*dot_f32)(const DotArgs&) = nullptr;
  void (*dot_f16)(const DotArgs&) = nullptr;
  void (*dot_bf16)(const DotArgs&) = nullptr;
  void (*gemm)(const GemmArgs&) = nullptr;
  void (*half_to_float)(const uint16_t* in, float* out, size_t n) = nullptr;
  void (*float_to_half)(const float* in, uint16_t* out, size_t n) = nullptr;
  // Elementwise over n numbers; in and out may be the same. Errors are at most 2 units in the last place.
  void (*exp)(const float* in, float* out, size_t n) = nullptr;
  void (*sigmoid)(const float* in, float* out, size_t n) = nullptr;
  void (*tanh)(const float* in, float* out, size_t n) = nullptr;
  // out = exp(in - shift); returns the sum of out.
  float (*exp_sum)(const float* in, float shift, float* out, size_t n) = nullptr;
  float (*max)(const float* in, size_t n) = nullptr;  // of n >= 1 numbers; NaN if there is one
  void (*scale)(const float* in, float factor, float* out, size_t n) = nullptr;
  float (*sum_of_squares)(const float* in, size_t n) = nullptr;
};

// The loops for this process.
const Isa& isa();
// The loops written for a target, or null.
const Isa* isa_for(CpuTarget target);

extern const Isa kScalarIsa;
#if defined(__x86_64__)
extern const Isa kAvx2Isa;
extern const Isa kAvx512Isa;
#elif defined(__aarch64__)
extern const Isa kNeonIsa;
#endif

}  // namespace pteron::portable
