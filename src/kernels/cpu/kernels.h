// The kernels of the cpu backend, once for each instruction set, behind one table of function pointers.
//
// Numbers: integer sums of a group are exact, so they agree bit by bit between instruction sets; the float arithmetic around them differs
// only in order and fusing. A result never depends on which rows or tiles share a call, so not on the number of threads either.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/cpu.h"
#include "base/status.h"
#include "core/packed_weight.h"

namespace pteron::kernels::cpu {

// A group of 32 quantised activations: value = scale * int8. The sums are over the integers (exact in float32).
struct GroupScale {
  float scale;
  float sum;       // of all 32
  float low_sum;   // of the first 16
  float high_sum;  // of the last 16
};

// A quantised row: its int8 values, filled up to whole groups, then one GroupScale a group.
constexpr size_t group_count(size_t columns) { return (columns + kGroupColumns - 1) / kGroupColumns; }
constexpr size_t quantized_row_bytes(size_t columns) {
  return (group_count(columns) * (kGroupColumns + sizeof(GroupScale)) + 63) / 64 * 64;
}
inline int8_t* row_values(std::byte* row) { return reinterpret_cast<int8_t*>(row); }
inline GroupScale* row_groups(std::byte* row, size_t columns) {
  return reinterpret_cast<GroupScale*>(row + group_count(columns) * kGroupColumns);
}

// y[m][n - 16 * tile_begin] = (accumulate ? what is there : 0) + bias[n] + sum over k of x[m][k] * w[n][k], for m < rows and the outputs n
// of tiles [tile_begin, tile_end).
struct MatmulArgs {
  const std::byte* weights;        // the packed weight, from tile 0
  size_t outputs;                  // rows of the weight
  size_t columns;                  // its inputs, unpadded
  size_t tile_begin, tile_end;     // which tiles of 16 outputs to compute
  const std::byte* x;              // rows: quantised for integer encodings, float32 of `columns` for float ones
  size_t x_stride;                 // bytes from a row to the next
  size_t rows;
  float* y;                        // of row 0 and output 16 * tile_begin
  size_t y_stride;                 // floats from a row to the next
  const float* bias;               // of output 0; may be null
  bool accumulate;
  std::byte* scratch;              // matmul_scratch_bytes(columns), 64-byte aligned, this thread's own
};

// Room for one tile with its integers as bytes.
constexpr size_t matmul_scratch_bytes(size_t columns) { return group_count(columns) * (kGroupColumns * kTileRows + 64); }

// The slots that a row sees: one or two runs [begin, end), in order; an empty second run is {0, 0}.
struct SlotRuns {
  int32_t begin[2];
  int32_t end[2];
};

// Queries x slots [slot_begin, slot_end) of one key/value head, with the softmax left open: for query `row * heads + head` it writes
// value_dim sums weighted by exp(score - maximum), then the maximum and the sum of the weights.
// score = scale * q.k, then softcap, then the head's bias.
struct AttentionArgs {
  const float* query;          // head 0 of row 0
  size_t query_stride;         // floats from a row to the next; heads are key_dim apart
  size_t rows, heads;          // rows of tokens, query heads of this key/value head
  size_t key_dim, value_dim;
  const void* keys;            // [slots][key_dim]
  const void* values;          // [slots][value_dim]
  const SlotRuns* runs;        // one a row
  size_t slot_begin, slot_end;
  float scale;
  float softcap;               // 0 for none
  const float* bias;           // [heads][bias_stride], by slot; may be null
  size_t bias_stride;
  float* state;                // attention_state_floats(value_dim) a query
  float* scratch;              // attention_scratch_floats(...), 64-byte aligned, this thread's own
};
constexpr size_t attention_state_floats(size_t value_dim) { return value_dim + 2; }
constexpr size_t kAttentionBlock = 64;  // slots that are handled at a time
constexpr size_t attention_scratch_floats(size_t rows, size_t heads, size_t key_dim, size_t value_dim) {
  return rows * heads * (key_dim + 2) + kAttentionBlock * (key_dim + value_dim + 8) + 64;
}

// out[0 .. value_dim) = the softmax-weighted mean over all `splits` states, which lie `split_stride` floats apart.
struct AttentionJoinArgs {
  const float* state;
  size_t splits, split_stride;
  size_t value_dim;
  float* out;
};

struct KernelTable {
  CpuTarget target;
#define PTERON_KERNEL(name, parameters) void(*name) parameters;
#include "kernels/cpu/kernels.def"
#undef PTERON_KERNEL
};

using MatmulKernel = void (*)(const MatmulArgs&);
MatmulKernel matmul_kernel(const KernelTable& table, PackedEncoding encoding);

// The table of a target; null where this build or this machine lacks it.
const KernelTable* kernels_for(CpuTarget target);
// The table of `cpu_target()`.
Result<const KernelTable*> active_kernels();

// Row `row` of a packed weight as float32 (exact up to one rounding a value): what an embedding looks up.
void dequantize_row(PackedEncoding encoding, const std::byte* weights, size_t columns, size_t row, float* y);

}  // namespace pteron::kernels::cpu
