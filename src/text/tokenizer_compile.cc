#include "text/tokenizer_compile.h"

#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "text/json_node.h"
#include "text/tokenizer_steps.h"
#include "text/token_table_writer.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr char32_t kSpaceCharacter = 0x2581;  // "▁"

// Ids may have gaps, but not such that the tables by id become much larger than the file.
constexpr size_t max_id(size_t tokens) { return 4 * tokens + 65536; }

class JsonCompiler {
 public:
  JsonCompiler(JsonNode root, const GoOn& go_on) : root_(std::move(root)), go_on_(go_on) {}

  Result<std::vector<std::byte>> compile(const std::optional<JsonNode>& config) {
    PTERON_ASSIGN(const JsonNode model, root_.get("model"));
    PTERON_TRY(read_model(model));
    PTERON_TRY(read_added());
    if (config) PTERON_TRY(read_config(*config));
    if (const auto node = root_.find("normalizer")) PTERON_TRY(append_normalizer(*node, content_.normalizer));
    if (const auto node = root_.find("pre_tokenizer")) PTERON_TRY(append_pre_tokenizer(*node, content_.pre_tokenizer));
    if (const auto node = root_.find("decoder")) {
      PTERON_TRY(append_decoder(*node, content_.decoder));
    } else {
      content_.model_flags |= kJoinWithSpaces;
    }
    if (const auto node = root_.find("post_processor")) {
      PTERON_TRY(append_post_processor(*node, content_.prefix_ids, content_.suffix_ids));
      for (const auto* ids : {&content_.prefix_ids, &content_.suffix_ids}) {
        for (const uint32_t id : *ids) {
          if (id >= content_.tokens.size() || content_.tokens[id].flags == 0) {
            return Status::error(Code::invalid_data, "tokenizer", {.field = "post_processor", .expected = "ids of tokens", .found = std::to_string(id)});
          }
        }
      }
    }
    content_.unk = content_.unk == kNoId ? content_.model_unk : content_.unk;
    content_.space_character = kSpaceCharacter;
    return write_token_table(content_);
  }

 private:
  Status read_model(const JsonNode& model) {
    PTERON_ASSIGN(const std::string type, model_type(model));
    if (type == "Unigram") return read_unigram(model);
    PTERON_TRY(read_vocabulary(model));
    PTERON_ASSIGN(const std::string unknown, model.text_or("unk_token", ""));
    content_.model_unk = model.find("unk_token") ? find(unknown) : kNoId;
    if (type == "BPE") return read_bpe(model);
    if (type == "WordLevel") {
      content_.model = ModelKind::word_level;
      return {};
    }
    content_.model = ModelKind::word_piece;
    PTERON_ASSIGN(content_.subword_prefix, model.text_or("continuing_subword_prefix", "##"));
    PTERON_ASSIGN(content_.max_word_characters, model.number_or("max_input_chars_per_word", 100));
    return {};
  }

  // Old files leave the type out; then the members tell.
  static Result<std::string> model_type(const JsonNode& model) {
    if (const auto type = model.find("type")) {
      PTERON_ASSIGN(std::string name, type->text());
      for (const std::string_view known : {"BPE", "Unigram", "WordPiece", "WordLevel"}) {
        if (name == known) return name;
      }
      return type->unsupported("BPE, Unigram, WordLevel or WordPiece");
    }
    if (model.find("merges")) return std::string("BPE");
    if (model.find("unk_id")) return std::string("Unigram");
    return std::string(model.find("max_input_chars_per_word") ? "WordPiece" : "WordLevel");
  }

  Status put_token(uint32_t id, std::string_view text, uint8_t flags, const std::string& path) {
    if (id >= content_.tokens.size()) content_.tokens.resize(size_t{id} + 1);
    ContentToken& token = content_.tokens[id];
    if (token.flags != 0) {
      return Status::error(Code::invalid_data, "tokenizer", {.field = path, .expected = "one token for id " + std::to_string(id), .found = token.text + " and " + std::string(text)});
    }
    token.text = text;
    token.flags = flags;
    return {};
  }

  uint32_t find(std::string_view text) const {
    const auto found = ids_.find(text);
    return found == ids_.end() ? kNoId : found->second;
  }

  Status read_vocabulary(const JsonNode& model) {
    PTERON_ASSIGN(const JsonNode node, model.get("vocab"));
    simdjson::dom::object vocabulary;
    if (node.element().get(vocabulary) != simdjson::SUCCESS) return node.expected("an object of tokens and ids");
    size_t count = 0;
    for (const auto field : vocabulary) {
      (void)field;
      ++count;
    }
    for (const auto field : vocabulary) {
      uint64_t id = 0;
      if (field.value.get(id) != simdjson::SUCCESS || id >= max_id(count)) {
        return JsonNode(field.value, node.path() + "." + std::string(field.key)).expected("an id below " + std::to_string(max_id(count)));
      }
      PTERON_TRY(put_token(static_cast<uint32_t>(id), field.key, kTokenExists | kTokenInModel, node.path()));
      if (!ids_.emplace(field.key, static_cast<uint32_t>(id)).second) {
        return Status::error(Code::invalid_data, "tokenizer", {.field = node.path(), .expected = "each token once", .found = std::string(field.key) + " twice"});
      }
    }
    return {};
  }

