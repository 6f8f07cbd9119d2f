// Recipes made of other recipes: slices, permutations, transposes, casts. Nothing is materialised before it is streamed.
#pragma once

#include <cstdint>
#include <vector>

#include "core/constant_source.h"

namespace pteron {

// A source over bytes that `owner` keeps alive, or over an own copy of values. The size of `bytes` must be that of `shape` and `dtype`.
Result<ConstantPtr> constant_from_bytes(ScalarType dtype, std::vector<int64_t> shape, ByteSpan bytes, std::shared_ptr<const void> owner);
Result<ConstantPtr> constant_from_values(std::vector<int64_t> shape, std::vector<float> values);

// Rows [begin, end) of the first dimension. Keeps the block encoding.
Result<ConstantPtr> slice_rows(ConstantPtr source, int64_t begin, int64_t end);

// Row i of the result is row `rows[i]` of the source; rows may repeat or be left out. Keeps the block encoding.
Result<ConstantPtr> select_rows(ConstantPtr source, std::vector<int64_t> rows);

// The sources one below the other: equal dtypes and sizes after the first. Keeps the block encoding where all have the same.
Result<ConstantPtr> concat_rows(std::vector<ConstantPtr> sources);

// [a, b] -> [b, a]. Streaming holds two copies of the tensor. The transpose of a transpose is the source itself.
Result<ConstantPtr> transpose(ConstantPtr source);

// Elements as float32, float16 or bfloat16, through float32, rounding to nearest even. A block-quantised source cast to float32 is the
// dequantised source: the same values, encoding `none`.
Result<ConstantPtr> cast(ConstantPtr source, ScalarType dtype);

// Fused attention weights or biases, taken apart. `heads` query heads and `kv_heads` key and value heads have `head_dim` rows each.
enum class FusedLayout : uint8_t {
  blocks,    // [all q | all k | all v]: Phi3, Falcon with multi-query, GPT-2 after transposing
  per_head,  // per kv head [its q heads | k | v]: GPT-NeoX and old Falcon (one q head each), new Falcon
};
struct FusedParts {
  ConstantPtr query, key, value;
};
Result<FusedParts> split_fused_qkv(const ConstantPtr& source, FusedLayout layout, int64_t heads, int64_t kv_heads, int64_t head_dim);

// Contiguous elements to float32; false for a type that is not a float, an integer or bool.
bool convert_to_f32(ScalarType from, ByteSpan bytes, float* out);
// Float32 to contiguous float32, float16 or bfloat16 elements; false for another type.
bool convert_from_f32(ScalarType to, const float* values, size_t count, std::byte* out);

// Elements and bytes of a shape; an error for a negative size or a product that overflows.
Result<uint64_t> element_count(const std::vector<int64_t>& shape);
Result<uint64_t> byte_count(ScalarType dtype, const std::vector<int64_t>& shape);

// "[2, 3]", for messages.
std::string shape_text(const std::vector<int64_t>& shape);

}  // namespace pteron
