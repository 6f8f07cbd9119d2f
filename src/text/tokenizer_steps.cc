#include "text/tokenizer_steps.h"

#include <array>
#include <utility>

#include "text/charsmap.h"
#include "text/pattern.h"
#include "text/pattern_syntax.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr int kMaxDepth = 16;  // of components within components

template <class Kind>
ContentOp make_op(Kind kind, uint16_t flags = 0, std::string text = {}, std::string more = {}) {
  return {static_cast<uint16_t>(kind), flags, 0, 0, std::move(text), std::move(more)};
}

uint16_t flag_if(bool condition, OpFlags flag) { return condition ? flag : 0; }

Result<std::string> translated(std::string_view expression) {
  PTERON_ASSIGN(std::string pattern, translate_pattern(expression));
  PTERON_TRY(Pattern::compile(pattern).status());
  return pattern;
}

// {"String": text} or {"Regex": expression}.
struct PatternSource {
  bool is_expression = false;
  std::string text;
};
Result<PatternSource> read_pattern(const JsonNode& owner) {
  PTERON_ASSIGN(const JsonNode node, owner.get("pattern"));
  if (const auto text = node.find("String")) {
    PTERON_ASSIGN(std::string plain, text->text());
    return PatternSource{false, std::move(plain)};
  }
  const auto expression = node.find("Regex");
  if (!expression) return node.unsupported("String or Regex");
  PTERON_ASSIGN(const std::string source, expression->text());
  auto pattern = translated(source);
  if (!pattern.ok()) return std::move(pattern).status().in_field(expression->path());
  return PatternSource{true, std::move(pattern).value()};
}

Result<SplitBehavior> read_behavior(const JsonNode& node, std::string_view absent) {
  constexpr auto kNames = std::to_array<std::pair<std::string_view, SplitBehavior>>({{"Removed", SplitBehavior::removed}, {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous}, {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous}});
  PTERON_ASSIGN(const std::string name, node.text_or("behavior", absent));
  for (const auto& [known, behavior] : kNames) {
    if (name == known) return behavior;
  }
  PTERON_ASSIGN(const JsonNode value, node.get("behavior"));
  return value.unsupported("Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

Result<std::string> one_character(const JsonNode& node, std::string_view key, std::string_view absent) {
  PTERON_ASSIGN(std::string text, node.text_or(key, absent));
  if (count_characters(text) == 1) return text;
  PTERON_ASSIGN(const JsonNode value, node.get(key));
  return value.expected("one character");
}

Result<uint16_t> read_prepend_scheme(const JsonNode& node) {
  PTERON_ASSIGN(const bool add_prefix_space, node.boolean_or("add_prefix_space", true));
  PTERON_ASSIGN(const std::string scheme, node.text_or("prepend_scheme", add_prefix_space ? "always" : "never"));
  if (scheme == "always") return kPrependAlways;
  if (scheme == "first") return kPrependFirst;
  if (scheme == "never") return uint16_t{0};
  PTERON_ASSIGN(const JsonNode value, node.get("prepend_scheme"));
  return value.unsupported("always, first or never");
}

Result<std::string> decode_base64(const JsonNode& node) {
  PTERON_ASSIGN(const std::string text, node.text());
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=' || c == '\n' || c == '\r') continue;
    const size_t value = std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(c);
    if (value == std::string_view::npos) return node.expected("base64");
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xff);
  }
  return out;
}

// Appends what a "Sequence" holds, one by one.
template <class F>
Status each_of(const JsonNode& node, std::string_view key, int depth, const F& f) {
  if (depth >= kMaxDepth) return node.unsupported("at most " + std::to_string(kMaxDepth) + " nested components");
  PTERON_ASSIGN(const std::vector<JsonNode> items, node.items_of(key));
  for (const JsonNode& item : items) PTERON_TRY(f(item));
  return {};
}

// A step that is nothing but its name; false if the table does not have it.
template <class Kind, size_t kCount>
bool append_plain(std::string_view type, const std::array<std::pair<std::string_view, Kind>, kCount>& table, std::vector<ContentOp>& out) {
  for (const auto& [name, kind] : table) {
    if (type != name) continue;
    out.push_back(make_op(kind));
    return true;
  }
  return false;
}

Status unknown_type(const JsonNode& node, std::string_view known) {
  PTERON_ASSIGN(const JsonNode type, node.get("type"));
  return type.unsupported(known);
}

