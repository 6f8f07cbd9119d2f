// The block formats of GGUF tensors: how many elements and bytes a block has, and its values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/constant_source.h"

namespace pteron::importer {

struct BlockFormat {
  BlockEncoding encoding;
  std::string_view name;  // as ggml spells it: "Q4_K"
  uint32_t elements;      // in a block
  uint32_t bytes;         // of a block
  // The values of `blocks` consecutive blocks, in storage order. Exactly one rounding a value: scales and quants multiply without loss.
  void (*decode)(const std::byte* from, size_t blocks, float* out);
};

// The format of an encoding; null for `none`.
const BlockFormat* block_format(BlockEncoding encoding);

}  // namespace pteron::importer
