// Further operators of language models: the gated delta rule and Hadamard transforms.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/checked.h"
#include "kernels/portable/convert.h"
#include "kernels/portable/families.h"
#include "kernels/portable/shape.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;
using runtime::make_lenient_kernel;
using runtime::Value;

// One step of one head: the state [K, V] decays, and learns the difference between the value and what it recalls for the key.
struct DeltaStep {
  const float *key, *value, *decay;
  float beta;
  int64_t key_size, value_size;
  bool decay_each;  // a decay for each key channel, or one for all
};

void advance(const DeltaStep& step, float* state, float* recalled) {
  std::fill(recalled, recalled + step.value_size, 0.0f);
  for (int64_t i = 0; i < step.key_size; ++i) {
    const float decay = step.decay[step.decay_each ? i : 0];
    for (int64_t j = 0; j < step.value_size; ++j) {
      float& s = state[i * step.value_size + j];
      s *= decay;
      recalled[j] += s * step.key[i];
    }
  }
  for (int64_t j = 0; j < step.value_size; ++j) recalled[j] = (step.value[j] - recalled[j]) * step.beta;
  for (int64_t i = 0; i < step.key_size; ++i) {
    for (int64_t j = 0; j < step.value_size; ++j) state[i * step.value_size + j] += step.key[i] * recalled[j];
  }
}

Status check_delta_rule(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& decay, const Tensor& beta,
                        const Tensor& initial, const Tensor& out, const Tensor& final) {
  for (const Tensor* t : {&query, &key, &value, &decay, &beta, &initial, &out, &final}) {
    PTERON_TRY(expect_dtype(*t, ScalarType::Float, "query"));
    PTERON_TRY(expect_contiguous({t}));
  }
  for (const Tensor* t : {&query, &key, &value, &initial}) PTERON_TRY(expect_rank(*t, 4, "query"));
  const int32_t b = key.size(0), h = key.size(1), steps = key.size(2), k = key.size(3), v = value.size(3);
  const int32_t values[] = {b, h, steps, v}, betas[] = {b, h, steps}, states[] = {b, h, k, v}, decays[] = {b, h, steps, k};
  PTERON_TRY(expect_sizes(value, values, "value"));
  PTERON_TRY(expect_sizes(beta, betas, "beta"));
  PTERON_TRY(expect_sizes(initial, states, "initial_state"));
  PTERON_TRY(decay.rank() == 4 ? expect_sizes(decay, decays, "decay") : expect_sizes(decay, betas, "decay"));
  if (query.size(0) != b || query.size(2) != steps || query.size(3) != k || h == 0 || query.size(1) % h != 0)
    return bad("query does not fit the key", "query", sizes_text(key.sizes()), sizes_text(query.sizes()));
  return {};
}

// Query heads share the state of a key head: the state is brought forward step by step, and each query of the group is answered.
Status gated_delta_rule(KernelContext& context, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& decay,
                        const Tensor& beta, const Tensor& initial_state, Tensor& out, Tensor& final_state) {
  PTERON_TRY(check_delta_rule(query, key, value, decay, beta, initial_state, out, final_state));
  const int64_t batch = key.size(0), heads = key.size(1), steps = key.size(2), k = key.size(3), v = value.size(3), q_heads = query.size(1),
                group = q_heads / heads;
  const int32_t sizes[] = {query.size(0), query.size(1), query.size(2), value.size(3)};
  PTERON_TRY(out.resize(sizes));
  PTERON_TRY(resize_like(final_state, initial_state));
  const auto* first = initial_state.data<std::byte>();
  const auto* last = final_state.data<std::byte>();
  if (initial_state.nbytes() > 0 && first < last + final_state.nbytes() && last < first + initial_state.nbytes())
    return bad("final and initial state overlap", "final_state_out");
  PTERON_ASSIGN(void* space, context.scratch(static_cast<size_t>(v) * sizeof(float)));
  if (initial_state.nbytes() > 0) std::memcpy(final_state.data(), initial_state.data(), initial_state.nbytes());
  const int64_t decay_width = decay.rank() == 4 ? k : 1;
  for (int64_t bh = 0; bh < batch * heads; ++bh) {
    float* state = final_state.data<float>() + bh * k * v;
    for (int64_t t = 0; t < steps; ++t) {
      const int64_t row = bh * steps + t;
      const DeltaStep step{key.data<float>() + row * k,
                           value.data<float>() + row * v,
                           decay.data<float>() + row * decay_width,
                           beta.data<float>()[row],
                           k,
                           v,
                           decay.rank() == 4};
      advance(step, state, static_cast<float*>(space));
      for (int64_t g = 0; g < group; ++g) {
        const int64_t q_row = ((bh / heads * q_heads) + bh % heads * group + g) * steps + t;
        const float* q = query.data<float>() + q_row * k;
        float* answer = out.data<float>() + q_row * v;
        std::fill(answer, answer + v, 0.0f);
        for (int64_t i = 0; i < k; ++i) {
          for (int64_t j = 0; j < v; ++j) answer[j] += state[i * v + j] * q[i];
        }
      }
    }
  }
  return {};
}

