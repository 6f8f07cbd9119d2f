#include "kernels/cpu/kernels.h"

#include "base/bytes.h"
#include "kernels/cpu/packed_value.h"
#include "kernels/cpu/tables.h"

namespace pteron::kernels::cpu {

const KernelTable* kernels_for(CpuTarget target) {
  if (!cpu_supports(target)) return nullptr;
  switch (target) {
    case CpuTarget::scalar: return &scalar_kernels();
#if defined(__x86_64__)
    case CpuTarget::avx2: return &avx2_kernels();
    case CpuTarget::avxvnni: return &avxvnni_kernels();
    case CpuTarget::avx512vnni: return &avx512vnni_kernels();
#elif defined(__aarch64__)
    case CpuTarget::neon: return &neon_kernels();
    case CpuTarget::dotprod: return &dotprod_kernels();
    case CpuTarget::i8mm: return &i8mm_kernels();
#endif
    default: return nullptr;
  }
}

Result<const KernelTable*> active_kernels() {
  PTERON_ASSIGN(const CpuTarget target, cpu_target());
  const KernelTable* table = kernels_for(target);
  return table != nullptr ? table : &scalar_kernels();
}

MatmulKernel matmul_kernel(const KernelTable& table, PackedEncoding encoding) {
  switch (encoding) {
    case PackedEncoding::float32: return table.matmul_float32;
    case PackedEncoding::float16: return table.matmul_float16;
    case PackedEncoding::bfloat16: return table.matmul_bfloat16;
    case PackedEncoding::int8: return table.matmul_int8;
    case PackedEncoding::int4: return table.matmul_int4;
    case PackedEncoding::int4_affine: return table.matmul_int4_affine;
    case PackedEncoding::int5: return table.matmul_int5;
    case PackedEncoding::int5_affine: return table.matmul_int5_affine;
    case PackedEncoding::int6: return table.matmul_int6;
  }
  return nullptr;
}

void dequantize_row(PackedEncoding encoding, const std::byte* weights, size_t columns, size_t row, float* y) {
  const PackedLayout& layout = *packed_layout(encoding);
  const size_t tile_bytes = (columns + layout.record_columns - 1) / layout.record_columns * layout.record_bytes;
  const std::byte* tile = weights + row / kTileRows * tile_bytes;
  const size_t lane = row % kTileRows;
  for (size_t k = 0; k < columns; ++k) {
    const std::byte* record = tile + k / layout.record_columns * layout.record_bytes;
    switch (encoding) {
      case PackedEncoding::float32: y[k] = load_unaligned<float>(record + lane * 4); break;
      case PackedEncoding::float16: y[k] = half_to_float(record_half(record, 0, lane)); break;
      case PackedEncoding::bfloat16: y[k] = bfloat16_to_float(record_half(record, 0, lane)); break;
      default: {
        const size_t column = k % kGroupColumns;
        const auto integer = static_cast<float>(stored_integer(layout, record, lane, column) - layout.zero_point);
        y[k] = stored_scale(layout, record, lane, column) * integer + stored_offset(layout, record, lane);
      }
    }
  }
}

}  // namespace pteron::kernels::cpu
