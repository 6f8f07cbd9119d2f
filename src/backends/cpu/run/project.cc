// Projections: rows are normalised and quantised once for all matrices that read them, then tiles are shared out.
#include <algorithm>

#include "backends/cpu/run/machine.h"

namespace pteron::cpu_backend {
namespace {

using kernels::cpu::MatmulArgs;

// The rows that the matrices of a step multiply.
struct Input {
  const std::byte* data;
  size_t stride;
};

// One row of the input, normalised and (for integer weights) quantised, to `out`.
void prepare_row(Worker& w, const ProjectStep& step, size_t row, bool integers, std::byte* out) {
  const Machine& m = w.machine;
  const size_t width = m.buffer(step.in).width;
  const float* x = m.floats(step.in) + row * width;
  if (step.norm.kind != NormKind::none) {
    float* normed = integers ? w.local<float>(m.layout.row) : reinterpret_cast<float*>(out);
    normalize(m, step.norm, x, width, normed);
    x = normed;
  }
  if (integers) w.k.quantize_row(x, width, kernels::cpu::row_values(out), kernels::cpu::row_groups(out, width));
}

Input prepare(Worker& w, const ProjectStep& step, size_t rows, bool integers) {
  const Machine& m = w.machine;
  const Buffer& in = m.buffer(step.in);
  const size_t quantized = kernels::cpu::quantized_row_bytes(in.width), plain = in.width * sizeof(float);
  if (in.format == BufferFormat::quantized) return {m.bytes(step.in), quantized};
  if (!integers && step.norm.kind == NormKind::none) return {m.bytes(step.in), plain};
  const size_t stride = integers ? quantized : plain;
  if (rows == 1) {
    // Cheaper for every worker to do than to wait for.
    std::byte* own = w.local(integers ? m.layout.quantized : m.layout.row);
    prepare_row(w, step, 0, integers, own);
    return {own, stride};
  }
  std::byte* const shared = m.shared(m.layout.inputs);
  w.share(rows, 4, [&](size_t begin, size_t end) {
    for (size_t row = begin; row < end; ++row) prepare_row(w, step, row, integers, shared + row * stride);
  });
  return {shared, stride};
}

MatmulArgs matmul_args(const Worker& w, const Projection& p, const Input& input, size_t rows) {
  const TensorRef& weight = w.machine.tensor_ref(p.weight);
  return {.weights = w.machine.tensor(p.weight), .outputs = weight.rows, .columns = weight.cols, .tile_begin = 0, .tile_end = 0, .x = input.data,
          .x_stride = input.stride, .rows = rows, .y = nullptr, .y_stride = 0, .bias = w.machine.vector(p.bias), .accumulate = false,
          .scratch = w.local(w.machine.layout.matmul)};
}

size_t tiles_of(const Machine& m, const Projection& p) { return (m.tensor_ref(p.weight).rows + kTileRows - 1) / kTileRows; }

inline constexpr size_t kStreamRows = 16;  // fewer rows than this wait for weights more than they compute

// Tiles at a time: few enough that workers finish together, enough that a single row streams.
size_t tile_chunk(size_t tiles, size_t rows) { return rows < kStreamRows ? std::clamp<size_t>(tiles / 16, 1, 64) : 1; }

// The matrices one after another, straight to their buffers.
void store_tiles(Worker& w, const ProjectStep& step, const Input& input, size_t rows) {
  const Machine& m = w.machine;
  size_t total = 0;
  for (const Projection& p : step.projections) total += tiles_of(m, p);
  w.share(total, tile_chunk(total, rows), [&](size_t begin, size_t end) {
    size_t first = 0;
    for (const Projection& p : step.projections) {
      const size_t tiles = tiles_of(m, p), from = std::max(begin, first), to = std::min(end, first + tiles);
      if (from < to) {
        MatmulArgs args = matmul_args(w, p, input, rows);
        args.tile_begin = from - first;
        args.tile_end = to - first;
        args.y = m.floats(p.out) + args.tile_begin * kTileRows;
        args.y_stride = m.buffer(p.out).width;
        args.accumulate = step.mode == ProjectMode::accumulate;
        kernels::cpu::matmul_kernel(w.k, m.tensor_ref(p.weight).encoding)(args);
      }
      first += tiles;
    }
  });
}

// One row of one group of columns: activated (and gated), then to its place, quantised where the buffer is.
void finish_group(Worker& w, const ProjectStep& step, const float* first, const float* second, size_t column, size_t width, size_t row, int32_t out) {
  const Machine& m = w.machine;
  const Buffer& buffer = m.buffer(out);
  const bool quantized = buffer.format == BufferFormat::quantized;
  float group[kProjectColumns];
  float* const y = quantized ? group : m.floats(out) + row * buffer.width + column;
  if (second != nullptr) activate_gated(w.k, step.activation, first, second, width, y);
  else activate(w.k, step.activation, first, width, y);
  if (!quantized) return;
  std::byte* const to = m.bytes(out) + row * kernels::cpu::quantized_row_bytes(buffer.width);
  w.k.quantize_row(group, width, kernels::cpu::row_values(to) + column, kernels::cpu::row_groups(to, buffer.width) + column / kGroupColumns);
}

// Column groups of all results: through a small block of the worker's own, where they are activated.
void finish_columns(Worker& w, const ProjectStep& step, const Input& input, size_t rows) {
  const Machine& m = w.machine;
  const size_t tiles_a_group = kProjectColumns / kTileRows;
  float* const blocks[2] = {w.local<float>(m.layout.columns), w.local<float>(m.layout.columns) + rows * kProjectColumns};
  const bool gated = step.mode == ProjectMode::gated;
  const size_t results = gated ? 1 : step.projections.size();
  for (size_t result = 0; result < results; ++result) {
    const Projection& p = step.projections[result];
    const size_t outputs = m.tensor_ref(p.weight).rows, groups = (outputs + kProjectColumns - 1) / kProjectColumns;
    w.share(groups, rows < kStreamRows ? std::clamp<size_t>(groups / 16, 1, 32) : 1, [&](size_t begin, size_t end) {
      for (size_t group = begin; group < end; ++group) {
        for (size_t part = 0; part < (gated ? 2u : 1u); ++part) {
          const Projection& matrix = step.projections[gated ? part : result];
          MatmulArgs args = matmul_args(w, matrix, input, rows);
          args.tile_begin = group * tiles_a_group;
          args.tile_end = std::min(tiles_of(m, matrix), args.tile_begin + tiles_a_group);
          args.y = blocks[part];
          args.y_stride = kProjectColumns;
          kernels::cpu::matmul_kernel(w.k, m.tensor_ref(matrix.weight).encoding)(args);
        }
        const size_t column = group * kProjectColumns, width = std::min(kProjectColumns, outputs - column);
        for (size_t row = 0; row < rows; ++row) {
          finish_group(w, step, blocks[0] + row * kProjectColumns, gated ? blocks[1] + row * kProjectColumns : nullptr, column, width, row, p.out);
        }
      }
    });
  }
}

}  // namespace

void run_step(Worker& w, const ProjectStep& step) {
  const Machine& m = w.machine;
  const size_t rows = m.rows_of(step.in);
  const bool integers = packed_layout(m.tensor_ref(step.projections[0].weight).encoding)->record_columns != 1;
  const Input input = prepare(w, step, rows, integers);
  const bool plain = step.mode != ProjectMode::gated && step.activation == Activation::none && m.buffer(step.projections[0].out).format == BufferFormat::float32;
  if (plain) store_tiles(w, step, input, rows);
  else finish_columns(w, step, input, rows);
}

}  // namespace pteron::cpu_backend
