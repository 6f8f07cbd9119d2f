// Token ids and logits as the whole folder names them.
#pragma once

#include <cstdint>
#include <span>

namespace pteron {
using TokenId = int32_t;
}

namespace pteron::llm {

// Logits of one row, float32 [V]; valid until the next call of the object that gave them.
using LogitsView = std::span<const float>;

}  // namespace pteron::llm
