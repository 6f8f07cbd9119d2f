#include "text/token_table_writer.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "text/byte_level.h"
#include "text/normalizer.h"
#include "text/piece_index.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr size_t kSectionAlignment = 8;

std::string byte_token(unsigned byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
}

class TableWriter {
 public:
  explicit TableWriter(const TokenizerContent& content) : content_(content) {}

  Result<std::vector<std::byte>> write() {
    header_.model = content_.model;
    header_.model_flags = content_.model_flags;
    header_.size = static_cast<uint32_t>(content_.tokens.size());
    header_.bos = content_.bos;
    header_.eos = content_.eos;
    header_.unk = content_.unk;
    header_.pad = content_.pad;
    header_.model_unk = content_.model_unk;
    header_.max_word_characters = content_.max_word_characters;
    PTERON_TRY(put_added());
    put_tokens();
    put_pieces();
    put_byte_ids();
    put_merges();
    put_boundary();
    put_model_trie();
    put_ops(Section::normalizer, content_.normalizer);
    put_ops(Section::pre_tokenizer, content_.pre_tokenizer);
    put_ops(Section::decoder, content_.decoder);
    put(Section::prefix_ids, content_.prefix_ids);
    put(Section::suffix_ids, content_.suffix_ids);
    header_.prefix_offset = intern(content_.subword_prefix);
    header_.prefix_size = static_cast<uint32_t>(content_.subword_prefix.size());
    header_.suffix_offset = intern(content_.word_suffix);
    header_.suffix_size = static_cast<uint32_t>(content_.word_suffix.size());
    put_bytes(Section::text, as_bytes(text_));
    return join();
  }

 private:
  void put_bytes(Section section, ByteSpan bytes) { sections_[static_cast<size_t>(section)].assign(bytes.begin(), bytes.end()); }
  template <class T>
  void put(Section section, const std::vector<T>& items) {
    put_bytes(section, std::as_bytes(std::span(items)));
  }

  uint32_t intern(std::string_view text) {
    const size_t found = text_.find(text);
    if (found != std::string::npos) return static_cast<uint32_t>(found);
    text_ += text;
    return static_cast<uint32_t>(text_.size() - text.size());
  }

  void put_tokens() {
    std::vector<uint32_t> offsets{0};
    std::string bytes;
    std::vector<uint8_t> flags;
    for (uint32_t id = 0; id < content_.tokens.size(); ++id) {
      const ContentToken& token = content_.tokens[id];
      const auto form = normal_forms_.find(id);
      bytes += form != normal_forms_.end() && (token.flags & kTokenInModel) == 0 ? form->second : token.text;
      offsets.push_back(static_cast<uint32_t>(bytes.size()));
      flags.push_back(token.flags);
    }
    put(Section::token_offsets, offsets);
    put(Section::token_flags, flags);
    put_bytes(Section::token_bytes, as_bytes(bytes));
    put(Section::scores, content_.scores);
  }

  void put_pieces() {
    size_t count = 0;
    for (const ContentToken& token : content_.tokens) count += (token.flags & kTokenInModel) != 0;
    std::vector<uint32_t> slots(count + count / 2 + 8, 0);
    for (uint32_t id = 0; id < content_.tokens.size(); ++id) {
      const ContentToken& token = content_.tokens[id];
      if ((token.flags & kTokenInModel) == 0) continue;
      ids_.add(token.text, id);
      size_t slot = slot_of(hash_bytes(token.text), slots.size());
      uint32_t probes = 1;
      for (; slots[slot] != 0; ++probes) slot = slot + 1 == slots.size() ? 0 : slot + 1;
      slots[slot] = id + 1;
      header_.max_piece_probes = std::max(header_.max_piece_probes, probes + 1);
    }
    put(Section::piece_slots, slots);
  }

  uint32_t find(std::string_view text) const { return ids_.find(text); }