Status append_bert_normalizer(const JsonNode& node, std::vector<ContentOp>& out) {
  PTERON_ASSIGN(const bool clean, node.boolean_or("clean_text", true));
  PTERON_ASSIGN(const bool chinese, node.boolean_or("handle_chinese_chars", true));
  PTERON_ASSIGN(const bool lower, node.boolean_or("lowercase", true));
  PTERON_ASSIGN(const bool accents, node.boolean_or("strip_accents", lower));
  const uint16_t flags = flag_if(clean, kCleanText) | flag_if(chinese, kChineseChars) | flag_if(accents, kStripAccents) | flag_if(lower, kLowercase);
  out.push_back(make_op(NormalizerKind::bert, flags));
  return {};
}

Status append_byte_level(const JsonNode& node, std::vector<ContentOp>& out) {
  PTERON_ASSIGN(const bool prefix_space, node.boolean_or("add_prefix_space", true));
  PTERON_ASSIGN(const bool use_regex, node.boolean_or("use_regex", true));
  if (prefix_space) out.push_back(make_op(PreTokenizerKind::prefix_space));
  if (use_regex) {
    PTERON_ASSIGN(ContentOp split, pattern_split(kGpt2Pattern, SplitBehavior::isolated));
    out.push_back(std::move(split));
  }
  out.push_back(make_op(PreTokenizerKind::byte_level));
  return {};
}

Status append_split(const JsonNode& node, std::vector<ContentOp>& out) {
  PTERON_ASSIGN(PatternSource pattern, read_pattern(node));
  PTERON_ASSIGN(const SplitBehavior behavior, read_behavior(node, "Isolated"));
  PTERON_ASSIGN(const bool invert, node.boolean_or("invert", false));
  ContentOp op = make_op(pattern.is_expression ? PreTokenizerKind::split_pattern : PreTokenizerKind::split_text, flag_if(invert, kInvert),
                         std::move(pattern.text));
  op.number = static_cast<uint32_t>(behavior);
  out.push_back(std::move(op));
  return {};
}

Status append_metaspace(const JsonNode& node, std::vector<ContentOp>& out) {
  PTERON_ASSIGN(std::string replacement, one_character(node, "replacement", "\xe2\x96\x81"));
  PTERON_ASSIGN(const uint16_t scheme, read_prepend_scheme(node));
  PTERON_ASSIGN(const bool split, node.boolean_or("split", true));
  out.push_back(make_op(PreTokenizerKind::metaspace, scheme | flag_if(split, kSplitMetaspace), std::move(replacement)));
  return {};
}

ContentOp character_split(PreTokenizerKind kind, SplitBehavior behavior) {
  ContentOp op = make_op(kind);
  op.number = static_cast<uint32_t>(behavior);
  return op;
}

}  // namespace

Result<ContentOp> pattern_split(std::string_view expression, SplitBehavior behavior, bool invert) {
  PTERON_ASSIGN(std::string pattern, translated(expression));
  ContentOp op = make_op(PreTokenizerKind::split_pattern, flag_if(invert, kInvert), std::move(pattern));
  op.number = static_cast<uint32_t>(behavior);
  return op;
}

Status append_normalizer(const JsonNode& node, std::vector<ContentOp>& out, int depth) {
  PTERON_ASSIGN(const std::string type, node.text_of("type"));
  constexpr auto kPlain = std::to_array<std::pair<std::string_view, NormalizerKind>>({{"NFC", NormalizerKind::nfc}, {"NFD", NormalizerKind::nfd},
      {"NFKC", NormalizerKind::nfkc}, {"NFKD", NormalizerKind::nfkd}, {"Lowercase", NormalizerKind::lowercase},
      {"StripAccents", NormalizerKind::strip_accents}, {"Nmt", NormalizerKind::nmt}, {"ByteLevel", NormalizerKind::byte_level}});
  if (append_plain(type, kPlain, out)) return {};
  if (type == "Sequence") return each_of(node, "normalizers", depth, [&](const JsonNode& item) { return append_normalizer(item, out, depth + 1); });
  if (type == "BertNormalizer") return append_bert_normalizer(node, out);
  if (type == "Strip") {
    PTERON_ASSIGN(const bool left, node.boolean_or("strip_left", true));
    PTERON_ASSIGN(const bool right, node.boolean_or("strip_right", true));
    out.push_back(make_op(NormalizerKind::strip, flag_if(left, kStripLeft) | flag_if(right, kStripRight)));
    return {};
  }
  if (type == "Replace") {
    PTERON_ASSIGN(PatternSource pattern, read_pattern(node));
    PTERON_ASSIGN(std::string content, node.text_of("content"));
    out.push_back(make_op(pattern.is_expression ? NormalizerKind::replace_pattern : NormalizerKind::replace_text, 0, std::move(pattern.text), std::move(content)));
    return {};
  }
  if (type == "Prepend") {
    PTERON_ASSIGN(std::string text, node.text_of("prepend"));
    out.push_back(make_op(NormalizerKind::prepend, 0, std::move(text)));
    return {};
  }
  if (type == "Precompiled") {
    PTERON_ASSIGN(const JsonNode map, node.get("precompiled_charsmap"));
    if (map.is_null()) return {};
    PTERON_ASSIGN(std::string blob, decode_base64(map));
    if (blob.empty()) return {};
    if (Status status = Charsmap::parse(blob).status(); !status.ok()) return map.expected("a character map of SentencePiece");
    out.push_back(make_op(NormalizerKind::charsmap, 0, std::move(blob)));
    return {};
  }
  return unknown_type(node, "BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip or StripAccents");
}

