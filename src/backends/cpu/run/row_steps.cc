// Steps that work on rows one by one.
#include <cstring>

#include "backends/cpu/run/machine.h"

namespace pteron::cpu_backend {
namespace {

constexpr size_t kRowsAtATime = 4;

// Calls f(row) for each row of a buffer.
template <class F>
void each_row(Worker& w, int32_t buffer, F&& f) {
  w.share(w.machine.rows_of(buffer), kRowsAtATime, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) f(row);
  });
}

}  // namespace

void normalize(const Machine& machine, const Norm& norm, const float* x, size_t width, float* y, size_t first) {
  const auto stretch = [&](int32_t tensor, size_t index) {
    const float* vector = machine.vector(tensor);
    return vector != nullptr && machine.tensor_ref(tensor).rows > 1 ? vector + index * norm.width : vector;
  };
  for (size_t i = 0; i < width / norm.width; ++i, x += norm.width, y += norm.width) {
    const float* weight = stretch(norm.weight, first + i);
    if (norm.kind == NormKind::rms) machine.kernels->rms_norm(x, weight, norm.eps, norm.offset, norm.width, y);
    else machine.kernels->layer_norm(x, weight, stretch(norm.bias, first + i), norm.eps, norm.width, y);
  }
}

void rotate_heads(const Machine& machine, int32_t rope, bool interleaved, size_t row, float* x, size_t head_width, size_t heads) {
  const auto index = static_cast<size_t>(rope);
  const size_t half = machine.tensor_ref(machine.plan.ropes[index].frequencies).cols;
  const auto* cos = reinterpret_cast<const float*>(machine.shared(machine.layout.ropes[index])) + row * half;
  const float* sin = cos + machine.plan.rows * half;
  for (size_t head = 0; head < heads; ++head, x += head_width) {
    if (interleaved) machine.kernels->rope_interleaved(x, cos, sin, half);
    else machine.kernels->rope_split(x, cos, sin, half);
  }
}

void write_cache_row(const Machine& machine, int32_t cache, size_t head, size_t slots, size_t dim, size_t slot, const float* x) {
  const auto index = static_cast<size_t>(cache);
  const size_t at = (head * slots + slot) * dim;
  void* const data = machine.arguments[index];
  switch (machine.plan.arguments[index].dtype) {
    case ScalarType::Half: machine.kernels->to_float16(x, dim, static_cast<uint16_t*>(data) + at); break;
    case ScalarType::BFloat16: machine.kernels->to_bfloat16(x, dim, static_cast<uint16_t*>(data) + at); break;
    default: std::memcpy(static_cast<float*>(data) + at, x, dim * sizeof(float));
  }
}

void activate(const kernels::cpu::KernelTable& k, Activation activation, const float* x, size_t n, float* y) {
  switch (activation) {
    case Activation::silu: k.silu(x, n, y); break;
    case Activation::gelu_tanh: k.gelu_tanh(x, n, y); break;
    case Activation::gelu_erf: k.gelu_erf(x, n, y); break;
    case Activation::relu: k.relu(x, n, y); break;
    case Activation::none: std::memmove(y, x, n * sizeof(float)); break;
  }
}

void activate_gated(const kernels::cpu::KernelTable& k, Activation activation, const float* gate, const float* up, size_t n, float* y) {
  switch (activation) {
    case Activation::silu: k.silu_mul(gate, up, n, y); break;
    case Activation::gelu_tanh: k.gelu_tanh_mul(gate, up, n, y); break;
    case Activation::gelu_erf: k.gelu_erf_mul(gate, up, n, y); break;
    case Activation::relu: k.relu_mul(gate, up, n, y); break;
    case Activation::none: k.multiply(gate, up, n, y); break;
  }
}

void run_step(Worker& w, const EmbedStep& step) {
  const Machine& m = w.machine;
  const TensorRef& weight = m.tensor_ref(step.weight);
  each_row(w, step.out, [&](size_t row) {
    float* out = m.floats(step.out) + row * weight.cols;
    kernels::cpu::dequantize_row(weight.encoding, m.tensor(step.weight), weight.cols, static_cast<size_t>(m.integer(step.ids, row)), out);
    if (step.scale != 1) w.k.scale(out, step.scale, weight.cols, out);
  });
}

