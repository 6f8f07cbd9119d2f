// Matrix products over packed tiles, written once for all instruction sets. `V` is what an instruction set's file says about its vectors:
//   kLanes                 float lanes of a vector; 16 / kLanes vectors cover a tile
//   kBlockRows, kBlockVectors  rows and vectors of a register block
//   F, I, B, A             floats, int32, the bytes of kLanes x 4 integers, and the running sum of byte products (int16 or int32)
//   dot(A, w, x), widen(A) byte products of unsigned w (below 64) and signed x; depth(bits) products fit into A before `widen`
//   kPairs, pair_sums      whether two rows of x are multiplied at once, and how
//   bytes8(raw), dot8(I, w, x), kZero8  the same for 8-bit weights: stored bytes to what dot8 wants, and the zero point of that
// Everything is in an unnamed namespace: each file compiles its own copy for its own instruction set.
#pragma once

#include <algorithm>
#include <cstring>

#include "kernels/cpu/kernels.h"

#define PTERON_INLINE inline __attribute__((always_inline))

namespace pteron::kernels::cpu {
namespace {

inline constexpr size_t kBlocks = 8;              // blocks of 16 rows x 4 columns in a record
inline constexpr size_t kBytesRecord = 512 + 64;  // a record with its integers as bytes, then scales and offsets
inline constexpr size_t kUnpackRows = 12;          // from so many rows on, a tile is unpacked to bytes once
inline constexpr size_t kRowBytes = 256 << 10;    // rows handled together, so that they stay in the second-level cache
inline constexpr size_t kPrefetch = 4096;         // how far a row-at-a-time product reads ahead

template <PackedEncoding kEncoding>
struct EncodingOf {
  static constexpr int kBits = kEncoding == PackedEncoding::int8                                                            ? 8
                               : kEncoding == PackedEncoding::int6                                                          ? 6
                               : kEncoding == PackedEncoding::int5 || kEncoding == PackedEncoding::int5_affine ? 5 : 4;
  static constexpr bool kAffine = kEncoding == PackedEncoding::int4_affine || kEncoding == PackedEncoding::int5_affine;
  static constexpr bool kTwoScales = kEncoding == PackedEncoding::int6;
  static constexpr size_t kPlane = 256;
  static constexpr size_t kScales = kBits * 64;
  static constexpr size_t kRecord = kScales + 32 + (kAffine || kTwoScales ? 32 : 0);
};

// Where a block's bytes come from: the packed record itself, or a record unpacked to bytes.
template <class V, int kBits>
struct PackedRecord {
  const std::byte* record;
  PTERON_INLINE typename V::B get(size_t block, size_t vector) const {
    constexpr size_t kWidth = V::kLanes * 4;
    if constexpr (kBits == 8) {
      return V::bytes8(V::load_bytes(record + block * 64 + vector * kWidth));
    } else {
      const typename V::B pair = V::load_bytes(record + block / 2 * 64 + vector * kWidth);
      const typename V::B low = block % 2 == 0 ? V::low_nibbles(pair) : V::high_nibbles(pair);
      if constexpr (kBits == 4) return low;
      const size_t plane = kBits == 5 ? 0 : block / 4 * 64;
      const typename V::B high = V::load_bytes(record + 256 + plane + vector * kWidth);
      constexpr int kMask = kBits == 5 ? 0x10 : 0x30;
      return V::or_bytes(low, V::template masked_shift<kMask>(high, kBits == 5 ? 4 - static_cast<int>(block) : 4 - static_cast<int>(block % 4) * 2));
    }
  }
};

template <class V>
struct ByteRecord {
  const std::byte* record;
  PTERON_INLINE typename V::B get(size_t block, size_t vector) const { return V::load_bytes(record + block * 64 + vector * V::kLanes * 4); }
};

// The integer sums of blocks [kBegin, kEnd) for kRows rows of x and kVectors vectors of outputs.
template <class V, int kBits, size_t kBegin, size_t kEnd, int kRows, int kVectors, class Record>
PTERON_INLINE void single_sums(const Record& record, size_t vector, const int8_t* x, size_t stride, typename V::I (&sums)[kRows][kVectors]) {
  constexpr size_t kDepth = kBits == 8 ? 1 : V::depth(kBits);
  typename V::A running[kRows][kVectors];
#pragma GCC unroll 8
  for (size_t block = kBegin; block < kEnd; ++block) {
    typename V::B weights[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) weights[v] = record.get(block, vector + static_cast<size_t>(v));
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      const typename V::B four = V::broadcast4(x + static_cast<size_t>(m) * stride + block * 4);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        if constexpr (kBits == 8) {
          sums[m][v] = block == kBegin ? V::dot8(V::zero_int(), weights[v], four) : V::dot8(sums[m][v], weights[v], four);
        } else {
          const bool first = (block - kBegin) % kDepth == 0, last = (block - kBegin) % kDepth == kDepth - 1 || block + 1 == kEnd;
          running[m][v] = first ? V::dot_first(weights[v], four) : V::dot(running[m][v], weights[v], four);
          if (last) {
            const typename V::I wide = V::widen(running[m][v]);
            sums[m][v] = block < kBegin + kDepth ? wide : V::add_int(sums[m][v], wide);
          }
        }
      }
    }
  }
}