Status append_pre_tokenizer(const JsonNode& node, std::vector<ContentOp>& out, int depth) {
  PTERON_ASSIGN(const std::string type, node.text_of("type"));
  if (type == "Sequence") return each_of(node, "pretokenizers", depth, [&](const JsonNode& item) { return append_pre_tokenizer(item, out, depth + 1); });
  if (type == "ByteLevel") return append_byte_level(node, out);
  if (type == "Split") return append_split(node, out);
  if (type == "Metaspace") return append_metaspace(node, out);
  if (type == "Whitespace") {
    // This one is defined by another library's \w, which has the joiners and no superscripts.
    constexpr std::string_view kWords = R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d\s]+)";
    PTERON_ASSIGN(ContentOp op, pattern_split(kWords, SplitBehavior::removed, true));
    out.push_back(std::move(op));
    return {};
  }
  if (type == "WhitespaceSplit") {
    out.push_back(make_op(PreTokenizerKind::white_space_split));
    return {};
  }
  if (type == "BertPreTokenizer") {
    out.push_back(make_op(PreTokenizerKind::white_space_split));
    out.push_back(character_split(PreTokenizerKind::punctuation, SplitBehavior::isolated));
    return {};
  }
  if (type == "Digits") {
    PTERON_ASSIGN(const bool individual, node.boolean_or("individual_digits", false));
    out.push_back(make_op(PreTokenizerKind::digits, flag_if(individual, kIndividualDigits)));
    return {};
  }
  if (type == "Punctuation") {
    PTERON_ASSIGN(const SplitBehavior behavior, read_behavior(node, "Isolated"));
    out.push_back(character_split(PreTokenizerKind::punctuation, behavior));
    return {};
  }
  if (type == "CharDelimiterSplit") {
    PTERON_ASSIGN(std::string delimiter, one_character(node, "delimiter", ""));
    out.push_back(make_op(PreTokenizerKind::char_delimiter, 0, std::move(delimiter)));
    return {};
  }
  if (type == "FixedLength") {
    PTERON_ASSIGN(const uint32_t length, node.number_or("length", 5));
    if (length == 0) return node.get("length").value().expected("at least 1");
    out.push_back(make_op(PreTokenizerKind::fixed_length));
    out.back().number = length;
    return {};
  }
  return unknown_type(node, "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, Metaspace, Punctuation, Sequence, Split, Whitespace or WhitespaceSplit");
}

