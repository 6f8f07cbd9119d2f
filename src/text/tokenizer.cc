#include "text/tokenizer.h"

#include <algorithm>
#include <bitset>
#include <utility>

#include "text/decoder.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/token_model.h"
#include "text/token_table.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;

TokenId as_token_id(uint32_t id) { return id == kNoId ? -1 : static_cast<TokenId>(id); }

// Added tokens that are looked for in a text: a trie, and the bytes that one can begin with.
struct AddedSearch {
  TrieView trie;
  std::bitset<256> first;

  explicit AddedSearch(TrieView units = {}) : trie(units) {
    for (unsigned byte = 0; byte < 256 && !trie.empty(); ++byte) first[byte] = trie.child(TrieView::kRoot, static_cast<unsigned char>(byte)) != TrieView::kDead;
  }
};

}  // namespace

class TokenizerImpl {
 public:
  TokenTable table;
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  Decoder decoder;
  AddedSearch added, added_normal;
};

namespace {

// One call of `encode`.
class EncodeRun final : public PieceSink {
 public:
  EncodeRun(const TokenizerImpl& tokenizer, std::string_view text, EncodeOptions options)
      : tokenizer_(tokenizer), table_(tokenizer.table), options_(options), budget_(text.size()), cutter_(tokenizer.pre_tokenizer, budget_, *this),
        model_(make_model_run(tokenizer.table, text.size())) {}

  Status run(std::string_view text) {
    return each_part(text, tokenizer_.added, [&](std::string_view part, bool at_start) {
      if (tokenizer_.normalizer.empty()) return find_normal(part, at_start);
      NormalText normal{std::string(part), true};
      PTERON_TRY(tokenizer_.normalizer.apply(normal, budget_));
      return find_normal(normal.text, at_start && normal.from_start);
    });
  }

  Status piece(std::string_view text) override { return model_->encode(text, ids); }
  size_t lost_bytes() const { return model_->lost_bytes(); }

  std::vector<TokenId> ids;

 private:
  Status find_normal(std::string_view text, bool from_start) {
    return each_part(text, tokenizer_.added_normal, [&](std::string_view part, bool at_start) { return cutter_.cut(part, from_start && at_start); });
  }

  // Calls `f` for the parts of a text between added tokens and appends the ids of those.
  template <class F>
  Status each_part(std::string_view text, const AddedSearch& search, const F& f) {
    size_t done = 0;  // what is cut off already; a token that takes spaces on its right may reach beyond where the search goes on
    for (size_t at = 0; at < text.size() && !search.trie.empty();) {
      if (!search.first[static_cast<unsigned char>(text[at])]) {
        ++at;
        continue;
      }
      const TrieView::Match match = search.trie.longest(text.substr(at));
      if (match.value < 0) {
        ++at;
        continue;
      }
      size_t begin = at, end = at + match.size;
      at = end;
      const AddedEntry entry = table_.added(static_cast<uint32_t>(match.value));
      if (entry.id == kNoId || !wanted(entry, text, begin, end)) continue;
      if ((entry.flags & kAddedStripLeft) != 0) {
        while (begin > done && is_white_space(utf8_before(text, begin).code)) begin -= utf8_before(text, begin).size;
        begin = std::max(begin, done);
      }
      if ((entry.flags & kAddedStripRight) != 0) {
        while (end < text.size() && is_white_space(utf8_at(text, end).code)) end += utf8_at(text, end).size;
      }
      if (done < begin) PTERON_TRY(f(text.substr(done, begin - done), done == 0));
      ids.push_back(static_cast<TokenId>(entry.id));
      done = end;
    }
    if (done < text.size()) PTERON_TRY(f(text.substr(done), done == 0));
    return {};
  }

  bool wanted(const AddedEntry& entry, std::string_view text, size_t begin, size_t end) const {
    // A broken table could match half a character.
    const auto inside_character = [&](size_t at) { return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80; };
    if (inside_character(begin) || inside_character(end)) return false;
    if (!options_.parse_special && (entry.flags & kAddedSpecial) != 0) return false;
    if ((entry.flags & kAddedSingleWord) == 0) return true;
    return (begin == 0 || !is_word(utf8_before(text, begin).code)) && (end == text.size() || !is_word(utf8_at(text, end).code));
  }

  const TokenizerImpl& tokenizer_;
  const TokenTable& table_;
  const EncodeOptions options_;
  StepBudget budget_;
  PreTokenizerRun cutter_;
  std::unique_ptr<ModelRun> model_;
};

Status check_text(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return Status::error(Code::out_of_capacity, "text too long", {.expected = "at most " + std::to_string(kMaxTextBytes) + " bytes", .found = std::to_string(text.size())});
  }
  if (const auto at = find_invalid_utf8(text)) {
    return Status::error(Code::invalid_argument, "text to be tokenized", {.expected = "UTF-8", .found = "an invalid byte at offset " + std::to_string(*at)});
  }
  return {};
}

}  // namespace

class DecodePipeline {
 public:
  DecodePipeline(std::shared_ptr<const TokenizerImpl> tokenizer, DecodeOptions options)
      : tokenizer_(std::move(tokenizer)), options_(options), run_(tokenizer_->decoder) {}

  void push(TokenId id, std::string& out) {
    const TokenTable& table = tokenizer_->table;
    const uint8_t flags = id < 0 ? 0 : table.flags(static_cast<uint32_t>(id));
    if ((flags & kTokenExists) == 0 || (options_.skip_special && (flags & kTokenSpecial) != 0)) return;
    run_.push(table.token(static_cast<uint32_t>(id)), out);
  }
  void flush(std::string& out) { run_.flush(out); }