  // BPE behind a byte-level mapping begins with bytes; byte fallback needs the ids of the byte tokens.
  void put_byte_ids() {
    const bool byte_level = !content_.pre_tokenizer.empty() && content_.pre_tokenizer.back().kind == static_cast<uint16_t>(PreTokenizerKind::byte_level);
    const bool raw = content_.model == ModelKind::bpe && byte_level && content_.subword_prefix.empty() && content_.word_suffix.empty() &&
                     (content_.model_flags & kByteFallback) == 0;
    if (raw) header_.model_flags |= kRawBytes;
    if (!raw && (content_.model_flags & kByteFallback) == 0) return;
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string text;
      if (raw) {
        append_utf8(text, kByteCharacters[byte]);
      } else {
        text = byte_token(byte);
      }
      byte_ids_.push_back(find(text));
    }
    put(Section::byte_ids, byte_ids_);
  }

  void put_merges() {
    if (content_.merges.empty()) return;
    std::vector<MergeSlot> slots(content_.merges.size() + content_.merges.size() / 2 + 8);
    for (uint32_t rank = 0; rank < content_.merges.size(); ++rank) {
      const ContentMerge& merge = content_.merges[rank];
      size_t slot = slot_of(hash_pair(merge.left, merge.right), slots.size());
      uint32_t probes = 1;
      while (slots[slot].left != kNoId && (slots[slot].left != merge.left || slots[slot].right != merge.right)) {
        slot = slot + 1 == slots.size() ? 0 : slot + 1;
        ++probes;
      }
      slots[slot] = {merge.left, merge.right, rank, merge.result};
      header_.max_merge_probes = std::max(header_.max_merge_probes, probes + 1);
    }
    put(Section::merge_slots, slots);
  }

  // Where no merge can build a token over the border before a space, a long text falls apart into short words.
  void put_boundary() {
    const char32_t space = content_.space_character;
    if (content_.model != ModelKind::bpe || space == 0 || (header_.model_flags & (kRawBytes | kIgnoreMerges)) != 0) return;
    if (!content_.subword_prefix.empty() || !content_.word_suffix.empty()) return;
    std::string space_text;
    append_utf8(space_text, space);
    if (find(space_text) == kNoId) return;
    const bool nothing_vanishes =
        content_.model_unk != kNoId || (byte_ids_.size() == 256 && std::find(byte_ids_.begin(), byte_ids_.end(), kNoId) == byte_ids_.end());
    if (!nothing_vanishes) return;
    std::set<uint32_t> stand_ins(byte_ids_.begin(), byte_ids_.end());  // tokens that stand for other text than their own
    if (content_.model_unk != kNoId) stand_ins.insert(content_.model_unk);
    std::set<uint32_t> glue;
    for (const ContentMerge& merge : content_.merges) {
      if (stand_ins.contains(merge.left) || stand_ins.contains(merge.right)) return;
      const std::string_view text = content_.tokens[merge.result].text;
      for (size_t at = text.find(space_text, 1); at != std::string_view::npos; at = text.find(space_text, at + 1)) {
        glue.insert(utf8_before(text, at).code);
      }
    }
    header_.boundary = space;
    put(Section::glue, std::vector<uint32_t>(glue.begin(), glue.end()));
  }

  void put_model_trie() {
    if (content_.model != ModelKind::unigram && content_.model != ModelKind::word_piece) return;
    std::vector<std::pair<std::string_view, int32_t>> keys;
    double lowest = 0;
    bool any = false;
    for (uint32_t id = 0; id < content_.tokens.size(); ++id) {
      if ((content_.tokens[id].flags & kTokenInModel) == 0) continue;
      keys.emplace_back(content_.tokens[id].text, static_cast<int32_t>(id));
      if (id < content_.scores.size()) {
        lowest = any ? std::min(lowest, content_.scores[id]) : content_.scores[id];
        any = true;
      }
    }
    constexpr double kUnknownPenalty = 10.0;
    header_.unknown_score = lowest - kUnknownPenalty;
    put(Section::model_trie, build_trie(keys));
  }

  void put_ops(Section section, const std::vector<ContentOp>& ops) {
    std::vector<Op> out;
    for (const ContentOp& op : ops) {
      out.push_back({op.kind, op.flags, op.number, op.number2, intern(op.text), static_cast<uint32_t>(op.text.size()), intern(op.more),
                     static_cast<uint32_t>(op.more.size())});
    }
    put(section, out);
  }

  // Added tokens that are found in normalized text are normalized themselves, by the very steps that the table holds; that is how they decode, too.
  Status put_added() {
    std::vector<AddedEntry> entries;
    std::vector<std::pair<std::string_view, int32_t>> plain, normal;
    for (const ContentAdded& added : content_.added) {
      const auto index = static_cast<int32_t>(entries.size());
      entries.push_back({added.id, added.flags});
      if (!added.normalized) {
        plain.emplace_back(added.content, index);
        continue;
      }
      std::string form = added.content;
      PTERON_TRY(normalize_with(content_.normalizer, form));
      if (form.empty()) continue;
      normal.emplace_back(normal_forms_.insert_or_assign(added.id, std::move(form)).first->second, index);
    }
    put(Section::added, entries);
    put(Section::added_trie, build_trie(plain));
    put(Section::added_normal_trie, build_trie(normal));
    return {};
  }

  std::vector<std::byte> join() {
    uint64_t offset = align_up(sizeof(TableHeader), kSectionAlignment);
    for (size_t i = 0; i < sections_.size(); ++i) {
      header_.sections[i] = {offset, sections_[i].size()};
      offset = align_up(offset + sections_[i].size(), kSectionAlignment);
    }
    std::vector<std::byte> table(offset);
    store_unaligned(table.data(), header_);
    for (size_t i = 0; i < sections_.size(); ++i) {
      std::copy(sections_[i].begin(), sections_[i].end(), table.begin() + static_cast<ptrdiff_t>(header_.sections[i].offset));
    }
    return table;
  }

  const TokenizerContent& content_;
  TableHeader header_;
  std::array<std::vector<std::byte>, static_cast<size_t>(Section::count)> sections_;
  std::string text_;
  PieceIndex ids_;
  std::map<uint32_t, std::string> normal_forms_;  // of added tokens, by id
  std::vector<uint32_t> byte_ids_;
};

}  // namespace

Result<std::vector<std::byte>> write_token_table(const TokenizerContent& content) { return TableWriter(content).write(); }

}  // namespace pteron::text
