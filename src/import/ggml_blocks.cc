#include "import/ggml_blocks.h"

#include <array>
#include <cstring>

#include "base/bytes.h"
#include "core/dtype.h"

namespace pteron::importer {
namespace {

constexpr size_t kSmall = 32;   // elements of a block of the older formats
constexpr size_t kSuper = 256;  // elements of a K-quant super-block

float half_at(const std::byte* at) { return half_to_float(load_unaligned<uint16_t>(at)); }
const uint8_t* octets(const std::byte* at) { return reinterpret_cast<const uint8_t*>(at); }

// The older formats: 32 elements share a scale (and an offset). Byte j of the nibbles holds element j below and element j + 16 above.
// kFifth: a 32-bit mask carries bit 4 of each element. kOffset: value = scale * q + offset, else scale * (q - half the range).
template <bool kFifth, bool kOffset>
void decode_nibbles(const std::byte* from, size_t blocks, float* out) {
  constexpr size_t kScales = kOffset ? 4 : 2;
  constexpr size_t kBytes = kScales + (kFifth ? 4 : 0) + kSmall / 2;
  constexpr int kCentre = kOffset ? 0 : (kFifth ? 16 : 8);
  for (size_t b = 0; b < blocks; ++b, from += kBytes, out += kSmall) {
    const float scale = half_at(from);
    const float offset = kOffset ? half_at(from + 2) : 0.0f;
    const uint8_t* nibbles = octets(from + kBytes - kSmall / 2);
    std::array<uint8_t, kSmall> q;
    for (size_t j = 0; j < kSmall / 2; ++j) q[j] = nibbles[j] & 15;
    for (size_t j = 0; j < kSmall / 2; ++j) q[j + kSmall / 2] = nibbles[j] >> 4;
    if constexpr (kFifth) {
      const auto mask = load_unaligned<uint32_t>(from + kScales);
      for (size_t j = 0; j < kSmall; ++j) q[j] = static_cast<uint8_t>(q[j] | ((mask >> j) & 1u) << 4);
    }
    for (size_t j = 0; j < kSmall; ++j) {
      const float product = scale * static_cast<float>(q[j] - kCentre);
      out[j] = kOffset ? product + offset : product;
    }
  }
}

void decode_q8_0(const std::byte* from, size_t blocks, float* out) {
  constexpr size_t kBytes = 2 + kSmall;
  for (size_t b = 0; b < blocks; ++b, from += kBytes, out += kSmall) {
    const float scale = half_at(from);
    std::array<int8_t, kSmall> q;
    std::memcpy(q.data(), from + 2, kSmall);
    for (size_t j = 0; j < kSmall; ++j) out[j] = scale * static_cast<float>(q[j]);
  }
}

// The eight 6-bit scales and eight 6-bit offsets of a Q4_K or Q5_K super-block, packed into 12 bytes: the low six bits of bytes 0..3
// and 4..7 are the first four of each; the rest have their low four bits in bytes 8..11 and their high two bits on top of bytes 0..7.
void unpack_scales(const uint8_t* packed, std::array<uint8_t, 8>& scales, std::array<uint8_t, 8>& offsets) {
  for (size_t j = 0; j < 4; ++j) {
    scales[j] = packed[j] & 63;
    offsets[j] = packed[j + 4] & 63;
    scales[j + 4] = static_cast<uint8_t>((packed[j + 8] & 15) | (packed[j] >> 6) << 4);
    offsets[j + 4] = static_cast<uint8_t>((packed[j + 8] >> 4) | (packed[j + 4] >> 6) << 4);
  }
}

// Q4_K and Q5_K: eight groups of 32; groups 2g and 2g + 1 are the low and high nibbles of 32 bytes. Q5_K has bit 4 of element j of group g
// in bit g of byte j.
template <bool kFifth>
void decode_k_affine(const std::byte* from, size_t blocks, float* out) {
  constexpr size_t kHeader = 4 + 12, kHigh = kFifth ? kSuper / 8 : 0;
  constexpr size_t kBytes = kHeader + kHigh + kSuper / 2;
  for (size_t b = 0; b < blocks; ++b, from += kBytes, out += kSuper) {
    const float scale = half_at(from), offset = half_at(from + 2);
    std::array<uint8_t, 8> scales, offsets;
    unpack_scales(octets(from + 4), scales, offsets);
    const uint8_t* high = octets(from + kHeader);
    for (size_t g = 0; g < 8; ++g) {
      const uint8_t* nibbles = octets(from + kHeader + kHigh + g / 2 * kSmall);
      const float group_scale = scale * static_cast<float>(scales[g]), group_offset = offset * static_cast<float>(offsets[g]);
      std::array<uint8_t, kSmall> q;
      for (size_t j = 0; j < kSmall; ++j) q[j] = g % 2 == 0 ? nibbles[j] & 15 : nibbles[j] >> 4;
      if constexpr (kFifth) {
        for (size_t j = 0; j < kSmall; ++j) q[j] = static_cast<uint8_t>(q[j] | ((high[j] >> g) & 1u) << 4);
      }
      for (size_t j = 0; j < kSmall; ++j) out[g * kSmall + j] = group_scale * static_cast<float>(q[j]) - group_offset;
    }
  }
}

// Q6_K: two halves of 128 elements, each four runs of 32. Run r has its low four bits in the low (r < 2) or high nibbles of 32 bytes (those
// for r % 2) and its high two bits in bits 2r, 2r + 1 of 32 more bytes. 16 elements share a signed scale.
void decode_q6_k(const std::byte* from, size_t blocks, float* out) {
  constexpr size_t kBytes = kSuper / 2 + kSuper / 4 + kSuper / 16 + 2;
  for (size_t b = 0; b < blocks; ++b, from += kBytes, out += kSuper) {
    const float scale = half_at(from + kBytes - 2);
    std::array<int8_t, kSuper / 16> scales;
    std::memcpy(scales.data(), from + kSuper / 2 + kSuper / 4, scales.size());
    for (size_t run = 0; run < 8; ++run) {
      const size_t half = run / 4, r = run % 4;
      const uint8_t* low = octets(from + half * 64 + r % 2 * 32);
      const uint8_t* high = octets(from + kSuper / 2 + half * 32);
      std::array<int8_t, kSmall> q;
      for (size_t j = 0; j < kSmall; ++j) {
        const int nibble = r < 2 ? low[j] & 15 : low[j] >> 4;
        q[j] = static_cast<int8_t>((nibble | ((high[j] >> (2 * r)) & 3) << 4) - 32);
      }
      for (size_t part = 0; part < 2; ++part) {
        const float group_scale = scale * static_cast<float>(scales[run * 2 + part]);
        for (size_t j = part * 16; j < part * 16 + 16; ++j) out[run * kSmall + j] = group_scale * static_cast<float>(q[j]);
      }
    }
  }
}

constexpr std::array kFormats = {
    BlockFormat{BlockEncoding::q4_0, "Q4_0", 32, 18, decode_nibbles<false, false>},
    BlockFormat{BlockEncoding::q4_1, "Q4_1", 32, 20, decode_nibbles<false, true>},
    BlockFormat{BlockEncoding::q5_0, "Q5_0", 32, 22, decode_nibbles<true, false>},
    BlockFormat{BlockEncoding::q5_1, "Q5_1", 32, 24, decode_nibbles<true, true>},
    BlockFormat{BlockEncoding::q8_0, "Q8_0", 32, 34, decode_q8_0},
    BlockFormat{BlockEncoding::q4_k, "Q4_K", 256, 144, decode_k_affine<false>},
    BlockFormat{BlockEncoding::q5_k, "Q5_K", 256, 176, decode_k_affine<true>},
    BlockFormat{BlockEncoding::q6_k, "Q6_K", 256, 210, decode_q6_k},
};

}  // namespace

const BlockFormat* block_format(BlockEncoding encoding) {
  for (const BlockFormat& format : kFormats) {
    if (format.encoding == encoding) return &format;
  }
  return nullptr;
}

}  // namespace pteron::importer
