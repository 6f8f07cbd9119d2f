#include "kernels/portable/pointwise.h"

#include <algorithm>

#include "kernels/portable/convert.h"

namespace pteron::portable {
namespace {

constexpr size_t kMaxInputs = 4;
constexpr int64_t kRun = 512;           // elements converted at a time: inputs and output of a run fit the first-level cache
constexpr int64_t kParallelFrom = 16384;  // fewer elements are not worth a second thread

using PointwiseNest = Loops<kMaxInputs + 1>;  // operand 0 is the output

template <class T>
struct Run {
  const Operand* operands;
  size_t count;
  PointwiseTypes types;
  PointwiseLoop<T> loop;
  Tensor* out;
};

// Elements [begin, end) of the nest.
template <class T>
void run_part(const Run<T>& run, const PointwiseNest& nest, int64_t begin, int64_t end) {
  alignas(64) T buffers[kMaxInputs][kRun];
  alignas(64) T results[kRun];
  const T* inputs[kMaxInputs] = {};
  int64_t filled_from[kMaxInputs] = {-1, -1, -1, -1};  // offset of the element that a broadcast buffer is full of
  const ScalarType out_dtype = run.out->dtype();
  const bool direct_out = out_dtype == kStorageOf<T> && (run.types.predicate || run.types.common == out_dtype);
  const bool round_result = !run.types.predicate && run.types.common != out_dtype && run.types.common != kStorageOf<T>;
  nest.for_each_run(begin, end, [&](const auto& offsets, int64_t length) {
    for (int64_t at = 0; at < length; at += kRun) {
      const int64_t n = std::min(kRun, length - at);
      for (size_t k = 0; k < run.count; ++k) {
        const Operand& operand = run.operands[k];
        const int64_t stride = nest.inner_stride(k + 1), offset = offsets[k + 1] + at * stride;
        if (operand.dtype == kStorageOf<T> && stride == 1) {
          inputs[k] = static_cast<const T*>(operand.data) + offset;
          continue;
        }
        inputs[k] = buffers[k];
        if (stride == 0 && filled_from[k] == offset) continue;
        load_run<T>(operand.dtype, operand.data, offset, stride, stride == 0 ? kRun : n, buffers[k]);
        if (operand.dtype != run.types.common && run.types.common != kStorageOf<T> && operand.tensor != nullptr) {
          round_run<T>(run.types.common, buffers[k], stride == 0 ? kRun : n);
        }
        filled_from[k] = stride == 0 ? offset : -1;
      }
      T* const out = direct_out ? run.out->template data<T>() + offsets[0] + at : results;
      run.loop(inputs, out, n);
      if (direct_out) continue;
      if (round_result) round_run<T>(run.types.common, results, n);
      store_run<T>(out_dtype, results, n, run.out->data(), offsets[0] + at);
    }
  });
}

template <class T>
Status run_all(KernelContext& context, const Run<T>& run, const PointwiseNest& nest) {
  const int64_t grain = nest.count < kParallelFrom ? std::max<int64_t>(nest.count, 1) : 4096;
  context.threads().parallel_for(static_cast<size_t>(nest.count), static_cast<size_t>(grain), [&](size_t begin, size_t end) {
    run_part<T>(run, nest, static_cast<int64_t>(begin), static_cast<int64_t>(end));
  });
  return {};
}

// Loops in the order of the output's memory.
PointwiseNest make_nest(std::span<const Operand> in, const Tensor& out) {
  std::array<Strides, kMaxInputs + 1> strides{};
  for (size_t d = 0; d < out.rank(); ++d) strides[0][d] = out.stride(d);
  for (size_t k = 0; k < in.size(); ++k) {
    if (in[k].tensor != nullptr) strides[k + 1] = broadcast_strides(*in[k].tensor, out.rank());
  }
  PointwiseNest nest;
  for (uint8_t dim : out.dim_order()) {
    std::array<int64_t, kMaxInputs + 1> step;
    for (size_t k = 0; k <= kMaxInputs; ++k) step[k] = strides[k][dim];
    nest.add(out.size(dim), step);
  }
  return nest;
}

}  // namespace

Status pointwise(KernelContext& context, std::initializer_list<Operand> in, PointwiseTypes types, const PointwiseLoops& loops, Tensor& out) {
  Sizes sizes;
  size_t rank = 0;
  for (const Operand& operand : in) rank = std::max(rank, operand.tensor != nullptr ? operand.tensor->rank() : 0);
  for (size_t i = 0; i < rank; ++i) sizes.push(1);
  for (const Operand& operand : in) {
    if (!is_real(operand.dtype)) return bad_dtype("input", operand.dtype);
    if (operand.tensor == nullptr) continue;
    const Tensor& tensor = *operand.tensor;
    for (size_t i = 0; i < tensor.rank(); ++i) {
      int32_t& size = sizes[rank - tensor.rank() + i];
      if (tensor.size(i) != size && tensor.size(i) != 1 && size != 1)
        return bad("sizes do not broadcast", "", sizes_text(sizes.span()), sizes_text(tensor.sizes()));
      if (tensor.size(i) != 1) size = tensor.size(i);
    }
  }
  if (!is_real(out.dtype())) return bad_dtype("out", out.dtype());
  PTERON_TRY(out.resize(sizes.span()));
  const PointwiseNest nest = make_nest({in.begin(), in.size()}, out);
  const size_t count = in.size();
  if (types.common == ScalarType::Double && loops.f64 != nullptr)
    return run_all<double>(context, {in.begin(), count, types, loops.f64, &out}, nest);
  if (is_float(types.common) && loops.f32 != nullptr) return run_all<float>(context, {in.begin(), count, types, loops.f32, &out}, nest);
  if (is_int_or_bool(types.common) && loops.i64 != nullptr)
    return run_all<int64_t>(context, {in.begin(), count, types, loops.i64, &out}, nest);
  return bad_dtype("input", types.common);
}

}  // namespace pteron::portable
