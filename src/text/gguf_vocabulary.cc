// Vocabularies of GGUF files. What a tokenizer.json spells out, such a file only implies by the names of its model and pre-tokenizer.
#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "text/charsmap.h"
#include "text/gguf_pre_tokenizer.h"
#include "text/piece_index.h"
#include "text/token_table_writer.h"
#include "text/tokenizer_compile.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr std::string_view kSpace = "\xe2\x96\x81";  // U+2581, SentencePiece's space

enum TokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

Status bad(std::string_view key, std::string expected, std::string found, Code code = Code::invalid_data) {
  return Status::error(code, "GGUF vocabulary",
                       {.field = "tokenizer.ggml." + std::string(key), .expected = std::move(expected), .found = std::move(found)});
}

template <class Kind>
ContentOp make_op(Kind kind, uint16_t flags = 0, std::string_view text = {}, std::string_view more = {}) {
  return {static_cast<uint16_t>(kind), flags, 0, 0, std::string(text), std::string(more)};
}

std::string with_spaces_as_characters(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ') {
      out += kSpace;
    } else {
      out += c;
    }
  }
  return out;
}

class GgufCompiler {
 public:
  GgufCompiler(const GgufVocabulary& vocabulary, const GoOn& go_on) : in_(vocabulary), go_on_(go_on) {}

  Result<std::vector<std::byte>> compile() {
    PTERON_TRY(check());
    Status status = bad("model", "gpt2, llama, bert or t5", in_.model, Code::unsupported);
    if (in_.model == "gpt2") status = byte_level();
    if (in_.model == "llama") status = sentence_piece_bpe();
    if (in_.model == "t5") status = unigram();
    if (in_.model == "bert") status = word_piece();
    PTERON_TRY(std::move(status));
    return write_token_table(out_);
  }

 private:
  Status check() {
    const size_t count = in_.tokens.size();
    if (count == 0 || count > (size_t{1} << 24)) return bad("tokens", "1 to 2^24 tokens", std::to_string(count));
    if (!in_.scores.empty() && in_.scores.size() != count) return bad("scores", std::to_string(count) + " scores", std::to_string(in_.scores.size()));
    if (!in_.token_types.empty() && in_.token_types.size() != count) {
      return bad("token_type", std::to_string(count) + " types", std::to_string(in_.token_types.size()));
    }
    for (size_t i = 0; i < count; ++i) {
      if (find_invalid_utf8(in_.tokens[i])) return bad("tokens[" + std::to_string(i) + "]", "UTF-8", "other bytes");
      if (type(i) < kNormal || type(i) > kByte) return bad("token_type[" + std::to_string(i) + "]", "1 to 6", std::to_string(type(i)));
    }
    for (const auto& [key, id, to] : {std::tuple<std::string_view, int32_t, uint32_t*>{"bos_token_id", in_.bos_token_id, &out_.bos},
                                      {"eos_token_id", in_.eos_token_id, &out_.eos}, {"unknown_token_id", in_.unknown_token_id, &out_.unk},
                                      {"padding_token_id", in_.padding_token_id, &out_.pad}, {"cls_token_id", in_.cls_token_id, &cls_},
                                      {"seperator_token_id", in_.seperator_token_id, &sep_}}) {
      if (id == -1) continue;
      if (id < 0 || static_cast<size_t>(id) >= count) return bad(key, "an id below " + std::to_string(count), std::to_string(id));
      *to = static_cast<uint32_t>(id);
    }
    return {};
  }

  int32_t type(size_t id) const { return in_.token_types.empty() ? int32_t{kNormal} : in_.token_types[id]; }

  // Fills the tokens; control and user-defined ones are found in the text before the model sees it. `respell`: how the model writes a token.
  template <class F>
  Status put_tokens(const F& respell) {
    out_.tokens.reserve(in_.tokens.size());  // `ids_` points into them
    for (uint32_t id = 0; id < in_.tokens.size(); ++id) {
      const bool special = type(id) == kControl || type(id) == kUnknown;
      ContentToken token{special ? in_.tokens[id] : respell(in_.tokens[id]), kTokenExists};
      if (!special) token.flags |= kTokenInModel;
      if (special || type(id) == kUserDefined) {
        token.flags |= static_cast<uint8_t>(kTokenAdded | (special ? kTokenSpecial : 0));
        if (!token.text.empty()) out_.added.push_back({id, special ? kAddedSpecial : 0u, false, token.text});
      }
      out_.tokens.push_back(std::move(token));
      // Of equal tokens the first counts, as for whoever made the file.
      if (!ids_.add(out_.tokens.back().text, id)) out_.tokens.back().flags &= static_cast<uint8_t>(~kTokenInModel);
    }
    return {};
  }