// The same, by the matrix product of two rows where the instruction set has one.
template <class V, int kBits, size_t kBegin, size_t kEnd, int kRows, int kVectors, class Record>
PTERON_INLINE void block_sums(const Record& record, size_t vector, const int8_t* x, size_t stride, typename V::I (&sums)[kRows][kVectors]) {
  if constexpr (V::kPairs && kRows % 2 == 0) {
    V::template pair_sums<kBegin, kEnd, kRows, kVectors>(record, vector, x, stride, sums);
  } else {
    single_sums<V, kBits, kBegin, kEnd, kRows, kVectors>(record, vector, x, stride, sums);
  }
}

// Adds one record's share to the float sums.
template <class V, PackedEncoding kEncoding, int kRows, int kVectors, class Record>
PTERON_INLINE void add_record(const Record& record, const std::byte* scales, size_t vector, const int8_t* x, const std::byte* groups,
                              size_t stride, typename V::F (&acc)[kRows][kVectors]) {
  using E = EncodingOf<kEncoding>;
  constexpr float kZero = E::kBits == 8 ? V::kZero8 : static_cast<float>(1 << (E::kBits - 1));
  typename V::I sums[kRows][kVectors], high[kRows][kVectors];
  if constexpr (E::kTwoScales) {
    block_sums<V, E::kBits, 0, 4, kRows, kVectors>(record, vector, x, stride, sums);
    block_sums<V, E::kBits, 4, 8, kRows, kVectors>(record, vector, x, stride, high);
  } else {
    block_sums<V, E::kBits, 0, 8, kRows, kVectors>(record, vector, x, stride, sums);
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const auto* halves = reinterpret_cast<const uint16_t*>(scales) + (vector + static_cast<size_t>(v)) * V::kLanes;
    const typename V::F scale = V::load_float16(halves);
    typename V::F second = scale;
    if constexpr (E::kAffine || E::kTwoScales) second = V::load_float16(halves + kTileRows);
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      const auto* group = reinterpret_cast<const GroupScale*>(groups + static_cast<size_t>(m) * stride);
      typename V::F value = V::to_float(sums[m][v]);
      if constexpr (E::kTwoScales) {
        value = V::mul(scale, V::fnma(V::set(kZero), V::set(group->low_sum), value));
        value = V::fma(second, V::fnma(V::set(kZero), V::set(group->high_sum), V::to_float(high[m][v])), value);
      } else if constexpr (E::kAffine) {
        value = V::fma(scale, value, V::mul(second, V::set(group->sum)));
      } else if constexpr (kZero == 0) {
        value = V::mul(scale, value);
      } else {
        value = V::mul(scale, V::fnma(V::set(kZero), V::set(group->sum), value));
      }
      acc[m][v] = V::fma(value, V::set(group->scale), acc[m][v]);
    }
  }
}

// Writes a register block: y (+)= acc + bias.
template <class V, int kRows, int kVectors>
PTERON_INLINE void write_block(const MatmulArgs& args, size_t row, size_t output, typename V::F (&acc)[kRows][kVectors]) {
  for (int v = 0; v < kVectors; ++v) {
    const size_t n = output + static_cast<size_t>(v) * V::kLanes;
    if (n >= args.outputs) return;
    const size_t width = std::min(V::kLanes, args.outputs - n);
    for (int m = 0; m < kRows; ++m) {
      float* y = args.y + (row + static_cast<size_t>(m)) * args.y_stride + n - args.tile_begin * kTileRows;
      typename V::F value = acc[m][v];
      if (args.bias != nullptr) value = V::add(value, V::load_some(args.bias + n, width));
      if (args.accumulate) value = V::add(V::load_some(y, width), value);
      V::store_some(y, width, value);
    }
  }
}