void run_step(Worker& w, const NormStep& step) {
  const Machine& m = w.machine;
  const size_t width = m.buffer(step.in).width;
  each_row(w, step.in, [&](size_t row) {
    float* const out = m.floats(step.out) + row * width;
    float* const normed = step.accumulate ? w.local<float>(m.layout.row) : out;
    normalize(m, step.norm, m.floats(step.in) + row * width, width, normed);
    if (step.accumulate) w.k.add_scaled(out, normed, 1.0f, width, out);
  });
}

void run_step(Worker& w, const RopeStep& step) {
  const Machine& m = w.machine;
  const size_t width = m.buffer(step.buffer).width;
  each_row(w, step.buffer, [&](size_t row) {
    rotate_heads(m, step.rope, step.interleaved, row, m.floats(step.buffer) + row * width, step.width, width / step.width);
  });
}

void run_step(Worker& w, const WriteStep& step) {
  const Machine& m = w.machine;
  each_row(w, step.rows, [&](size_t row) {
    const size_t slot = static_cast<size_t>(m.integer(step.positions, row)) % step.slots;
    const float* from = m.floats(step.rows) + row * step.heads * step.dim;
    for (size_t head = 0; head < step.heads; ++head) write_cache_row(m, step.cache, head, step.slots, step.dim, slot, from + head * step.dim);
  });
}

void run_step(Worker& w, const MapStep& step) {
  const Machine& m = w.machine;
  const size_t width = m.buffer(step.in).width;
  each_row(w, step.in, [&](size_t row) {
    const float* in = m.floats(step.in) + row * width;
    float* out = m.floats(step.out) + row * width;
    switch (step.kind) {
      case MapKind::activation: activate(w.k, step.activation, in, width, out); break;
      case MapKind::softcap: w.k.softcap(in, step.factor, width, out); break;
      case MapKind::scale: w.k.scale(in, step.factor, width, out); break;
      case MapKind::copy: std::memmove(out, in, width * sizeof(float)); break;
    }
  });
}

void run_step(Worker& w, const CombineStep& step) {
  const Machine& m = w.machine;
  const size_t width = m.buffer(step.a).width;
  each_row(w, step.a, [&](size_t row) {
    const size_t at = row * width;
    if (step.kind == CombineKind::add) w.k.add_scaled(m.floats(step.a) + at, m.floats(step.b) + at, step.factor, width, m.floats(step.out) + at);
    else w.k.multiply(m.floats(step.a) + at, m.floats(step.b) + at, width, m.floats(step.out) + at);
  });
}

void run_step(Worker& w, const SelectStep& step) {
  const Machine& m = w.machine;
  const size_t width = m.buffer(step.in).width;
  each_row(w, step.out, [&](size_t) {
    const auto row = m.buffer(step.in).single_row ? size_t{0} : static_cast<size_t>(m.integer(step.row, 0));
    std::memcpy(m.floats(step.out), m.floats(step.in) + row * width, width * sizeof(float));
  });
}

void run_step(Worker& w, const ConvertStep& step) {
  const Machine& m = w.machine;
  const size_t width = m.buffer(step.buffer).width;
  void* const data = m.arguments[static_cast<size_t>(step.argument)];
  const ScalarType dtype = m.plan.arguments[static_cast<size_t>(step.argument)].dtype;
  each_row(w, step.buffer, [&](size_t row) {
    float* floats = m.floats(step.buffer) + row * width;
    auto* wide = static_cast<float*>(data) + row * width;
    auto* narrow = static_cast<uint16_t*>(data) + row * width;
    if (dtype == ScalarType::Float) std::memcpy(step.to_argument ? wide : floats, step.to_argument ? floats : wide, width * sizeof(float));
    else if (dtype == ScalarType::Half && step.to_argument) w.k.to_float16(floats, width, narrow);
    else if (dtype == ScalarType::Half) w.k.from_float16(narrow, width, floats);
    else if (step.to_argument) w.k.to_bfloat16(floats, width, narrow);
    else w.k.from_bfloat16(narrow, width, floats);
  });
}

}  // namespace pteron::cpu_backend