  uint32_t find(std::string_view text) const { return ids_.find(text); }

  void put_ends(bool bos_by_default, bool eos_by_default) {
    const auto wanted = [](int8_t key, bool by_default) { return key < 0 ? by_default : key != 0; };
    if (wanted(in_.add_bos_token, bos_by_default) && out_.bos != kNoId) out_.prefix_ids.push_back(out_.bos);
    if (wanted(in_.add_eos_token, eos_by_default) && out_.eos != kNoId) out_.suffix_ids.push_back(out_.eos);
  }

  Status byte_level() {
    out_.model = ModelKind::bpe;
    PTERON_TRY(put_tokens([](const std::string& text) { return text; }));
    const GgufPreTokenizer* pre = find_gguf_pre_tokenizer(in_.pre);
    if (pre == nullptr) return bad("pre", known_gguf_pre_tokenizers(), in_.pre, Code::unsupported);
    PTERON_TRY(append_gguf_pre_tokenizer(*pre, out_));
    out_.decoder.push_back(make_op(DecoderKind::byte_level));
    for (size_t i = 0; i < in_.merges.size(); ++i) {
      const std::string& text = in_.merges[i];
      // The first character of the left token may itself be a space.
      const size_t space = text.find(' ', 1);
      if (space == std::string::npos) return bad("merges[" + std::to_string(i) + "]", "two tokens with a space between", text);
      const std::string left = text.substr(0, space), right = text.substr(space + 1);
      const ContentMerge merge{find(left), find(right), find(left + right)};
      if (merge.left == kNoId || merge.right == kNoId || merge.result == kNoId) return bad("merges[" + std::to_string(i) + "]", "tokens of the vocabulary", text);
      out_.merges.push_back(merge);
    }
    put_ends(pre->add_bos, false);
    return {};
  }

  // The file has scores where a tokenizer.json has merges: every cut of a token into two is one, the best token first.
  Status sentence_piece_bpe() {
    if (in_.scores.empty()) return bad("scores", "one a token", "none");
    out_.model = ModelKind::bpe;
    out_.model_flags = kByteFallback | kFuseUnknown;
    out_.space_character = utf8_at(kSpace, 0).code;
    PTERON_TRY(put_tokens(with_spaces_as_characters));
    out_.model_unk = out_.unk;
    PTERON_TRY(put_merges());
    PTERON_TRY(put_normalizer(in_.remove_extra_whitespaces == 1));
    const bool space_prefix = in_.add_space_prefix != 0;
    if (space_prefix) out_.normalizer.push_back(make_op(NormalizerKind::prepend, 0, kSpace));
    out_.normalizer.push_back(make_op(NormalizerKind::replace_text, 0, " ", kSpace));
    out_.decoder.push_back(make_op(DecoderKind::replace_text, 0, kSpace, " "));
    out_.decoder.push_back(make_op(DecoderKind::byte_fallback));
    out_.decoder.push_back(make_op(DecoderKind::fuse));
    if (space_prefix) {
      out_.decoder.push_back(make_op(DecoderKind::strip, 0, " "));
      out_.decoder.back().number = 1;
    }
    put_ends(true, false);
    return {};
  }

  // What SentencePiece does to a text before it looks at spaces.
  Status put_normalizer(bool collapse_spaces) {
    if (!in_.precompiled_charsmap.empty()) {
      if (!Charsmap::parse(in_.precompiled_charsmap).ok()) return bad("precompiled_charsmap", "a character map", std::to_string(in_.precompiled_charsmap.size()) + " bytes");
      out_.normalizer.push_back(make_op(NormalizerKind::charsmap, kLongestMatch, in_.precompiled_charsmap));
    }
    if (collapse_spaces) out_.normalizer.push_back(make_op(NormalizerKind::collapse_spaces));
    return {};
  }

  struct RankedMerge {
    ContentMerge merge;
    float score;
    uint32_t left_size, right_size;  // characters
  };

  // User-defined tokens carry a score that says nothing; they come before all others.
  float score(uint32_t id) const { return type(id) == kUserDefined ? std::numeric_limits<float>::infinity() : in_.scores[id]; }

