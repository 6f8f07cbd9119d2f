#include "text/token_table.h"

#include <algorithm>

#include "base/checked.h"
#include "text/unicode.h"

namespace pteron::text {
namespace {

constexpr uint32_t kMaxProbes = 4096;     // a search in a hashed section ends after so many slots
constexpr size_t kMaxOps = 64;            // steps of a pipeline
constexpr size_t kMaxTemplateIds = 1024;  // ids around a text
constexpr uint32_t kMaxTokens = 1u << 26;

Status broken(std::string_view field, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, "broken tokenizer table", {.field = std::string(field), .expected = std::move(expected), .found = std::move(found)});
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  uint64_t hash = mix(bytes.size() + 1);
  const char* p = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; p += 8, left -= 8) hash = mix(hash ^ load_unaligned<uint64_t>(p));
  if (left > 0) {
    uint64_t tail = 0;
    std::memcpy(&tail, p, left);
    hash = mix(hash ^ tail ^ uint64_t{left} << 56);
  }
  return hash * kHashFactor;
}

Result<TokenTable> TokenTable::open(ByteSpan bytes) {
  TokenTable table;
  if (bytes.size() < sizeof(TableHeader)) {
    return broken("size", "at least " + std::to_string(sizeof(TableHeader)) + " bytes", std::to_string(bytes.size()));
  }
  TableHeader& header = table.header_ = load_unaligned<TableHeader>(bytes.data());
  if (header.magic != kTableMagic) return broken("magic", "PTRNTOK", "something else");
  if (header.version != kTableVersion) return broken("version", std::to_string(kTableVersion), std::to_string(header.version));
  if (header.model < ModelKind::bpe || header.model > ModelKind::word_level) {
    return broken("model", "1 to 4", std::to_string(static_cast<uint32_t>(header.model)));
  }
  if (header.size > kMaxTokens) return broken("size", "at most " + std::to_string(kMaxTokens), std::to_string(header.size));
  if (std::max(header.max_piece_probes, header.max_merge_probes) > kMaxProbes) return broken("probes", "at most " + std::to_string(kMaxProbes), "more");
  for (size_t i = 0; i < table.sections_.size(); ++i) {
    const SectionRange range = header.sections[i];
    if (!range_inside(range.offset, range.size, bytes.size())) {
      return broken("section " + std::to_string(i), "within " + std::to_string(bytes.size()) + " bytes",
                    std::to_string(range.offset) + " + " + std::to_string(range.size));
    }
    table.sections_[i] = bytes.subspan(range.offset, range.size);
  }
  const size_t offsets = table.count<uint32_t>(Section::token_offsets);
  if (offsets != size_t{header.size} + 1) return broken("token_offsets", std::to_string(header.size) + " + 1", std::to_string(offsets));
  if (table.section(Section::token_flags).size() != header.size) return broken("token_flags", std::to_string(header.size), "another size");
  for (const uint32_t id : {header.bos, header.eos, header.unk, header.pad, header.model_unk}) {
    if (id != kNoId && id >= header.size) return broken("special id", "below " + std::to_string(header.size), std::to_string(id));
  }
  if (header.boundary > 0x10ffff) return broken("boundary", "a character", std::to_string(header.boundary));
  for (const Section ids : {Section::prefix_ids, Section::suffix_ids}) {
    if (table.id_count(ids) > kMaxTemplateIds) return broken("template ids", "at most " + std::to_string(kMaxTemplateIds), "more");
  }
  PTERON_TRY(table.check_ops(Section::normalizer, "normalizer", static_cast<uint16_t>(NormalizerKind::collapse_spaces)));
  PTERON_TRY(table.check_ops(Section::pre_tokenizer, "pre_tokenizer", static_cast<uint16_t>(PreTokenizerKind::fixed_length)));
  PTERON_TRY(table.check_ops(Section::decoder, "decoder", static_cast<uint16_t>(DecoderKind::ctc)));
  return table;
}

Status TokenTable::check_ops(Section which, std::string_view name, uint16_t last_kind) const {
  if (section(which).size() % sizeof(Op) != 0 || op_count(which) > kMaxOps) {
    return broken(name, "at most " + std::to_string(kMaxOps) + " steps", std::to_string(section(which).size()) + " bytes");
  }
  for (size_t i = 0; i < op_count(which); ++i) {
    const Op step = op(which, i);
    if (step.kind == 0 || step.kind > last_kind) return broken(name, "a step of kind 1 to " + std::to_string(last_kind), std::to_string(step.kind));
    // Texts that end up between a text's own characters must not break its UTF-8; the character map is no text and checked by its reader.
    const bool charsmap = which == Section::normalizer && step.kind == static_cast<uint16_t>(NormalizerKind::charsmap);
    if (!charsmap && (find_invalid_utf8(op_text(step)) || find_invalid_utf8(op_more(step)))) return broken(name, "UTF-8", "other bytes");
  }
  return {};
}

std::string_view TokenTable::token(uint32_t id) const {
  if (id >= header_.size) return {};
  const auto begin = at<uint32_t>(Section::token_offsets, id);
  const auto end = at<uint32_t>(Section::token_offsets, size_t{id} + 1);
  const ByteSpan bytes = section(Section::token_bytes);
  if (begin > end || end > bytes.size()) return {};
  return as_text(bytes.subspan(begin, end - begin));
}

uint32_t TokenTable::find(std::string_view piece) const {
  const size_t slots = count<uint32_t>(Section::piece_slots);
  if (slots == 0) return kNoId;
  size_t slot = slot_of(hash_bytes(piece), slots);
  for (uint32_t probe = 0; probe < header_.max_piece_probes; ++probe) {
    const auto entry = at<uint32_t>(Section::piece_slots, slot);
    if (entry == 0) return kNoId;
    if (entry - 1 < header_.size && token(entry - 1) == piece) return entry - 1;
    if (++slot == slots) slot = 0;
  }
  return kNoId;
}

Merge TokenTable::merge(uint32_t left, uint32_t right) const {
  const size_t slots = count<MergeSlot>(Section::merge_slots);
  if (slots == 0) return {};
  size_t slot = slot_of(hash_pair(left, right), slots);
  for (uint32_t probe = 0; probe < header_.max_merge_probes; ++probe) {
    const auto entry = at<MergeSlot>(Section::merge_slots, slot);
    if (entry.left == left && entry.right == right) return entry.result < header_.size ? Merge{entry.rank, entry.result} : Merge{};
    if (entry.left == kNoId) return {};
    if (++slot == slots) slot = 0;
  }
  return {};
}

AddedEntry TokenTable::added(uint32_t index) const {
  if (index >= count<AddedEntry>(Section::added)) return {.id = kNoId};
  AddedEntry entry = at<AddedEntry>(Section::added, index);
  entry.id = valid_id(entry.id);
  return entry;
}

bool TokenTable::is_glue(uint32_t character) const {
  size_t low = 0, high = count<uint32_t>(Section::glue);
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const auto value = at<uint32_t>(Section::glue, middle);
    if (value == character) return true;
    if (value < character) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return false;
}

std::string_view TokenTable::text(uint32_t offset, uint32_t size) const {
  const ByteSpan all = section(Section::text);
  return range_inside(offset, size, all.size()) ? as_text(all.subspan(offset, size)) : std::string_view();
}

}  // namespace pteron::text