template <class V, PackedEncoding kEncoding, bool kBytes, int kRows>
__attribute__((noinline)) void multiply_rows(const MatmulArgs& args, const std::byte* tile, size_t output, size_t row) {
  using E = EncodingOf<kEncoding>;
  constexpr int kTileVectors = static_cast<int>(kTileRows / V::kLanes);
  constexpr int kVectors = kRows == 1 ? kTileVectors : std::min<int>(kTileVectors, V::kBlockVectors);
  const size_t groups = group_count(args.columns);
  const std::byte* x = args.x + row * args.x_stride;
  for (int vector = 0; vector < kTileVectors; vector += kVectors) {
    typename V::F acc[kRows][kVectors];
    for (int m = 0; m < kRows; ++m) {
      for (int v = 0; v < kVectors; ++v) acc[m][v] = V::zero();
    }
    const std::byte* record = tile;
    const std::byte* group = x + groups * kGroupColumns;
    for (size_t g = 0; g < groups; ++g, group += sizeof(GroupScale)) {
      const auto* values = reinterpret_cast<const int8_t*>(x) + g * kGroupColumns;
      const auto first = static_cast<size_t>(vector);
      if constexpr (kBytes) {
        add_record<V, kEncoding, kRows, kVectors>(ByteRecord<V>{record}, record + 512, first, values, group, args.x_stride, acc);
        record += kBytesRecord;
      } else {
        for (size_t line = 0; line < E::kRecord; line += 64) __builtin_prefetch(record + kPrefetch + line);
        add_record<V, kEncoding, kRows, kVectors>(PackedRecord<V, E::kBits>{record}, record + E::kScales, first, values, group, args.x_stride, acc);
        record += E::kRecord;
      }
    }
    write_block<V, kRows, kVectors>(args, row, output + static_cast<size_t>(vector) * V::kLanes, acc);
  }
}

// All rows [begin, end) in register blocks of kRows, then of half as many, and so on.
template <class V, PackedEncoding kEncoding, bool kBytes, int kRows>
void multiply_tile(const MatmulArgs& args, const std::byte* tile, size_t output, size_t begin, size_t end) {
  while (begin + kRows <= end) {
    multiply_rows<V, kEncoding, kBytes, kRows>(args, tile, output, begin);
    begin += kRows;
  }
  if constexpr (kRows > 1) {
    if (begin < end) multiply_tile<V, kEncoding, kBytes, kRows / 2>(args, tile, output, begin, end);
  }
}

template <class V, PackedEncoding kEncoding>
void unpack_tile(const std::byte* tile, size_t groups, std::byte* out) {
  using E = EncodingOf<kEncoding>;
  for (size_t g = 0; g < groups; ++g, tile += E::kRecord, out += kBytesRecord) {
    const PackedRecord<V, E::kBits> record{tile};
    for (size_t line = 0; line < E::kRecord; line += 64) __builtin_prefetch(tile + kPrefetch + line);
#pragma GCC unroll 8
    for (size_t block = 0; block < kBlocks; ++block) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kTileRows / V::kLanes; ++v) V::store_bytes(out + block * 64 + v * V::kLanes * 4, record.get(block, v));
    }
    std::memcpy(out + 512, tile + E::kScales, E::kRecord - E::kScales);
  }
}

template <class V, PackedEncoding kEncoding>
void matmul_integers(const MatmulArgs& args) {
  const size_t groups = group_count(args.columns), tile_bytes = groups * EncodingOf<kEncoding>::kRecord;
  const size_t together = std::max<size_t>(kUnpackRows, kRowBytes / args.x_stride / V::kBlockRows * V::kBlockRows);
  for (size_t begin = 0; begin < args.rows; begin += together) {
    const size_t end = std::min(args.rows, begin + together);
    for (size_t tile = args.tile_begin; tile < args.tile_end; ++tile) {
      const std::byte* packed = args.weights + tile * tile_bytes;
      if (args.rows < kUnpackRows) {
        multiply_tile<V, kEncoding, false, std::min<int>(4, V::kBlockRows)>(args, packed, tile * kTileRows, begin, end);
      } else {
        unpack_tile<V, kEncoding>(packed, groups, args.scratch);
        multiply_tile<V, kEncoding, true, V::kBlockRows>(args, args.scratch, tile * kTileRows, begin, end);
      }
    }
  }
}