Result<size_t> delta_rule_scratch(std::span<Value* const> args, size_t) {
  if (!args[2]->is(Value::Kind::tensor) || args[2]->tensor().rank() != 4) return size_t{0};
  return static_cast<size_t>(args[2]->tensor().size(3)) * sizeof(float);
}

// A Hadamard matrix of order 28 in blocks: each of the 4 x 4 blocks is a 7 x 7 circulant, given here by its first row.
constexpr std::string_view kBlocks[4][4] = {
    {"+------", "++----+", "+-+--+-", "+--++--"},
    {"--++++-", "+------", "-++--++", "+-+--+-"},
    {"-+-++-+", "+--++--", "+------", "--++++-"},
    {"-++--++", "-+-++-+", "++----+", "+------"},
};
double hadamard28(int64_t i, int64_t j) {
  return kBlocks[i / 7][j / 7][static_cast<size_t>((j % 7 - i % 7 + 7) % 7)] == '+' ? 1.0 : -1.0;
}

// The transform of n = 2^k numbers, scaled by 1/sqrt(n).
template <class T>
void transform(T* x, int64_t n) {
  for (int64_t half = 1; half < n; half *= 2) {
    for (int64_t i = 0; i < n; i += 2 * half) {
      for (int64_t j = i; j < i + half; ++j) {
        const T a = x[j], b = x[j + half];
        x[j] = a + b;
        x[j + half] = a - b;
      }
    }
  }
  const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(n)));
  for (int64_t i = 0; i < n; ++i) x[i] *= scale;
}

template <class T>
void transform_rows(const Tensor& mat, int64_t blocks, int64_t n, T* row, Tensor& out) {
  const int64_t width = blocks * n, rows = width > 0 ? static_cast<int64_t>(mat.numel()) / width : 0;
  for (int64_t r = 0; r < rows; ++r) {
    load_run<T>(mat.dtype(), mat.data(), r * width, 1, width, row);
    for (int64_t b = 0; b < blocks; ++b) transform(row + b * n, n);
    for (int64_t j = 0; blocks > 1 && j < n; ++j) {
      T mixed[28];
      for (int64_t i = 0; i < 28; ++i) {
        mixed[i] = 0;
        for (int64_t b = 0; b < 28; ++b) mixed[i] += static_cast<T>(hadamard28(i, b)) * row[b * n + j];
      }
      for (int64_t i = 0; i < 28; ++i) row[i * n + j] = mixed[i];
    }
    store_run<T>(out.dtype(), row, width, out.data(), r * width);
  }
}

// Sizes 2^k, and 28 * 2^k whose factor of 28 is not scaled.
Status fast_hadamard_transform(KernelContext& context, const Tensor& mat, Tensor& out) {
  if (!is_float(mat.dtype()) || mat.dtype() == ScalarType::BFloat16) return bad_dtype("mat", mat.dtype());
  PTERON_TRY(expect_dtype(out, mat.dtype(), "out"));
  PTERON_TRY(resize_like(out, mat));
  if (mat.rank() == 0 || mat.numel() == 0) return expect(mat.rank() > 0, "Hadamard transform of a scalar");
  PTERON_TRY(expect_contiguous({&mat, &out}));
  const int64_t width = mat.size(mat.rank() - 1);
  const auto is_power = [](int64_t n) { return n > 0 && (n & (n - 1)) == 0; };
  const int64_t blocks = is_power(width) ? 1 : 28;
  if (!is_power(width / blocks) || width % blocks != 0)
    return bad("size of a Hadamard transform", "mat", "2^n or 28 * 2^n", std::to_string(width));
  PTERON_ASSIGN(void* space, context.scratch(static_cast<size_t>(width) * sizeof(double)));
  if (mat.dtype() == ScalarType::Double) transform_rows<double>(mat, blocks, width / blocks, static_cast<double*>(space), out);
  else transform_rows<float>(mat, blocks, width / blocks, static_cast<float*>(space), out);
  return {};
}

Result<size_t> hadamard_scratch(std::span<Value* const> args, size_t) {
  if (!args[0]->is(Value::Kind::tensor) || args[0]->tensor().rank() == 0) return size_t{0};
  const Tensor& mat = args[0]->tensor();  // a dynamic tensor's last size may grow up to its capacity
  return (mat.dynamic() ? mat.capacity() : static_cast<size_t>(mat.size(mat.rank() - 1))) * sizeof(double);
}

constexpr Kernel kKernels[] = {
    make_kernel<&gated_delta_rule>("llama::gated_delta_rule.out", &delta_rule_scratch),
    make_kernel<&gated_delta_rule>("llama::channelwise_gated_delta_rule.out", &delta_rule_scratch),
    make_lenient_kernel<&fast_hadamard_transform>("llama::fast_hadamard_transform.out", &hadamard_scratch),
};

}  // namespace

std::span<const Kernel> sequence_kernels() { return kKernels; }

}  // namespace pteron::portable
