// Attention over blocks of slots that begin at multiples of kAttentionBlock: each query has a softmax of its own over a block, then the block is merged
// into what the query has so far. Many queries share a block that is unpacked once (keys transposed); few queries read keys and values in place. Both ways
// do the same float operations in the same order, so a query's result depends on nothing but its own slots. `V` as in simd_matmul.h, and
//   pair_sums(a, b)   in each four lanes: a0 + a1, a2 + a3, b0 + b1, b2 + b3
//   store_fours(y, x) y[0..4) = the sums over x's fours of lanes, halves first
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/cpu/simd_rows.h"

namespace pteron::kernels::cpu {
namespace {

inline constexpr size_t kPackedQueries = 24;  // from so many queries on, a block is unpacked
inline constexpr int kQueryBlock = 6;         // queries of a register block
inline constexpr int kQueriesInPlace = 3;     // the same for a block that is read in place
inline constexpr float kNothing = -std::numeric_limits<float>::infinity();

enum class Element { float32, float16, bfloat16 };

template <Element kElement>
using Stored = std::conditional_t<kElement == Element::float32, float, uint16_t>;

template <class V, Element kElement>
PTERON_INLINE typename V::F load_element(const Stored<kElement>* x) {
  if constexpr (kElement == Element::float32) return V::load(x);
  else if constexpr (kElement == Element::float16) return V::load_float16(x);
  else return V::load_bfloat16(x);
}

template <class V, Element kElement>
PTERON_INLINE typename V::F load_element_some(const Stored<kElement>* x, size_t width) {
  if (width == V::kLanes) return load_element<V, kElement>(x);
  Stored<kElement> padded[V::kLanes] = {};
  std::memcpy(padded, x, width * sizeof *x);
  return load_element<V, kElement>(padded);
}

// Asks for a slot's row one block ahead: what the hardware fetches by itself ends at every page, and a block is two of them. Into the second-level cache,
// since the first has no room for two blocks of keys and values. The address may lie behind the cache; nothing is read.
template <class T>
PTERON_INLINE void fetch_ahead(const T* row, size_t dim) {
  const uintptr_t begin = reinterpret_cast<uintptr_t>(row) + kAttentionBlock * dim * sizeof(T);
  for (size_t at = 0; at < dim * sizeof(T); at += 64) __builtin_prefetch(reinterpret_cast<const void*>(begin + at), 0, 2);
}

// The part of a row's runs inside [begin, end) of the block at `slot`, relative to it.
struct BlockRuns {
  size_t begin[2], end[2];
  bool empty() const { return begin[0] == end[0] && begin[1] == end[1]; }
  size_t first() const { return begin[0] != end[0] ? begin[0] : begin[1]; }
  size_t last() const { return begin[1] != end[1] ? end[1] : end[0]; }
};
inline BlockRuns runs_inside(const SlotRuns& runs, size_t slot, size_t begin, size_t end) {
  BlockRuns out{};
  for (int i = 0; i < 2; ++i) {
    const size_t from = std::max(slot + begin, static_cast<size_t>(runs.begin[i])), to = std::min(slot + end, static_cast<size_t>(runs.end[i]));
    out.begin[i] = from < to ? from - slot : 0;
    out.end[i] = from < to ? to - slot : 0;
  }
  return out;
}

inline void fill_floats(float* begin, float* end, float value) {
  for (; begin < end; ++begin) *begin = value;
}

// Sets what lies outside of (non-empty) runs in [0, slots).
inline void fill_outside(float* scores, const BlockRuns& runs, size_t slots, float value) {
  fill_floats(scores, scores + runs.first(), value);
  if (runs.begin[0] != runs.end[0] && runs.begin[1] != runs.end[1]) fill_floats(scores + runs.end[0], scores + runs.begin[1], value);
  fill_floats(scores + runs.last(), scores + slots, value);
}

// What a block adds: its largest score, and the sum of exp(score - largest).
struct BlockSums {
  float largest, sum;
};

// By what the values so far and those of a block are scaled before they are added.
struct Shares {
  float kept, added;
};

// Merges a block's maximum and sum into a query's.
PTERON_INLINE Shares merge_sums(const BlockSums& block, float& maximum, float& sum) {
  Shares shares{sum == 0 ? 0.0f : 1.0f, 1.0f};
  if (sum == 0 || block.largest > maximum) {
    if (sum != 0) shares.kept = std::exp(maximum - block.largest);
    maximum = block.largest;
  } else if (block.largest != maximum) {
    shares.added = std::exp(block.largest - maximum);
  }
  sum = sum * shares.kept + block.sum * shares.added;
  return shares;
}

// One query's scores of a block, made weights: cap and bias, -infinity outside the runs, exp(score - largest).
template <class V>
BlockSums soften(float* scores, const BlockRuns& runs, size_t slots, float cap, const float* bias) {
  const size_t padded = (slots + V::kLanes - 1) / V::kLanes * V::kLanes;
  if (cap > 0) {
    const typename V::F limit = V::set(cap), factor = V::set(2.0f / cap);
    for (size_t s = 0; s < padded; s += V::kLanes) V::store(scores + s, soft_cap<V>(V::load(scores + s), limit, factor));
  }
  if (bias != nullptr) {
    for (int run = 0; run < 2; ++run) {
      for (size_t s = runs.begin[run]; s < runs.end[run]; ++s) scores[s] += bias[s];
    }
  }
  fill_outside(scores, runs, padded, kNothing);
  typename V::F highest = V::set(kNothing);
  for (size_t s = 0; s < padded; s += V::kLanes) highest = V::max(highest, V::load(scores + s));
  const float largest = V::largest(highest);
  const typename V::F shift = V::set(largest);
  typename V::F total = V::zero();
  for (size_t s = 0; s < padded; s += V::kLanes) {
    const typename V::F weight = exponential<V>(V::sub(V::load(scores + s), shift));
    V::store(scores + s, weight);
    total = V::add(total, weight);
  }
  fill_outside(scores, runs, padded, 0.0f);  // `exponential` makes 1e-38 of -infinity, too little to matter in a sum of 1 and more
  return {largest, V::sum(total)};
}

// The products of elements kFirst, kFirst + lanes, ... of the keys, then of the next kCount - 1 elements' in the same way, halves first: what
// `score_slots` sums in lanes and then across them.
template <class V, int kRows, int kVectors, size_t kFirst, size_t kCount>
PTERON_INLINE void score_part(const float* query, size_t key_dim, const float* keys, typename V::F (&out)[kRows][kVectors]) {
  if constexpr (kCount == 1) {
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) out[m][v] = V::zero();
    }
    for (size_t d = kFirst; d < key_dim; d += V::kLanes) {
      typename V::F key[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) key[v] = V::load(keys + d * kAttentionBlock + static_cast<size_t>(v) * V::kLanes);
#pragma GCC unroll 8
      for (int m = 0; m < kRows; ++m) {
        const typename V::F value = V::set(query[static_cast<size_t>(m) * key_dim + d]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) out[m][v] = V::fma(key[v], value, out[m][v]);
      }
    }
  } else {
    typename V::F second[kRows][kVectors];
    score_part<V, kRows, kVectors, kFirst, kCount / 2>(query, key_dim, keys, out);
    score_part<V, kRows, kVectors, kFirst + kCount / 2, kCount / 2>(query, key_dim, keys, second);
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) out[m][v] = V::add(out[m][v], second[m][v]);
    }
  }
}

