// Recipes made of other recipes: slices, permutations, transposes, casts. Nothing is materialised before it is streamed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/constant_source.h"

namespace pteron {

// A contiguous source over bytes that `owner` keeps alive (or, for `constant_from_values`, over an own copy).
// The size of `bytes` must be that of `shape` and `dtype`.
Result<ConstantPtr> constant_from_bytes(ScalarType dtype, std::vector<int64_t> shape, ByteSpan bytes, std::shared_ptr<const void> owner);
Result<ConstantPtr> constant_from_values(std::vector<int64_t> shape, std::vector<float> values);

// Rows [begin, end) of the first dimension. Keeps the block encoding.
Result<ConstantPtr> slice_rows(ConstantPtr source, int64_t begin, int64_t end);

// Row i of the result is row `rows[i]` of the source; rows may repeat or be left out. Keeps the block encoding.
Result<ConstantPtr> select_rows(ConstantPtr source, std::vector<int64_t> rows);

// The sources below each other: equal trailing sizes and dtypes. Keeps the block encoding where all have the same.
Result<ConstantPtr> concat_rows(std::vector<ConstantPtr> sources);

// [a, b] -> [b, a]. Streaming holds one copy of the tensor.
Result<ConstantPtr> transpose(ConstantPtr source);

// The same elements in another shape of equal count. Keeps the block encoding where the last dimension stays.
Result<ConstantPtr> reshape(ConstantPtr source, std::vector<int64_t> shape);

// Elements converted to float32, float16, bfloat16 or float64, rounding to nearest even; from float types and bool or integers. A block-quantised
// source cast to float32 is the dequantised source: same values, encoding `none`.
Result<ConstantPtr> cast(ConstantPtr source, ScalarType dtype);

// Fused attention weights or biases of `heads` query and `kv_heads` key and value heads with `head_dim` rows each, taken apart.
enum class FusedLayout : uint8_t {
  blocks,    // [all q | all k | all v]: Phi3, GPT-2 after transposing, Falcon with multi-query
  per_head,  // per kv head [its q heads | k | v]: GPT-NeoX, old Falcon (one q head each), new Falcon
};
struct FusedParts {
  ConstantPtr query, key, value;
};
Result<FusedParts> split_fused_qkv(const ConstantPtr& source, FusedLayout layout, int64_t heads, int64_t kv_heads, int64_t head_dim);

// Conversions of contiguous elements, fast enough for whole checkpoints. False for a type that is not a float, an integer or bool.
bool convert_to_f32(ScalarType from, const std::byte* bytes, size_t count, float* out);
// To float32, float16, bfloat16 or float64; false for another type.
bool convert_from_f32(ScalarType to, const float* values, size_t count, std::byte* out);

// Checked byte and element counts of a shape; an error for negative or overflowing sizes.
Result<uint64_t> element_count(const std::vector<int64_t>& shape);
Result<uint64_t> byte_count(ScalarType dtype, const std::vector<int64_t>& shape);

}  // namespace pteron
