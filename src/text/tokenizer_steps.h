// The normalizer, pre-tokenizer, post-processor and decoder of a tokenizer.json, as steps of the table.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/json_node.h"
#include "text/token_table_writer.h"

namespace pteron::text {

// Patterns that several sources of tokenizers mean by a name.
inline constexpr std::string_view kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Appends the steps of one component; a component of steps ("Sequence") appends all of theirs. `depth` counts nested components.
Status append_normalizer(const JsonNode& node, std::vector<ContentOp>& out, int depth = 0);
Status append_pre_tokenizer(const JsonNode& node, std::vector<ContentOp>& out, int depth = 0);
Status append_decoder(const JsonNode& node, std::vector<ContentOp>& out, int depth = 0);
// Puts what the post-processor adds around a single text around the ids given.
Status append_post_processor(const JsonNode& node, std::vector<uint32_t>& prefix, std::vector<uint32_t>& suffix, int depth = 0);

// A step that cuts by an expression in Oniguruma's syntax; the error (unsupported) tells what the build cannot do.
Result<ContentOp> pattern_split(std::string_view expression, SplitBehavior behavior, bool invert = false);

}  // namespace pteron::text
