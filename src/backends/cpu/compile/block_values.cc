#include "backends/cpu/compile/block_values.h"

#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

constexpr size_t kSuperBlock = 256;

struct Sizes {
  size_t elements, bytes;
};

Sizes sizes_of(BlockEncoding encoding) {
  switch (encoding) {
    case BlockEncoding::q4_0: return {32, 18};
    case BlockEncoding::q4_1: return {32, 20};
    case BlockEncoding::q5_0: return {32, 22};
    case BlockEncoding::q5_1: return {32, 24};
    case BlockEncoding::q8_0: return {32, 34};
    case BlockEncoding::q4_k: return {kSuperBlock, 144};
    case BlockEncoding::q5_k: return {kSuperBlock, 176};
    case BlockEncoding::q6_k: return {kSuperBlock, 210};
    case BlockEncoding::none: break;
  }
  return {0, 0};
}

float half_at(const std::byte* from) { return half_to_float(load_unaligned<uint16_t>(from)); }
uint8_t byte_at(const std::byte* from, size_t index) { return std::to_integer<uint8_t>(from[index]); }

void set_scales(GroupValues& out, float scale, float offset) {
  out.scales[0] = out.scales[1] = scale;
  out.offset = offset;
}

// 16 bytes: low nibbles are values 0-15, high nibbles 16-31.
void read_nibbles(const std::byte* from, GroupValues& out) {
  for (size_t i = 0; i < 16; ++i) {
    out.integers[i] = byte_at(from, i) & 15;
    out.integers[i + 16] = byte_at(from, i) >> 4;
  }
}

void add_fifth_bits(const std::byte* from, GroupValues& out) {
  const auto bits = load_unaligned<uint32_t>(from);
  for (size_t i = 0; i < kGroupColumns; ++i) out.integers[i] = static_cast<uint8_t>(out.integers[i] | (bits >> i & 1) << 4);
}

// The 6-bit scale and minimum of sub-block `i` of 8, stored in 12 bytes.
void read_k_scale(const std::byte* from, size_t i, int& scale, int& minimum) {
  if (i < 4) {
    scale = byte_at(from, i) & 63;
    minimum = byte_at(from, i + 4) & 63;
  } else {
    scale = (byte_at(from, i + 4) & 15) | (byte_at(from, i - 4) >> 6) << 4;
    minimum = (byte_at(from, i + 4) >> 4) | (byte_at(from, i) >> 6) << 4;
  }
}

void read_k4_or_k5(const std::byte* block, size_t group, bool five, GroupValues& out) {
  int scale = 0, minimum = 0;
  read_k_scale(block + 4, group, scale, minimum);
  set_scales(out, half_at(block) * static_cast<float>(scale), -half_at(block + 2) * static_cast<float>(minimum));
  const std::byte* high = block + 16;
  const std::byte* low = block + (five ? 48 : 16) + group / 2 * 32;
  for (size_t i = 0; i < kGroupColumns; ++i) {
    int value = group % 2 == 0 ? byte_at(low, i) & 15 : byte_at(low, i) >> 4;
    if (five) value |= (byte_at(high, i) >> group & 1) << 4;
    out.integers[i] = static_cast<uint8_t>(value);
  }
}

void read_k6(const std::byte* block, size_t group, GroupValues& out) {
  const size_t half = group / 4, part = group % 4;  // 128 values share 64 low and 32 high bytes
  const std::byte* low = block + half * 64 + part % 2 * 32;
  const std::byte* high = block + 128 + half * 32;
  const auto* scales = reinterpret_cast<const int8_t*>(block + 192) + half * 8 + part * 2;
  const float scale = half_at(block + 208);
  for (size_t i = 0; i < kGroupColumns; ++i) {
    const int nibble = part < 2 ? byte_at(low, i) & 15 : byte_at(low, i) >> 4;
    out.integers[i] = static_cast<uint8_t>(nibble | (byte_at(high, i) >> (2 * part) & 3) << 4);
  }
  out.scales[0] = scale * static_cast<float>(scales[0]);
  out.scales[1] = scale * static_cast<float>(scales[1]);
  out.offset = 0;
}

}  // namespace

PackedEncoding packed_for(BlockEncoding encoding) {
  switch (encoding) {
    case BlockEncoding::q4_0: return PackedEncoding::int4;
    case BlockEncoding::q4_1:
    case BlockEncoding::q4_k: return PackedEncoding::int4_affine;
    case BlockEncoding::q5_0: return PackedEncoding::int5;
    case BlockEncoding::q5_1:
    case BlockEncoding::q5_k: return PackedEncoding::int5_affine;
    case BlockEncoding::q6_k: return PackedEncoding::int6;
    case BlockEncoding::q8_0: return PackedEncoding::int8;
    case BlockEncoding::none: break;
  }
  return PackedEncoding::float32;
}

size_t block_row_bytes(BlockEncoding encoding, size_t columns) {
  const Sizes sizes = sizes_of(encoding);
  return sizes.elements != 0 && columns % sizes.elements == 0 ? columns / sizes.elements * sizes.bytes : 0;
}

void read_group(BlockEncoding encoding, ByteSpan row, size_t group, GroupValues& out) {
  const Sizes sizes = sizes_of(encoding);
  const size_t groups_a_block = sizes.elements / kGroupColumns;
  const std::byte* block = row.data() + group / groups_a_block * sizes.bytes;
  switch (encoding) {
    case BlockEncoding::q4_0:
      read_nibbles(block + 2, out);
      return set_scales(out, half_at(block), 0);
    case BlockEncoding::q4_1:
      read_nibbles(block + 4, out);
      return set_scales(out, half_at(block), half_at(block + 2));
    case BlockEncoding::q5_0:
      read_nibbles(block + 6, out);
      add_fifth_bits(block + 2, out);
      return set_scales(out, half_at(block), 0);
    case BlockEncoding::q5_1:
      read_nibbles(block + 8, out);
      add_fifth_bits(block + 4, out);
      return set_scales(out, half_at(block), half_at(block + 2));
    case BlockEncoding::q8_0:
      for (size_t i = 0; i < kGroupColumns; ++i) out.integers[i] = byte_at(block, i + 2) ^ 0x80;
      return set_scales(out, half_at(block), 0);
    case BlockEncoding::q4_k: return read_k4_or_k5(block, group % groups_a_block, false, out);
    case BlockEncoding::q5_k: return read_k4_or_k5(block, group % groups_a_block, true, out);
    case BlockEncoding::q6_k: return read_k6(block, group % groups_a_block, out);
    case BlockEncoding::none: return;
  }
}

}  // namespace pteron::cpu_backend