  // For streams: text that ends in U+FFFD or before an open character waits for what comes behind it.
  std::string push_streamed(TokenId id) {
    push(id, held_);
    return run_.inside_character() || held_.ends_with(kReplacementUtf8) ? std::string() : std::exchange(held_, {});
  }
  std::string flush_streamed() {
    flush(held_);
    return std::exchange(held_, {});
  }

 private:
  std::string held_;
  std::shared_ptr<const TokenizerImpl> tokenizer_;
  DecodeOptions options_;
  DecoderRun run_;
};

DecodeStream::DecodeStream(std::unique_ptr<DecodePipeline> pipeline) : pipeline_(std::move(pipeline)) {}
DecodeStream::DecodeStream(DecodeStream&&) noexcept = default;
DecodeStream& DecodeStream::operator=(DecodeStream&&) noexcept = default;
DecodeStream::~DecodeStream() = default;

std::string DecodeStream::push(TokenId id) { return pipeline_->push_streamed(id); }
std::string DecodeStream::flush() { return pipeline_->flush_streamed(); }

Tokenizer::Tokenizer(std::shared_ptr<const TokenizerImpl> impl) : impl_(std::move(impl)) {}

Result<Tokenizer> Tokenizer::from_table(ByteSpan bytes) {
  auto impl = std::make_shared<TokenizerImpl>();
  PTERON_ASSIGN(impl->table, TokenTable::open(bytes));
  PTERON_ASSIGN(impl->normalizer, Normalizer::from_table(impl->table));
  PTERON_ASSIGN(impl->pre_tokenizer, PreTokenizer::from_table(impl->table));
  PTERON_ASSIGN(impl->decoder, Decoder::from_table(impl->table));
  impl->added = AddedSearch(impl->table.trie(Section::added_trie));
  impl->added_normal = AddedSearch(impl->table.trie(Section::added_normal_trie));
  return Tokenizer(std::move(impl));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  PTERON_TRY(check_text(text));
  EncodeRun run(*impl_, text, options);
  if (options.add_special) run.ids = prefix_ids();
  PTERON_TRY(run.run(text));
  if (options.add_special) {
    const std::vector<TokenId> suffix = suffix_ids();
    run.ids.insert(run.ids.end(), suffix.begin(), suffix.end());
  }
  return std::move(run.ids);
}

Result<size_t> Tokenizer::lost_bytes(std::string_view text, EncodeOptions options) const {
  PTERON_TRY(check_text(text));
  EncodeRun run(*impl_, text, options);
  PTERON_TRY(run.run(text));
  return run.lost_bytes();
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, DecodeOptions options) const {
  DecodePipeline pipeline(impl_, options);
  std::string out;
  for (const TokenId id : ids) pipeline.push(id, out);
  pipeline.flush(out);
  return out;
}

DecodeStream Tokenizer::stream(DecodeOptions options) const { return DecodeStream(std::make_unique<DecodePipeline>(impl_, options)); }

size_t Tokenizer::size() const { return impl_->table.size(); }

std::string_view Tokenizer::piece(TokenId id) const { return id < 0 ? std::string_view() : impl_->table.token(static_cast<uint32_t>(id)); }

std::string Tokenizer::piece_bytes(TokenId id) const { return is_added(id) ? std::string(piece(id)) : impl_->decoder.token_bytes(piece(id)); }

TokenId Tokenizer::token_to_id(std::string_view piece) const {
  const TokenTable& table = impl_->table;
  for (const Section section : {Section::added_trie, Section::added_normal_trie}) {
    const TrieView trie = table.trie(section);
    if (trie.empty() || piece.empty()) continue;
    const uint32_t node = trie.walk(TrieView::kRoot, piece);
    if (node == TrieView::kDead || trie.value(node) < 0) continue;
    const uint32_t id = table.added(static_cast<uint32_t>(trie.value(node))).id;
    if (id != kNoId && table.token(id) == piece) return as_token_id(id);
  }
  return as_token_id(table.find(piece));
}

TokenId Tokenizer::bos_id() const { return as_token_id(impl_->table.header().bos); }
TokenId Tokenizer::eos_id() const { return as_token_id(impl_->table.header().eos); }
TokenId Tokenizer::unk_id() const { return as_token_id(impl_->table.header().unk); }
TokenId Tokenizer::pad_id() const { return as_token_id(impl_->table.header().pad); }
bool Tokenizer::is_special(TokenId id) const { return id >= 0 && (impl_->table.flags(static_cast<uint32_t>(id)) & kTokenSpecial) != 0; }
bool Tokenizer::is_added(TokenId id) const { return id >= 0 && (impl_->table.flags(static_cast<uint32_t>(id)) & kTokenAdded) != 0; }

std::vector<TokenId> Tokenizer::prefix_ids() const {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < impl_->table.id_count(Section::prefix_ids); ++i) ids.push_back(as_token_id(impl_->table.id(Section::prefix_ids, i)));
  return ids;
}

std::vector<TokenId> Tokenizer::suffix_ids() const {
  std::vector<TokenId> ids;
  for (size_t i = 0; i < impl_->table.id_count(Section::suffix_ids); ++i) ids.push_back(as_token_id(impl_->table.id(Section::suffix_ids, i)));
  return ids;
}

}  // namespace pteron::text