// scores[m][s] = q[m] . keys[s], keys transposed: [key_dim][kAttentionBlock].
template <class V, int kRows>
__attribute__((noinline)) void score_block(const float* query, size_t key_dim, const float* keys, size_t slots, float* scores) {
  constexpr int kVectors = 2;
  for (size_t s = 0; s < slots; s += kVectors * V::kLanes) {
    typename V::F sums[kRows][kVectors];
    score_part<V, kRows, kVectors, 0, V::kLanes>(query, key_dim, keys + s, sums);
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        V::store(scores + static_cast<size_t>(m) * kAttentionBlock + s + static_cast<size_t>(v) * V::kLanes, sums[m][v]);
      }
    }
  }
}

// state[m] = state[m] * kept[m] + added[m] * sum over s of weights[m][s] * values[s], for kVectors vectors of the value dimension.
template <class V, Element kElement, int kRows, int kVectors, bool kFetch = false>
PTERON_INLINE void weigh_columns(const float* weights, const Shares* shares, const Stored<kElement>* values, size_t value_dim, size_t begin,
                                 size_t end, size_t column, float* state, size_t state_stride) {
  typename V::F acc[kRows][kVectors];
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) acc[m][v] = V::zero();
  }
  for (size_t s = begin; s < end; ++s) {
    if (kFetch) fetch_ahead(values + s * value_dim, value_dim);
    if constexpr (kRows < kVectors) {
      typename V::F weight[kRows];
#pragma GCC unroll 4
      for (int m = 0; m < kRows; ++m) weight[m] = V::set(weights[static_cast<size_t>(m) * kAttentionBlock + s]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        const typename V::F value = load_element<V, kElement>(values + s * value_dim + column + static_cast<size_t>(v) * V::kLanes);
#pragma GCC unroll 4
        for (int m = 0; m < kRows; ++m) acc[m][v] = V::fma(value, weight[m], acc[m][v]);
      }
    } else {
      typename V::F value[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) value[v] = load_element<V, kElement>(values + s * value_dim + column + static_cast<size_t>(v) * V::kLanes);
#pragma GCC unroll 8
      for (int m = 0; m < kRows; ++m) {
        const typename V::F weight = V::set(weights[static_cast<size_t>(m) * kAttentionBlock + s]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) acc[m][v] = V::fma(value[v], weight, acc[m][v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      float* const to = state + static_cast<size_t>(m) * state_stride + column + static_cast<size_t>(v) * V::kLanes;
      V::store(to, V::fma(V::load(to), V::set(shares[m].kept), V::mul(acc[m][v], V::set(shares[m].added))));
    }
  }
}

template <class V, Element kElement, int kRows, bool kFetch>
PTERON_INLINE void weigh_block(const float* weights, const Shares* shares, const Stored<kElement>* values, size_t value_dim, size_t begin,
                               size_t end, float* state) {
  const size_t stride = attention_state_floats(value_dim);
  size_t column = 0;
  if constexpr (kFetch && kRows < 4) {
    // Few queries leave registers for more columns at a time.
    if (4 * V::kLanes <= value_dim) {
      weigh_columns<V, kElement, kRows, 4, true>(weights, shares, values, value_dim, begin, end, column, state, stride);
      for (column = 4 * V::kLanes; column + 4 * V::kLanes <= value_dim; column += 4 * V::kLanes) {
        weigh_columns<V, kElement, kRows, 4>(weights, shares, values, value_dim, begin, end, column, state, stride);
      }
    }
  }
  if (kFetch && column == 0 && 2 * V::kLanes <= value_dim) {
    weigh_columns<V, kElement, kRows, 2, true>(weights, shares, values, value_dim, begin, end, column, state, stride);
    column = 2 * V::kLanes;
  }
  for (; column + 2 * V::kLanes <= value_dim; column += 2 * V::kLanes) {
    weigh_columns<V, kElement, kRows, 2>(weights, shares, values, value_dim, begin, end, column, state, stride);
  }
  for (; column + V::kLanes <= value_dim; column += V::kLanes) {
    weigh_columns<V, kElement, kRows, 1>(weights, shares, values, value_dim, begin, end, column, state, stride);
  }
  if (column == value_dim) return;
  const size_t width = value_dim - column;
  for (int m = 0; m < kRows; ++m) {
    typename V::F acc = V::zero();
    for (size_t s = begin; s < end; ++s) {
      acc = V::fma(load_element_some<V, kElement>(values + s * value_dim + column, width), V::set(weights[static_cast<size_t>(m) * kAttentionBlock + s]), acc);
    }
    float* const to = state + static_cast<size_t>(m) * stride + column;
    V::store_some(to, width, V::fma(V::load_some(to, width), V::set(shares[m].kept), V::mul(acc, V::set(shares[m].added))));
  }
}

// The scores of kRows queries against keys in place, four slots at a time: sums in lanes, then across them. Slots outside of [begin, end) that share a
// four with one inside get some score; no query sees them.
template <class V, Element kElement, int kRows>
PTERON_INLINE void score_in_place(const float* query, size_t key_dim, const Stored<kElement>* keys, size_t begin, size_t end, float* scores) {
  constexpr int kSlots = 4;
  for (size_t first = begin / kSlots * kSlots; first < end; first += kSlots) {
    const Stored<kElement>* key[kSlots];
    typename V::F acc[kRows][kSlots];
#pragma GCC unroll 4
    for (int s = 0; s < kSlots; ++s) {
      key[s] = keys + std::clamp(first + static_cast<size_t>(s), begin, end - 1) * key_dim;
      fetch_ahead(key[s], key_dim);
#pragma GCC unroll 4
      for (int m = 0; m < kRows; ++m) acc[m][s] = V::zero();
    }
    size_t d = 0;
    for (; d + V::kLanes <= key_dim; d += V::kLanes) {
      typename V::F value[kRows];
#pragma GCC unroll 4
      for (int m = 0; m < kRows; ++m) value[m] = V::load(query + static_cast<size_t>(m) * key_dim + d);
#pragma GCC unroll 4
      for (int s = 0; s < kSlots; ++s) {
        const typename V::F element = load_element<V, kElement>(key[s] + d);
#pragma GCC unroll 4
        for (int m = 0; m < kRows; ++m) acc[m][s] = V::fma(element, value[m], acc[m][s]);
      }
    }
    if (d < key_dim) {
#pragma GCC unroll 4
      for (int s = 0; s < kSlots; ++s) {
        const typename V::F element = load_element_some<V, kElement>(key[s] + d, key_dim - d);
#pragma GCC unroll 4
        for (int m = 0; m < kRows; ++m) acc[m][s] = V::fma(element, V::load_some(query + static_cast<size_t>(m) * key_dim + d, key_dim - d), acc[m][s]);
      }
    }
#pragma GCC unroll 4
    for (int m = 0; m < kRows; ++m) {
      V::store_fours(scores + static_cast<size_t>(m) * kAttentionBlock + first,
                     V::pair_sums(V::pair_sums(acc[m][0], acc[m][1]), V::pair_sums(acc[m][2], acc[m][3])));
    }
  }
}

template <class V, Element kElement>
struct Attention {
  using T = Stored<kElement>;
  const AttentionArgs& args;
  float *queries, *keys, *values, *scores;  // scratch

  // The slots of the block at `slot` that the call is about, relative to it.
  size_t first_of(size_t slot) const { return args.slot_begin > slot ? args.slot_begin - slot : 0; }
  size_t last_of(size_t slot) const { return std::min(args.slot_end - slot, kAttentionBlock); }

  // Queries [first, first + kRows) against the block at `slot`; keys and values unpacked where kPacked.
  template <bool kPacked, int kRows>
  void block(size_t first, size_t slot) {
    BlockRuns runs[kRows];
    size_t begin = kAttentionBlock, end = 0;
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      runs[m] = runs_inside(args.runs[(first + static_cast<size_t>(m)) / args.heads], slot, first_of(slot), last_of(slot));
      if (runs[m].empty()) continue;
      begin = std::min(begin, runs[m].first());
      end = std::max(end, runs[m].last());
    }
    if (begin >= end) return;
    const float* query = queries + first * args.key_dim;
    if constexpr (kPacked) {
      score_block<V, kRows>(query, args.key_dim, keys, end, scores);
    } else {
      score_in_place<V, kElement, kRows>(query, args.key_dim, static_cast<const T*>(args.keys) + slot * args.key_dim, begin, end, scores);
    }
    const size_t stride = attention_state_floats(args.value_dim);
    float* state = args.state + first * stride;
    Shares shares[kRows];
#pragma GCC unroll 8
    for (int m = 0; m < kRows; ++m) {
      const size_t row = static_cast<size_t>(m);
      float* const own = scores + row * kAttentionBlock;
      float* const totals = state + row * stride + args.value_dim;
      if (runs[m].empty()) {
        shares[m] = {1, 0};
        fill_floats(own + begin, own + end, 0);
        continue;
      }
      const float* bias = args.bias != nullptr ? args.bias + (first + row) % args.heads * args.bias_stride + slot : nullptr;
      shares[m] = merge_sums(soften<V>(own, runs[m], end, args.softcap, bias), totals[0], totals[1]);
    }
    if constexpr (kPacked) {
      weigh_block<V, Element::float32, kRows, false>(scores, shares, values, args.value_dim, begin, end, state);
    } else {
      weigh_block<V, kElement, kRows, true>(scores, shares, static_cast<const T*>(args.values) + slot * args.value_dim, args.value_dim, begin, end, state);
    }
  }

  template <bool kPacked, int kRows>
  void all_queries(size_t first, size_t count, size_t slot) {
    for (; first + kRows <= count; first += kRows) block<kPacked, kRows>(first, slot);
    if constexpr (kRows > 1) {
      if (first < count) all_queries<kPacked, kPacked ? kRows / 2 : kRows - 1>(first, count, slot);
    }
  }

  void unpack(size_t slot, size_t slots) {
    const T* key = static_cast<const T*>(args.keys) + slot * args.key_dim;
    for (size_t s = 0; s < slots; ++s, key += args.key_dim) {
      each_vector<V>(args.key_dim, [&](size_t d, size_t width) {
        float lanes[V::kLanes];
        V::store(lanes, load_element_some<V, kElement>(key + d, width));
        for (size_t i = 0; i < width; ++i) keys[(d + i) * kAttentionBlock + s] = lanes[i];
      });
    }
    for (size_t d = 0; d < args.key_dim && slots < kAttentionBlock; ++d) {
      for (size_t s = slots; s < kAttentionBlock; ++s) keys[d * kAttentionBlock + s] = 0;
    }
    const T* value = static_cast<const T*>(args.values) + slot * args.value_dim;
    each_vector<V>(slots * args.value_dim,
                   [&](size_t i, size_t width) { V::store_some(values + i, width, load_element_some<V, kElement>(value + i, width)); });
  }

  void prepare(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      const float* from = args.query + i / args.heads * args.query_stride + i % args.heads * args.key_dim;
      for (size_t d = 0; d < args.key_dim; ++d) queries[i * args.key_dim + d] = from[d] * args.scale;
      float* state = args.state + i * attention_state_floats(args.value_dim);
      fill_floats(state, state + args.value_dim, 0.0f);
      state[args.value_dim] = kNothing;
      state[args.value_dim + 1] = 0;
    }
  }

  bool seen(size_t slot) const {
    for (size_t row = 0; row < args.rows; ++row) {
      if (!runs_inside(args.runs[row], slot, first_of(slot), last_of(slot)).empty()) return true;
    }
    return false;
  }

  void run() {
    const size_t count = args.rows * args.heads;
    prepare(count);
    for (size_t slot = args.slot_begin / kAttentionBlock * kAttentionBlock; slot < args.slot_end; slot += kAttentionBlock) {
      if (!seen(slot)) continue;
      if (count >= kPackedQueries) {
        unpack(slot, last_of(slot));
        all_queries<true, kQueryBlock>(0, count, slot);
      } else {
        all_queries<false, kQueriesInPlace>(0, count, slot);
      }
    }
  }
};

