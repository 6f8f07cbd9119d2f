#include "text/piece_index.h"

#include "text/token_table.h"

namespace pteron::text {
namespace {

uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash) | 1U; }

}  // namespace

bool PieceIndex::add(std::string_view text, uint32_t id) {
  if (2 * (count_ + 1) > slots_.size()) grow();
  const uint64_t hash = hash_bytes(text);
  size_t slot = slot_of(hash, slots_.size());
  for (; tags_[slot] != 0; slot = slot + 1 == slots_.size() ? 0 : slot + 1) {
    if (tags_[slot] == tag_of(hash) && slots_[slot].first == text) return false;
  }
  tags_[slot] = tag_of(hash);
  slots_[slot] = {text, id};
  ++count_;
  return true;
}

uint32_t PieceIndex::find(std::string_view text) const {
  if (slots_.empty()) return kNoId;
  const uint64_t hash = hash_bytes(text);
  for (size_t slot = slot_of(hash, slots_.size()); tags_[slot] != 0; slot = slot + 1 == slots_.size() ? 0 : slot + 1) {
    if (tags_[slot] == tag_of(hash) && slots_[slot].first == text) return slots_[slot].second;
  }
  return kNoId;
}

void PieceIndex::grow() {
  const auto old = std::move(slots_);
  const std::vector<uint32_t> old_tags = std::move(tags_);
  slots_.assign(old.empty() ? 64 : 2 * old.size(), {});
  tags_.assign(slots_.size(), 0);
  count_ = 0;
  for (size_t i = 0; i < old.size(); ++i) {
    if (old_tags[i] != 0) add(old[i].first, old[i].second);
  }
}

}  // namespace pteron::text