  Status put_merges() {
    std::vector<RankedMerge> merges;
    for (uint32_t id = 0; id < out_.tokens.size(); ++id) {
      if (go_on_ && id % 4096 == 0) PTERON_TRY(go_on_());
      if (type(id) != kNormal && type(id) != kUserDefined) continue;
      const std::string& text = out_.tokens[id].text;
      const auto characters = static_cast<uint32_t>(count_characters(text));
      uint32_t left_size = 0;
      for (size_t at = 0; at < text.size();) {
        at += utf8_at(text, at).size;
        if (++left_size == characters) break;
        const uint32_t left = find(std::string_view(text).substr(0, at));
        if (left == kNoId || !mergeable(left)) continue;
        const uint32_t right = find(std::string_view(text).substr(at));
        if (right == kNoId || !mergeable(right)) continue;
        merges.push_back({{left, right, id}, score(id), left_size, characters - left_size});
      }
    }
    std::sort(merges.begin(), merges.end(), [](const RankedMerge& a, const RankedMerge& b) {
      const auto better = [](const RankedMerge& m) { return std::tuple(m.score, m.left_size, m.right_size); };
      const auto ids = [](const RankedMerge& m) { return std::tuple(m.merge.result, m.merge.left, m.merge.right); };
      return better(a) != better(b) ? better(a) > better(b) : ids(a) < ids(b);
    });
    for (const RankedMerge& ranked : merges) out_.merges.push_back(ranked.merge);
    return go_on_ ? go_on_() : Status();
  }

  bool mergeable(uint32_t id) const { return type(id) == kNormal || type(id) == kUserDefined || type(id) == kUnused; }

  Status unigram() {
    if (in_.scores.empty()) return bad("scores", "one a token", "none");
    out_.model = ModelKind::unigram;
    out_.model_flags = kFuseUnknown;
    PTERON_TRY(put_tokens(with_spaces_as_characters));
    out_.scores.assign(in_.scores.begin(), in_.scores.end());
    out_.model_unk = out_.unk;
    PTERON_TRY(put_normalizer(in_.remove_extra_whitespaces != 0));
    const uint16_t scheme = in_.add_space_prefix != 0 ? kPrependAlways : 0;
    out_.pre_tokenizer.push_back(make_op(PreTokenizerKind::metaspace, scheme | kSplitMetaspace, kSpace));
    out_.decoder.push_back(make_op(DecoderKind::metaspace, scheme, kSpace));
    put_ends(false, true);
    return {};
  }

  // The file writes "▁word" where vocabularies of BERT have "word", and "ing" where they have "##ing".
  Status word_piece() {
    out_.model = ModelKind::word_piece;
    out_.subword_prefix = "##";
    PTERON_TRY(put_tokens([](const std::string& text) {
      if (text.starts_with(kSpace)) return text.substr(kSpace.size());
      return text.starts_with('[') && text.ends_with(']') ? text : "##" + text;
    }));
    out_.model_unk = out_.unk;
    out_.normalizer.push_back(make_op(NormalizerKind::bert, kCleanText | kChineseChars | kStripAccents | kLowercase));
    out_.pre_tokenizer.push_back(make_op(PreTokenizerKind::white_space_split));
    out_.pre_tokenizer.push_back(make_op(PreTokenizerKind::punctuation));
    out_.pre_tokenizer.back().number = static_cast<uint32_t>(SplitBehavior::isolated);
    out_.decoder.push_back(make_op(DecoderKind::word_piece, kCleanup, "##"));
    const uint32_t begin = cls_ != kNoId ? cls_ : out_.bos, end = sep_ != kNoId ? sep_ : out_.eos;
    if (in_.add_bos_token != 0 && begin != kNoId) out_.prefix_ids.push_back(begin);
    if (in_.add_eos_token != 0 && end != kNoId) out_.suffix_ids.push_back(end);
    return {};
  }

  const GgufVocabulary& in_;
  const GoOn& go_on_;
  TokenizerContent out_;
  PieceIndex ids_;  // by the texts of `out_.tokens`
  uint32_t cls_ = kNoId, sep_ = kNoId;
};

}  // namespace

Result<std::vector<std::byte>> compile_gguf_vocabulary(const GgufVocabulary& vocabulary, const GoOn& go_on) { return GgufCompiler(vocabulary, go_on).compile(); }

}  // namespace pteron::text