template <class V, Element kElement>
void attend(const AttentionArgs& args) {
  float* const keys = args.scratch;
  float* const values = keys + kAttentionBlock * args.key_dim;
  float* const scores = values + kAttentionBlock * args.value_dim;
  Attention<V, kElement>{args, scores + kAttentionBlock * 8, keys, values, scores}.run();
}

template <class V>
void join_splits(const AttentionJoinArgs& args) {
  const size_t n = args.value_dim;
  float maximum = kNothing, sum = 0;
  fill_floats(args.out, args.out + n, 0.0f);
  for (size_t i = 0; i < args.splits; ++i) {
    const float* state = args.state + i * args.split_stride;
    if (state[n + 1] == 0) continue;
    const Shares shares = merge_sums({state[n], state[n + 1]}, maximum, sum);
    const typename V::F kept = V::set(shares.kept), added = V::set(shares.added);
    each_vector<V>(n, [&](size_t d, size_t width) {
      V::store_some(args.out + d, width, V::fma(V::load_some(args.out + d, width), kept, V::mul(V::load_some(state + d, width), added)));
    });
  }
  const typename V::F factor = V::set(1.0f / sum);
  each_vector<V>(n, [&](size_t d, size_t width) { V::store_some(args.out + d, width, V::mul(V::load_some(args.out + d, width), factor)); });
}

}  // namespace
}  // namespace pteron::kernels::cpu