  Status read_bpe(const JsonNode& model) {
    content_.model = ModelKind::bpe;
    if (const auto dropout = model.find("dropout")) {
      double value = 0;
      if (dropout->element().get(value) != simdjson::SUCCESS || value != 0) return dropout->unsupported("null");
    }
    const auto flag = [&](std::string_view key, ModelFlags bit) -> Status {
      PTERON_ASSIGN(const bool set, model.boolean_or(key, false));
      if (set) content_.model_flags |= bit;
      return {};
    };
    PTERON_TRY(flag("fuse_unk", kFuseUnknown));
    PTERON_TRY(flag("byte_fallback", kByteFallback));
    PTERON_TRY(flag("ignore_merges", kIgnoreMerges));
    PTERON_ASSIGN(content_.subword_prefix, model.text_or("continuing_subword_prefix", ""));
    PTERON_ASSIGN(content_.word_suffix, model.text_or("end_of_word_suffix", ""));
    if (model.find("unk_token") && content_.model_unk == kNoId) return model.get("unk_token").value().expected("a token of the vocabulary");
    return read_merges(model);
  }

  // ["left", "right"], or "left right" in older files.
  Status read_merges(const JsonNode& model) {
    PTERON_ASSIGN(const JsonNode node, model.get("merges"));
    simdjson::dom::array merges;
    if (node.element().get(merges) != simdjson::SUCCESS) return node.expected("a list");
    std::string joined;
    for (const simdjson::dom::element merge : merges) {
      if (go_on_ && content_.merges.size() % 4096 == 0) PTERON_TRY(go_on_());
      const auto here = [&] { return JsonNode(merge, node.path() + "[" + std::to_string(content_.merges.size()) + "]"); };
      std::string_view left, right;
      simdjson::dom::array pair;
      if (merge.get(left) == simdjson::SUCCESS) {
        const size_t space = left.find(' ');
        if (space == std::string_view::npos || left.find(' ', space + 1) != std::string_view::npos) return here().expected("two tokens with a space between");
        right = left.substr(space + 1);
        left = left.substr(0, space);
      } else if (merge.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(left) != simdjson::SUCCESS ||
                 pair.at(1).get(right) != simdjson::SUCCESS) {
        return here().expected("two tokens");
      }
      if (!right.starts_with(content_.subword_prefix)) return here().expected("a second token that begins with " + content_.subword_prefix);
      joined.assign(left).append(right.substr(content_.subword_prefix.size()));
      const ContentMerge ids{find(left), find(right), find(joined)};
      for (const auto& [id, text] : {std::pair{ids.left, left}, {ids.right, right}, {ids.result, std::string_view(joined)}}) {
        if (id == kNoId) return here().expected("tokens of the vocabulary, which has no \"" + std::string(text) + "\"");
      }
      content_.merges.push_back(ids);
    }
    return {};
  }

  Status read_unigram(const JsonNode& model) {
    content_.model = ModelKind::unigram;
    content_.model_flags |= kFuseUnknown;
    PTERON_ASSIGN(const bool fallback, model.boolean_or("byte_fallback", false));
    if (fallback) content_.model_flags |= kByteFallback;
    PTERON_ASSIGN(const JsonNode node, model.get("vocab"));
    simdjson::dom::array vocabulary;
    if (node.element().get(vocabulary) != simdjson::SUCCESS) return node.expected("a list of tokens and scores");
    uint32_t id = 0;
    for (const simdjson::dom::element item : vocabulary) {
      simdjson::dom::array pair;
      std::string_view text;
      double score = 0;
      if (item.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(text) != simdjson::SUCCESS || pair.at(1).get(score) != simdjson::SUCCESS) {
        return JsonNode(item, node.path() + "[" + std::to_string(id) + "]").expected("a token and its score");
      }
      PTERON_TRY(put_token(id, text, kTokenExists | kTokenInModel, node.path()));
      content_.scores.push_back(score);
      // Of equal tokens the last counts.
      if (const auto [known, fresh] = ids_.emplace(text, id); !fresh) {
        content_.tokens[known->second].flags &= static_cast<uint8_t>(~kTokenInModel);
        known->second = id;
      }
      ++id;
    }
    if (const auto unknown = model.find("unk_id")) {
      PTERON_ASSIGN(content_.model_unk, unknown->number());
      if (content_.model_unk >= id) return unknown->expected("an id below " + std::to_string(id));
    }
    return {};
  }

