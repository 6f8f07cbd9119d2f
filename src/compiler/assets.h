// What goes into a program beside its graphs: tokenizer, chat template, generation configuration, model card.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compiler/request.h"
#include "emit/emit.h"
#include "import/checkpoint.h"

namespace pteron::compiler {

// Special tokens, from the generation configuration, else from config.json.
struct SpecialTokens {
  std::optional<int64_t> bos;
  std::vector<int64_t> eos;
  int64_t pad = 0;  // an id below the vocabulary's size
};
// A token id that is no id of the vocabulary is left out; a field of a wrong type is an error.
Result<SpecialTokens> special_tokens(const importer::Checkpoint& checkpoint, const nlohmann::json& generation_config, int64_t vocab);

// The generation configuration to use: the request's file, else the checkpoint's; null where there is none. What a session could not sample with, and
// end-of-text ids that are no ids of the vocabulary, are errors.
Result<nlohmann::json> generation_config(const CompileRequest& request, const importer::Checkpoint& checkpoint, int64_t vocab);

// Named data `tokenizer`, `tokenizer.json`, `chat_template`, `generation_config` and `model_card`, as far as they exist. Nothing for a request without assets, but
// the model card is always there. `options` is what the card says about the export. No entry depends on when or where it was made. `progress` is told the bytes
// of the source that were digested, of all (0 of 0 before), several times a second; its error ends the work.
Result<std::vector<emit::NamedBytes>> make_assets(const CompileRequest& request, const importer::Checkpoint& checkpoint, const nlohmann::json& generation,
                                                  const nlohmann::ordered_json& options, std::vector<std::string>& warnings,
                                                  const importer::DigestProgress& progress = {});

emit::NamedBytes named_text(std::string key, std::string text);

}  // namespace pteron::compiler
