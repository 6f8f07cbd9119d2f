#include "format/segment_list.h"

#include <map>
#include <numeric>
#include <utility>

#include "base/checked.h"
#include "base/sha256.h"

namespace pteron::format {
namespace {

constexpr uint64_t kMaxAlignment = uint64_t{1} << 30;

Status limit(const std::string& field, const std::string& expected, uint64_t found) {
  return Status::error(Code::invalid_argument, "cannot lay out segments", {{}, field, expected, std::to_string(found)});
}

Result<Digest> digest_of(const Blob& blob, const std::string& field) {
  Sha256 hash;
  PTERON_TRY(stream_exactly(blob, field, [&](ByteSpan bytes) {
    hash.update(bytes);
    return Status();
  }));
  return hash.finish();
}

}  // namespace

uint32_t SegmentList::append(Blob blob, std::string field) {
  entries_.push_back({std::move(blob), alignment_, std::move(field)});
  return static_cast<uint32_t>(entries_.size() - 1);
}

Result<std::vector<uint32_t>> SegmentList::append_shared(const std::vector<Request>& requests) {
  std::map<uint64_t, size_t> of_size;
  for (const Request& request : requests) of_size[request.blob->size] += request.blob->distinct ? 0 : 1;
  std::map<std::pair<uint64_t, Digest>, uint32_t> known;
  std::vector<uint32_t> indices;
  for (const Request& request : requests) {
    const Blob& blob = *request.blob;
    if (request.alignment == 0 || request.alignment > kMaxAlignment) return limit(request.field, "an alignment of 1..2^30", request.alignment);
    uint32_t index = static_cast<uint32_t>(entries_.size());
    if (!blob.distinct && of_size[blob.size] > 1) {
      PTERON_ASSIGN(const Digest digest, digest_of(blob, request.field));
      index = known.emplace(std::pair(blob.size, digest), index).first->second;
    }
    if (index == entries_.size()) append(blob, request.field);
    uint64_t& alignment = entries_[index].alignment;
    alignment = std::lcm(alignment, request.alignment);
    if (alignment > kMaxAlignment) return limit(request.field, "alignments with a common multiple of at most 2^30", alignment);
    indices.push_back(index);
  }
  return indices;
}

Status SegmentList::place() {
  segments_.clear();
  data_size_ = 0;
  for (const Entry& entry : entries_) {
    if (entry.blob.size == 0) {
      segments_.push_back({0, 0});
      continue;
    }
    const auto offset = checked_align(data_size_, entry.alignment);
    const auto end = offset ? checked_add(*offset, entry.blob.size) : std::nullopt;
    if (!end) return limit(entry.field, "segments below 2^64 bytes", entry.blob.size);
    segments_.push_back({*offset, entry.blob.size});
    data_size_ = *end;
  }
  return {};
}

Status SegmentList::stream(const ByteSink& sink) const {
  Output output(sink);
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (segments_[i].size == 0) continue;
    PTERON_TRY(output.pad_to(segments_[i].offset));
    PTERON_TRY(stream_exactly(entries_[i].blob, entries_[i].field, output.sink()));
  }
  return {};
}

}  // namespace pteron::format
