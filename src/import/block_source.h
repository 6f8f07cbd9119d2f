// A block-quantised tensor of a GGUF file as a recipe.
#pragma once

#include <memory>
#include <vector>

#include "core/constant_source.h"
#include "import/ggml_blocks.h"

namespace pteron::importer {

// `bytes` are the tensor's blocks, row by row; the last size of `shape` must be a multiple of the block's elements. `owner` keeps them
// alive. Streams dequantised float32.
Result<ConstantPtr> block_source(const BlockFormat& format, std::vector<int64_t> shape, ByteSpan bytes, std::shared_ptr<const void> owner);

// Bytes that a tensor of that format and shape takes; an error where the last size does not hold whole blocks or a product overflows.
Result<uint64_t> block_byte_count(const BlockFormat& format, const std::vector<int64_t>& shape);

}  // namespace pteron::importer
