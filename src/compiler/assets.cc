#include "compiler/assets.h"

#include <memory>

#include "import/json_text.h"
#include "models/config.h"
#include "text/chat_template.h"
#include "text/tokenizer_compile.h"

namespace pteron::compiler {
namespace {

using Json = nlohmann::json;

// Ids under a key: one or a list.
Result<std::vector<int64_t>> ids_under(const Json& object, const char* key, int64_t vocab) {
  std::vector<int64_t> out;
  if (!object.is_object() || !object.contains(key) || object[key].is_null()) return out;
  const Json& value = object[key];
  for (const Json& id : value.is_array() ? value : Json::array({value})) {
    if (!id.is_number_integer()) return Status::error(Code::invalid_data, "a token id has a wrong type", {.field = key, .expected = "an integer", .found = id.dump()});
    const auto number = id.get<int64_t>();
    if (number >= 0 && number < vocab) out.push_back(number);
  }
  return out;
}

// What the run side would refuse in a generation configuration is refused here, where it can still be mended.
Status check_generation(const Json& generation, const std::string& file, int64_t vocab) {
  models::Config config(generation, file);
  const auto number = [&](const char* key, std::string_view range, auto good) {
    const auto value = config.optional_number(key);
    if (value && !good(*value)) config.fail(key, "a field has a wrong value", std::string(range), generation[key].dump());
  };
  const auto share = [](double value) { return value >= 0 && value <= 1; };
  number("temperature", "at least 0", [](double value) { return value >= 0; });
  number("top_p", "0 to 1", share);
  number("min_p", "0 to 1", share);
  number("typical_p", "above 0, at most 1", [&](double value) { return share(value) && value > 0; });
  number("repetition_penalty", "above 0", [](double value) { return value > 0; });
  const auto integer = [&](const char* key, const Json& value, int64_t end) {
    if (value.is_number_integer() && value >= 0 && value < end) return;
    config.fail(key, "a field has a wrong value", "an integer from 0 to " + std::to_string(end - 1), value.dump());
  };
  config.boolean("do_sample", false);
  if (const Json* k = config.find("top_k"); k != nullptr) integer("top_k", *k, int64_t{1} << 31);
  if (const Json* ends = config.find("eos_token_id"); ends != nullptr) {
    for (const Json& id : ends->is_array() ? *ends : Json::array({*ends})) integer("eos_token_id", id, vocab);
  }
  return config.status();
}

emit::NamedBytes named_bytes(std::string key, std::vector<std::byte> bytes) {
  auto held = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {std::move(key), held->size(), [held](const ByteSink& sink) { return sink(*held); }, 64};
}

// The tokenizer's compiled table and its source.
Status add_tokenizer(const CompileRequest& request, const importer::Checkpoint& checkpoint, const importer::DigestProgress& progress, std::vector<emit::NamedBytes>& out,
                     std::vector<std::string>& warnings) {
  const text::GoOn go_on = [&] { return progress ? progress(0, 0) : Status(); };
  const importer::TokenizerAssets& assets = checkpoint.tokenizer;
  std::string source = assets.tokenizer_json;
  if (!request.tokenizer.empty()) {
    PTERON_ASSIGN(source, read_text_file(request.tokenizer));
    if (source.empty()) return Status::error(Code::invalid_data, "an empty file", {.file = request.tokenizer, .expected = "a tokenizer.json", .found = "0 bytes"});
  }
  if (!source.empty()) {
    const std::string config = assets.tokenizer_config.is_object() ? assets.tokenizer_config.dump() : "";
    auto table = text::compile_tokenizer_json(source, config, go_on);
    if (!table.ok()) return std::move(table).status().in_file(request.tokenizer.empty() ? checkpoint.source + "/tokenizer.json" : request.tokenizer);
    out.push_back(named_bytes("tokenizer", std::move(table).value()));
    out.push_back(named_text("tokenizer.json", std::move(source)));
  } else if (assets.gguf) {
    auto table = text::compile_gguf_vocabulary(*assets.gguf, go_on);
    if (!table.ok()) return std::move(table).status().in_file(checkpoint.source);
    out.push_back(named_bytes("tokenizer", std::move(table).value()));
  } else {
    warnings.push_back("the source has no tokenizer; the program takes token ids only");
  }
  return {};
}

Status add_model_card(const CompileRequest& request, const importer::Checkpoint& checkpoint, const nlohmann::ordered_json& options, const importer::DigestProgress& progress,
                      std::vector<emit::NamedBytes>& out) {
  nlohmann::ordered_json card;
  card["name"] = checkpoint.name;
  const Json architectures = checkpoint.config.value("architectures", Json::array());
  card["architecture"] = architectures.is_array() && !architectures.empty() ? nlohmann::ordered_json(architectures[0]) : nlohmann::ordered_json();
  if (!checkpoint.licence.empty()) card["licence"] = checkpoint.licence;
  card["sources"] = nlohmann::ordered_json::array();
  PTERON_ASSIGN(const auto digests, importer::source_digests(checkpoint, request.threads, progress));
  for (const auto& digest : digests) card["sources"].push_back({{"file", digest.name}, {"sha256", digest.sha256}});
  card["exporter"] = {{"name", "pteron"}, {"version", PTERON_VERSION}};
  card["options"] = options;
  out.push_back(named_text("model_card", card.dump()));
  return {};
}

}  // namespace

emit::NamedBytes named_text(std::string key, std::string text) {
  auto held = std::make_shared<const std::string>(std::move(text));
  return {std::move(key), held->size(), [held](const ByteSink& sink) { return sink(as_bytes(*held)); }, 64};
}

Result<SpecialTokens> special_tokens(const importer::Checkpoint& checkpoint, const Json& generation, int64_t vocab) {
  SpecialTokens out;
  for (const Json* object : {&generation, &checkpoint.config}) {
    PTERON_ASSIGN(const auto bos, ids_under(*object, "bos_token_id", vocab));
    PTERON_ASSIGN(const auto eos, ids_under(*object, "eos_token_id", vocab));
    PTERON_ASSIGN(const auto pad, ids_under(*object, "pad_token_id", vocab));
    if (!out.bos && !bos.empty()) out.bos = bos[0];
    if (out.eos.empty()) out.eos = eos;
    if (out.pad == 0 && !pad.empty()) out.pad = pad[0];
  }
  return out;
}

Result<Json> generation_config(const CompileRequest& request, const importer::Checkpoint& checkpoint, int64_t vocab) {
  std::string file = request.generation_config;
  Json generation = checkpoint.generation_config;
  if (!file.empty()) {
    PTERON_ASSIGN(generation, importer::read_json_object(file));
  } else {
    file = checkpoint.tokenizer.gguf ? checkpoint.source : checkpoint.source + "/generation_config.json";
  }
  if (!generation.is_null()) PTERON_TRY(check_generation(generation, file, vocab));
  return generation;
}

Result<std::vector<emit::NamedBytes>> make_assets(const CompileRequest& request, const importer::Checkpoint& checkpoint, const Json& generation,
                                                  const nlohmann::ordered_json& options, std::vector<std::string>& warnings,
                                                  const importer::DigestProgress& progress) {
  std::vector<emit::NamedBytes> out;
  if (request.assets) {
    PTERON_TRY(add_tokenizer(request, checkpoint, progress, out, warnings));
    std::string chat = checkpoint.chat_template;
    if (!request.chat_template.empty()) {
      PTERON_ASSIGN(chat, read_text_file(request.chat_template));
      if (auto parsed = text::ChatTemplate::parse(chat); !parsed.ok()) return std::move(parsed).status().in_file(request.chat_template);
    } else if (auto parsed = text::ChatTemplate::parse(chat); !parsed.ok()) {
      warnings.push_back("the source's chat template cannot be used: " + parsed.status().message());
    }
    if (!chat.empty()) out.push_back(named_text("chat_template", std::move(chat)));
    if (generation.is_object()) out.push_back(named_text("generation_config", generation.dump()));
  }
  PTERON_TRY(add_model_card(request, checkpoint, options, progress, out));
  return out;
}

}  // namespace pteron::compiler