Status append_decoder(const JsonNode& node, std::vector<ContentOp>& out, int depth) {
  PTERON_ASSIGN(const std::string type, node.text_of("type"));
  if (type == "Sequence") return each_of(node, "decoders", depth, [&](const JsonNode& item) { return append_decoder(item, out, depth + 1); });
  constexpr auto kPlain = std::to_array<std::pair<std::string_view, DecoderKind>>(
      {{"ByteLevel", DecoderKind::byte_level}, {"ByteFallback", DecoderKind::byte_fallback}, {"Fuse", DecoderKind::fuse}});
  if (append_plain(type, kPlain, out)) return {};
  if (type == "Metaspace") {
    PTERON_ASSIGN(std::string replacement, one_character(node, "replacement", "\xe2\x96\x81"));
    PTERON_ASSIGN(const uint16_t scheme, read_prepend_scheme(node));
    out.push_back(make_op(DecoderKind::metaspace, scheme, std::move(replacement)));
    return {};
  }
  if (type == "Strip") {
    PTERON_ASSIGN(std::string content, one_character(node, "content", " "));
    out.push_back(make_op(DecoderKind::strip, 0, std::move(content)));
    PTERON_ASSIGN(out.back().number, node.number_or("start", 0));
    PTERON_ASSIGN(out.back().number2, node.number_or("stop", 0));
    return {};
  }
  if (type == "Replace") {
    PTERON_ASSIGN(PatternSource pattern, read_pattern(node));
    PTERON_ASSIGN(std::string content, node.text_of("content"));
    out.push_back(make_op(pattern.is_expression ? DecoderKind::replace_pattern : DecoderKind::replace_text, 0, std::move(pattern.text), std::move(content)));
    return {};
  }
  if (type == "WordPiece") {
    PTERON_ASSIGN(std::string prefix, node.text_or("prefix", "##"));
    PTERON_ASSIGN(const bool cleanup, node.boolean_or("cleanup", true));
    out.push_back(make_op(DecoderKind::word_piece, flag_if(cleanup, kCleanup), std::move(prefix)));
    return {};
  }
  if (type == "BPEDecoder") {
    PTERON_ASSIGN(std::string suffix, node.text_or("suffix", "</w>"));
    out.push_back(make_op(DecoderKind::bpe_suffix, 0, std::move(suffix)));
    return {};
  }
  if (type == "CTC") {
    PTERON_ASSIGN(std::string pad, node.text_or("pad_token", "<pad>"));
    PTERON_ASSIGN(std::string delimiter, node.text_or("word_delimiter_token", "|"));
    PTERON_ASSIGN(const bool cleanup, node.boolean_or("cleanup", true));
    out.push_back(make_op(DecoderKind::ctc, flag_if(cleanup, kCleanup), std::move(pad), std::move(delimiter)));
    return {};
  }
  return unknown_type(node, "BPEDecoder, ByteFallback, ByteLevel, CTC, Fuse, Metaspace, Replace, Sequence, Strip or WordPiece");
}

namespace {

// "template processing": special tokens before and after the one place of the text.
Status append_template(const JsonNode& node, std::vector<uint32_t>& prefix, std::vector<uint32_t>& suffix) {
  PTERON_ASSIGN(const std::vector<JsonNode> pieces, node.items_of("single"));
  std::vector<uint32_t> before, after;
  bool seen = false;
  for (const JsonNode& piece : pieces) {
    if (const auto sequence = piece.find("Sequence")) {
      if (seen) return piece.unsupported("the text once");
      seen = true;
      continue;
    }
    const auto special = piece.find("SpecialToken");
    if (!special) return piece.unsupported("Sequence or SpecialToken");
    PTERON_ASSIGN(const std::string name, special->text_of("id"));
    PTERON_ASSIGN(const JsonNode specials, node.get("special_tokens"));
    PTERON_ASSIGN(const JsonNode token, specials.get(name));
    PTERON_ASSIGN(const std::vector<JsonNode> ids, token.items_of("ids"));
    for (const JsonNode& id : ids) {
      PTERON_ASSIGN(const uint32_t value, id.number());
      (seen ? after : before).push_back(value);
    }
  }
  if (!seen) return node.unsupported("a template with the text in it");
  prefix.insert(prefix.begin(), before.begin(), before.end());
  suffix.insert(suffix.end(), after.begin(), after.end());
  return {};
}

// ["[SEP]", 102] -> 102.
Result<uint32_t> token_pair_id(const JsonNode& node, std::string_view key) {
  PTERON_ASSIGN(const JsonNode pair, node.get(key));
  PTERON_ASSIGN(const std::vector<JsonNode> parts, pair.items());
  if (parts.size() != 2) return pair.expected("a token and its id");
  return parts[1].number();
}

}  // namespace

Status append_post_processor(const JsonNode& node, std::vector<uint32_t>& prefix, std::vector<uint32_t>& suffix, int depth) {
  PTERON_ASSIGN(const std::string type, node.text_of("type"));
  if (type == "Sequence") {
    return each_of(node, "processors", depth, [&](const JsonNode& item) { return append_post_processor(item, prefix, suffix, depth + 1); });
  }
  if (type == "ByteLevel") return {};  // changes offsets only
  if (type == "TemplateProcessing") return append_template(node, prefix, suffix);
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    PTERON_ASSIGN(const uint32_t begin, token_pair_id(node, "cls"));
    PTERON_ASSIGN(const uint32_t end, token_pair_id(node, "sep"));
    prefix.insert(prefix.begin(), begin);
    suffix.push_back(end);
    return {};
  }
  return unknown_type(node, "BertProcessing, ByteLevel, RobertaProcessing, Sequence or TemplateProcessing");
}

}  // namespace pteron::text