// Byte products on registers: as many independent sums as a register block has.
template <class V>
uint64_t count_products(size_t rounds) {
  constexpr size_t kSums = 8;
  typename V::A sums[kSums];
  int8_t seed[4] = {1, 2, 3, 4};
  asm volatile("" : "+m"(seed));
  const typename V::B x = V::broadcast4(seed);
#pragma GCC unroll 8
  for (size_t s = 0; s < kSums; ++s) sums[s] = V::dot_first(x, x);
  for (size_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 8
    for (size_t s = 0; s < kSums; ++s) V::dot_again(sums[s], x);
  }
  typename V::A results[kSums];  // what has an address would be in memory all the time
#pragma GCC unroll 8
  for (size_t s = 0; s < kSums; ++s) results[s] = sums[s];
  asm volatile("" : : "m"(results));
  return uint64_t{rounds} * kSums * V::kLanes * 4;
}

template <class V, PackedEncoding kEncoding>
PTERON_INLINE typename V::F load_weights(const std::byte* record, size_t vector) {
  const size_t lane = vector * V::kLanes;
  if constexpr (kEncoding == PackedEncoding::float32) return V::load(reinterpret_cast<const float*>(record) + lane);
  const auto* bits = reinterpret_cast<const uint16_t*>(record) + lane;
  if constexpr (kEncoding == PackedEncoding::float16) return V::load_float16(bits);
  return V::load_bfloat16(bits);
}

template <class V, PackedEncoding kEncoding, int kRows>
void multiply_float_tile(const MatmulArgs& args, const std::byte* tile, size_t output, size_t begin, size_t end) {
  constexpr size_t kRecord = kEncoding == PackedEncoding::float32 ? 64 : 32;
  constexpr int kTileVectors = static_cast<int>(kTileRows / V::kLanes);
  constexpr int kVectors = kRows == 1 ? kTileVectors : std::min<int>(kTileVectors, V::kBlockVectors);
  for (; begin + kRows <= end; begin += kRows) {
    for (int vector = 0; vector < kTileVectors; vector += kVectors) {
      typename V::F acc[kRows][kVectors];
      for (int m = 0; m < kRows; ++m) {
        for (int v = 0; v < kVectors; ++v) acc[m][v] = V::zero();
      }
      const std::byte* record = tile;
      for (size_t k = 0; k < args.columns; ++k, record += kRecord) {
        if constexpr (kRows == 1) __builtin_prefetch(record + kPrefetch);
        typename V::F weights[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) weights[v] = load_weights<V, kEncoding>(record, static_cast<size_t>(vector + v));
#pragma GCC unroll 8
        for (int m = 0; m < kRows; ++m) {
          const auto* x = reinterpret_cast<const float*>(args.x + (begin + static_cast<size_t>(m)) * args.x_stride);
          const typename V::F value = V::set(x[k]);
#pragma GCC unroll 4
          for (int v = 0; v < kVectors; ++v) acc[m][v] = V::fma(weights[v], value, acc[m][v]);
        }
      }
      write_block<V, kRows, kVectors>(args, begin, output + static_cast<size_t>(vector) * V::kLanes, acc);
    }
  }
  if constexpr (kRows > 1) {
    if (begin < end) multiply_float_tile<V, kEncoding, kRows / 2>(args, tile, output, begin, end);
  }
}

template <class V, PackedEncoding kEncoding>
void matmul_floats(const MatmulArgs& args) {
  const size_t tile_bytes = args.columns * (kEncoding == PackedEncoding::float32 ? 64 : 32);
  const size_t together = std::max<size_t>(V::kBlockRows, kRowBytes / args.x_stride / V::kBlockRows * V::kBlockRows);
  for (size_t begin = 0; begin < args.rows; begin += together) {
    for (size_t tile = args.tile_begin; tile < args.tile_end; ++tile) {
      multiply_float_tile<V, kEncoding, V::kBlockRows>(args, args.weights + tile * tile_bytes, tile * kTileRows, begin,
                                                       std::min(args.rows, begin + together));
    }
  }
}

}  // namespace
}  // namespace pteron::kernels::cpu