  Status read_added() {
    const auto list = root_.find("added_tokens");
    if (!list) return {};
    PTERON_ASSIGN(const std::vector<JsonNode> items, list->items());
    const size_t limit = max_id(content_.tokens.size() + items.size());
    for (const JsonNode& item : items) {
      PTERON_ASSIGN(const uint32_t id, item.number_or("id", kNoId));
      PTERON_TRY(add_token(item, id, limit));
    }
    return {};
  }

  Status add_token(const JsonNode& item, uint32_t id, size_t limit) {
    PTERON_ASSIGN(const std::string text, item.text_of("content"));
    if (text.empty() || !added_.insert(text).second) return {};
    PTERON_ASSIGN(const bool special, item.boolean_or("special", false));
    PTERON_ASSIGN(const bool left, item.boolean_or("lstrip", false));
    PTERON_ASSIGN(const bool right, item.boolean_or("rstrip", false));
    PTERON_ASSIGN(const bool word, item.boolean_or("single_word", false));
    PTERON_ASSIGN(const bool normalized, item.boolean_or("normalized", !special));
    // A token that the model has keeps its id, whatever the file says here.
    if (const uint32_t known = find(text); known != kNoId) {
      id = known;
    } else {
      if (id >= limit) return item.expected("an id below " + std::to_string(limit));
      PTERON_TRY(put_token(id, text, kTokenExists, item.path()));
    }
    content_.tokens[id].flags |= static_cast<uint8_t>(kTokenAdded | (special ? kTokenSpecial : 0));
    const uint32_t flags = (special ? kAddedSpecial : 0u) | (left ? kAddedStripLeft : 0u) | (right ? kAddedStripRight : 0u) | (word ? kAddedSingleWord : 0u);
    content_.added.push_back({id, flags, normalized, text});
    return {};
  }

  // tokenizer_config.json: added tokens that tokenizer.json lacks, and which tokens are the special ones.
  Status read_config(const JsonNode& config) {
    if (const auto more = config.find("added_tokens_decoder")) {
      simdjson::dom::object object;
      if (more->element().get(object) != simdjson::SUCCESS) return more->expected("an object");
      const size_t limit = max_id(content_.tokens.size() + object.size());
      for (const auto field : object) {
        const JsonNode item(field.value, more->path() + "." + std::string(field.key));
        uint32_t id = 0;
        for (const char c : field.key) {
          if (c < '0' || c > '9' || id > limit) return item.expected("an id as its name");
          id = id * 10 + static_cast<uint32_t>(c - '0');
        }
        if (id < content_.tokens.size() && content_.tokens[id].flags != 0) continue;
        PTERON_TRY(add_token(item, id, limit));
      }
    }
    for (const auto& [key, id] : {std::pair<std::string_view, uint32_t*>{"bos_token", &content_.bos}, {"eos_token", &content_.eos},
                                  {"unk_token", &content_.unk}, {"pad_token", &content_.pad}}) {
      auto node = config.find(key);
      if (node && node->element().is_object()) node = node->find("content");
      if (!node) continue;
      PTERON_ASSIGN(const std::string text, node->text());
      *id = find_any(text);
    }
    return {};
  }

  uint32_t find_any(std::string_view text) const {
    for (const ContentAdded& added : content_.added) {
      if (added.content == text) return added.id;
    }
    return find(text);
  }

  JsonNode root_;
  const GoOn& go_on_;
  TokenizerContent content_;
  std::unordered_map<std::string_view, uint32_t> ids_;  // of the model; the keys lie in the parsed document
  std::unordered_set<std::string> added_;
};

Result<simdjson::dom::element> parse(simdjson::dom::parser& parser, std::string_view json, std::string_view name) {
  simdjson::dom::element root;
  const simdjson::error_code error = parser.parse(json.data(), json.size()).get(root);
  if (error != simdjson::SUCCESS) {
    return Status::error(Code::invalid_data, name, {.expected = "JSON", .found = std::string(simdjson::error_message(error))});
  }
  if (!root.is_object()) return Status::error(Code::invalid_data, name, {.expected = "an object", .found = "another value"});
  return root;
}

}  // namespace

Result<std::vector<std::byte>> compile_tokenizer_json(std::string_view tokenizer_json, std::string_view tokenizer_config_json, const GoOn& go_on) {
  simdjson::dom::parser parser, config_parser;
  PTERON_ASSIGN(const simdjson::dom::element root, parse(parser, tokenizer_json, "tokenizer.json"));
  std::optional<JsonNode> config;
  if (!tokenizer_config_json.empty()) {
    PTERON_ASSIGN(const simdjson::dom::element element, parse(config_parser, tokenizer_config_json, "tokenizer_config.json"));
    config.emplace(element, "tokenizer_config");
  }
  return JsonCompiler(JsonNode(root, ""), go_on).compile(config);
}

}  // namespace pteron::text
