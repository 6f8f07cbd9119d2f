// Softmax and the layer, group and batch normalisations.
#include <cmath>
#include <limits>

#include "kernels/portable/families.h"
#include "kernels/portable/isa.h"
#include "kernels/portable/reduce.h"
#include "kernels/portable/strided.h"

namespace pteron::portable {
namespace {

using runtime::make_kernel;

constexpr int64_t kRun = 512;

// Calls f(i, run, n) for runs of a strided row, converted to T.
template <class T, class F>
void for_row_runs(const Tensor& t, int64_t offset, int64_t step, int64_t size, F&& f) {
  alignas(64) T buffer[kRun];
  for (int64_t i = 0; i < size; i += kRun) {
    const int64_t n = std::min(kRun, size - i);
    load_run<T>(t.dtype(), t.data(), offset + i * step, step, n, buffer);
    f(i, buffer, n);
  }
}

template <class T, bool kLog>
void softmax_row(const Tensor& self, int64_t from, int64_t step, int64_t size, Tensor& out, int64_t to, int64_t out_step) {
  T max = -std::numeric_limits<T>::infinity();
  double sum = 0;
  for_row_runs<T>(self, from, step, size, [&](int64_t, const T* run, int64_t n) {
    for (int64_t i = 0; i < n; ++i) max = max != max || run[i] <= max ? max : run[i];  // a NaN stays
  });
  for_row_runs<T>(self, from, step, size, [&](int64_t, const T* run, int64_t n) {
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(std::exp(run[i] - max));
  });
  const T scale = static_cast<T>(kLog ? std::log(sum) : 1 / sum);
  for_row_runs<T>(self, from, step, size, [&](int64_t at, T* run, int64_t n) {
    for (int64_t i = 0; i < n; ++i) run[i] = kLog ? run[i] - max - scale : std::exp(run[i] - max) * scale;
    store_run<T>(out.dtype(), run, n, out.data(), to + at * out_step, out_step);
  });
}

void softmax_float_row(const float* in, float* out, size_t n) {
  const Isa& loops = isa();
  const float sum = loops.exp_sum(in, loops.max(in, n), out, n);
  loops.scale(out, 1.0f / sum, out, n);
}

template <bool kLog>
Status softmax(KernelContext& context, const Tensor& self, int64_t dim, bool half_to_float, Tensor& out) {
  PTERON_ASSIGN(const size_t d, wrap_dim(dim, self.rank()));
  if (!is_float(self.dtype()) || !is_float(out.dtype())) return bad_dtype("self", self.dtype());
  PTERON_TRY(expect(out.dtype() == self.dtype() || (half_to_float && out.dtype() == ScalarType::Float), "out has another dtype than self"));
  PTERON_TRY(resize_like(out, self));
  const bool scalar = self.rank() == 0;
  const int64_t size = scalar ? 1 : self.size(d), step = scalar ? 1 : self.stride(d), out_step = scalar ? 1 : out.stride(d);
  if (self.numel() == 0) return {};
  const Reduction plan(self, scalar ? 0 : DimMask{1} << d, true, out);
  const bool fast = !kLog && self.dtype() == ScalarType::Float && out.dtype() == ScalarType::Float && step == 1 && out_step == 1;
  for_each_result(context, plan, [&](int64_t to, int64_t from) {
    if (fast) softmax_float_row(self.data<float>() + from, out.data<float>() + to, static_cast<size_t>(size));
    else if (self.dtype() == ScalarType::Double) softmax_row<double, kLog>(self, from, step, size, out, to, out_step);
    else softmax_row<float, kLog>(self, from, step, size, out, to, out_step);
  });
  return {};
}

// What a normalisation subtracts and multiplies by.
struct Moments {
  double mean = 0, variance = 0;
  double rstd(double eps) const { return 1 / std::sqrt(variance + eps); }
};

Moments row_moments(const Tensor& t, int64_t offset, int64_t size) {
  Sum sum;
  for_row_runs<float>(t, offset, 1, size, [&](int64_t, const float* run, int64_t n) { sum.feed(run, n); });
  const double mean = sum.total() / static_cast<double>(size);
  Sum squares;
  for_row_runs<float>(t, offset, 1, size, [&](int64_t, const float* run, int64_t n) {
    double deviations[kRun];
    for (int64_t i = 0; i < n; ++i) deviations[i] = (run[i] - mean) * (run[i] - mean);
    squares.feed(deviations, n);
  });
  return {mean, squares.total() / static_cast<double>(size)};
}

Status check_float(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* t : tensors) {
    if (t != nullptr && !is_float(t->dtype())) return bad_dtype("input", t->dtype());
  }
  return {};
}

Status layer_norm(KernelContext& context, const Tensor& input, IntList normalized_shape, const Tensor* weight, const Tensor* bias,
                  double eps, Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  PTERON_TRY(check_float({&input, weight, bias, &out, &mean_out, &rstd_out}));
  PTERON_ASSIGN(const Sizes shape, sizes_from(normalized_shape));
  const size_t lead = input.rank() - shape.rank();
  if (shape.rank() == 0 || shape.rank() > input.rank())
    return bad("normalized shape has another rank", "normalized_shape", "", sizes_text(shape.span()));
  Sizes stats;
  int64_t size = 1;
  for (size_t d = 0; d < input.rank(); ++d) {
    stats.push(d < lead ? input.size(d) : 1);
    if (d < lead) continue;
    if (input.size(d) != shape[d - lead])
      return bad("normalized shape differs from the input", "normalized_shape", sizes_text(input.sizes()), sizes_text(shape.span()));
    size *= shape[d - lead];
  }
  for (const Tensor* t : {weight, bias}) {
    if (t != nullptr) PTERON_TRY(expect_sizes(*t, shape.span(), "weight"));
  }
  PTERON_TRY(resize_like(out, input));
  PTERON_TRY(mean_out.resize(stats.span()));
  PTERON_TRY(rstd_out.resize(stats.span()));
  PTERON_TRY(expect_contiguous({&input, weight, bias, &out, &mean_out, &rstd_out}));
  const size_t rows = mean_out.numel();
  context.threads().parallel_for(rows, input.numel() < 16384 ? std::max<size_t>(rows, 1) : 1, [&](size_t begin, size_t end) {
    for (auto r = static_cast<int64_t>(begin); r < static_cast<int64_t>(end); ++r) {
      const Moments moments = row_moments(input, r * size, size);
      const double rstd = moments.rstd(eps);
      store_one(mean_out.dtype(), moments.mean, mean_out.data(), r);
      store_one(rstd_out.dtype(), rstd, rstd_out.data(), r);
      for_row_runs<float>(input, r * size, 1, size, [&](int64_t at, float* run, int64_t n) {
        alignas(64) float gains[kRun], shifts[kRun];
        if (weight != nullptr) load_run<float>(weight->dtype(), weight->data(), at, 1, n, gains);
        if (bias != nullptr) load_run<float>(bias->dtype(), bias->data(), at, 1, n, shifts);
        for (int64_t i = 0; i < n; ++i) {
          const auto normal = static_cast<float>((run[i] - moments.mean) * rstd);
          run[i] = normal * (weight != nullptr ? gains[i] : 1.0f) + (bias != nullptr ? shifts[i] : 0.0f);
        }
        store_run<float>(out.dtype(), run, n, out.data(), r * size + at);
      });
    }
  });
  return {};
}

Status group_norm(KernelContext& context, const Tensor& input, const Tensor* weight, const Tensor* bias, int64_t n, int64_t c, int64_t hxw,
                  int64_t group, double eps, Tensor& out, Tensor& mean_out, Tensor& rstd_out) {
  PTERON_TRY(check_float({&input, weight, bias, &out, &mean_out, &rstd_out}));
  if (input.rank() < 2 || input.size(0) != n || input.size(1) != c || group <= 0 || c % group != 0 || n < 0 || hxw < 0 ||
      static_cast<uint64_t>(n) * static_cast<uint64_t>(c) * static_cast<uint64_t>(hxw) != input.numel()) {
    return bad("group norm arguments contradict the input", "group", sizes_text(input.sizes()), std::to_string(group));
  }
  const int32_t channels[] = {static_cast<int32_t>(c)}, stats[] = {static_cast<int32_t>(n), static_cast<int32_t>(group)};
  for (const Tensor* t : {weight, bias}) {
    if (t != nullptr) PTERON_TRY(expect_sizes(*t, channels, "weight"));
  }
  PTERON_TRY(resize_like(out, input));
  PTERON_TRY(mean_out.resize(stats));
  PTERON_TRY(rstd_out.resize(stats));
  PTERON_TRY(expect_contiguous({&input, weight, bias, &out, &mean_out, &rstd_out}));
  const int64_t per_group = c / group, size = per_group * hxw;
  context.threads().parallel_for(static_cast<size_t>(n * group), 1, [&](size_t begin, size_t end) {
    for (auto g = static_cast<int64_t>(begin); g < static_cast<int64_t>(end); ++g) {
      const Moments moments = row_moments(input, g * size, size);
      const double rstd = moments.rstd(eps);
      store_one(mean_out.dtype(), moments.mean, mean_out.data(), g);
      store_one(rstd_out.dtype(), rstd, rstd_out.data(), g);
      for (int64_t ch = 0; ch < per_group; ++ch) {
        const int64_t channel = g % group * per_group + ch;
        const double gain = weight != nullptr ? load_one<double>(weight->dtype(), weight->data(), channel) : 1.0;
        const double shift = bias != nullptr ? load_one<double>(bias->dtype(), bias->data(), channel) : 0.0;
        const int64_t base = g * size + ch * hxw;
        for_row_runs<float>(input, base, 1, hxw, [&](int64_t at, float* run, int64_t count) {
          for (int64_t i = 0; i < count; ++i) run[i] = static_cast<float>((run[i] - moments.mean) * rstd * gain + shift);
          store_run<float>(out.dtype(), run, count, out.data(), base + at);
        });
      }
    }
  });
  return {};
}

// One batch normalisation; what is null is not there.
struct BatchNorm {
  const Tensor* weight = nullptr;
  const Tensor* bias = nullptr;
  const Tensor* mean = nullptr;      // statistics that are used where the batch's own are not
  const Tensor* var = nullptr;
  Tensor* running_mean = nullptr;    // statistics that the batch updates
  Tensor* running_var = nullptr;
  double momentum = 0, eps = 0;
};

double element(const Tensor* t, int64_t i, double otherwise) { return t != nullptr ? load_one<double>(t->dtype(), t->data(), i) : otherwise; }

void update_running(const BatchNorm& norm, int64_t c, const Moments& moments, double count) {
  if (norm.running_mean == nullptr) return;
  const double unbiased = moments.variance * count / std::max(count - 1, 1.0);
  store_one(norm.running_mean->dtype(), (1 - norm.momentum) * element(norm.running_mean, c, 0) + norm.momentum * moments.mean,
            norm.running_mean->data(), c);
  store_one(norm.running_var->dtype(), (1 - norm.momentum) * element(norm.running_var, c, 0) + norm.momentum * unbiased,
            norm.running_var->data(), c);
}

// `save_mean` and `save_rstd` receive the batch's statistics, or become empty where stored ones are used.
Status batch_norm(const Tensor& input, const BatchNorm& norm, Tensor& out, Tensor& save_mean, Tensor& save_rstd) {
  PTERON_TRY(check_float(
      {&input, norm.weight, norm.bias, norm.mean, norm.var, norm.running_mean, norm.running_var, &out, &save_mean, &save_rstd}));
  if (input.rank() < 2) return bad("batch norm needs a channel dimension", "input", "", sizes_text(input.sizes()));
  const int32_t channels[] = {input.size(1)}, none[] = {0};
  for (const Tensor* t : {norm.weight, norm.bias, norm.mean, norm.var, static_cast<const Tensor*>(norm.running_mean),
                          static_cast<const Tensor*>(norm.running_var)}) {
    if (t != nullptr) PTERON_TRY(expect_sizes(*t, channels, "statistics"));
  }
  const bool stored = norm.mean != nullptr;
  PTERON_TRY(resize_like(out, input));
  PTERON_TRY(save_mean.resize(stored ? std::span<const int32_t>(none) : channels));
  PTERON_TRY(save_rstd.resize(stored ? std::span<const int32_t>(none) : channels));
  const Reduction plan(input, ~DimMask{2} & ((DimMask{1} << input.rank()) - 1), true, input);
  Loops<2> elements;
  for (size_t d = 0; d < input.rank(); ++d) {
    if (d != 1) elements.add(input.size(d), {out.stride(d), input.stride(d)});
  }
  for (int64_t c = 0; c < input.size(1); ++c) {
    const int64_t from = c * input.stride(1), to = c * out.stride(1);
    Moments moments{element(norm.mean, c, 0), element(norm.var, c, 0)};
    if (!stored) {
      const auto count = static_cast<double>(plan.elements.count);
      Sum sum, squares;
      for_each_element_run<double>(input, plan, from, [&](const double* run, int64_t n) { sum.feed(run, n); });
      moments.mean = sum.total() / count;
      for_each_element_run<double>(input, plan, from, [&](const double* run, int64_t n) {
        for (int64_t i = 0; i < n; ++i) squares.lanes[i % Sum::kLanes] += (run[i] - moments.mean) * (run[i] - moments.mean);
      });
      moments.variance = squares.total() / count;
      update_running(norm, c, moments, count);
      store_one(save_mean.dtype(), moments.mean, save_mean.data(), c);
      store_one(save_rstd.dtype(), moments.rstd(norm.eps), save_rstd.data(), c);
    }
    const double factor = moments.rstd(norm.eps) * element(norm.weight, c, 1), shift = element(norm.bias, c, 0);
    elements.for_each_run(0, elements.count, [&](const auto& offsets, int64_t length) {
      const int64_t step = elements.inner_stride(1), out_step = elements.inner_stride(0);
      for_row_runs<double>(input, from + offsets[1], step, length, [&](int64_t at, double* run, int64_t n) {
        for (int64_t i = 0; i < n; ++i) run[i] = (run[i] - moments.mean) * factor + shift;
        store_run<double>(out.dtype(), run, n, out.data(), to + offsets[0] + at * out_step, out_step);
      });
    });
  }
  return {};
}

Status batch_norm_legit(KernelContext&, const Tensor& input, const Tensor* weight, const Tensor* bias, Tensor& running_mean,
                        Tensor& running_var, bool training, double momentum, double eps, Tensor& out, Tensor& save_mean,
                        Tensor& save_rstd) {
  if (training)
    return batch_norm(input, {weight, bias, nullptr, nullptr, &running_mean, &running_var, momentum, eps}, out, save_mean, save_rstd);
  return batch_norm(input, {weight, bias, &running_mean, &running_var, nullptr, nullptr, momentum, eps}, out, save_mean, save_rstd);
}

Status batch_norm_no_stats(KernelContext&, const Tensor& input, const Tensor* weight, const Tensor* bias, bool training, double momentum,
                           double eps, Tensor& out, Tensor& save_mean, Tensor& save_rstd) {
  PTERON_TRY(expect(training, "batch norm without stored statistics needs training"));
  return batch_norm(input, {weight, bias, nullptr, nullptr, nullptr, nullptr, momentum, eps}, out, save_mean, save_rstd);
}

Status batch_norm_no_training(KernelContext&, const Tensor& input, const Tensor* weight, const Tensor* bias, const Tensor& mean,
                              const Tensor& var, double momentum, double eps, Tensor& out0, Tensor& out1, Tensor& out2) {
  return batch_norm(input, {weight, bias, &mean, &var, nullptr, nullptr, momentum, eps}, out0, out1, out2);
}

constexpr Kernel kKernels[] = {
    make_kernel<&softmax<false>>("aten::_softmax.out"),
    make_kernel<&softmax<true>>("aten::_log_softmax.out"),
    make_kernel<&layer_norm>("aten::native_layer_norm.out"),
    make_kernel<&group_norm>("aten::native_group_norm.out"),
    make_kernel<&batch_norm_legit>("aten::_native_batch_norm_legit.out"),
    make_kernel<&batch_norm_no_stats>("aten::_native_batch_norm_legit.no_stats_out"),
    make_kernel<&batch_norm_no_training>("aten::_native_batch_norm_legit_no_training.out"),
};

}  // namespace

std::span<const Kernel> normalize_kernels() { return kKernels; }

}  // namespace pteron::portable
