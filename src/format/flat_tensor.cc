#include "format/flat_tensor.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "format/flat_tensor_generated.h"
#include "format/flat_tensor_header.h"
#include "format/flatbuffer_reader.h"
#include "format/model.h"
#include "format/tensor_shape.h"
#include "format/text_checks.h"

namespace pteron::format {
namespace {

namespace fb = flat_tensor_flatbuffer;

Result<std::vector<Segment>> read_segments(FieldReader& fields, const fb::FlatTensor& from, const FlatTensorHeader& header) {
  std::vector<Segment> segments;
  PTERON_TRY(fields.each(from.segments(), "segments", [&](const fb::DataSegment& entry, size_t) -> Status {
    if (!range_inside(entry.offset(), entry.size(), header.segment_data_size)) {
      return malformed("offset", "a segment within " + std::to_string(header.segment_data_size) + " bytes of segment data",
                       std::to_string(entry.size()) + " bytes at " + std::to_string(entry.offset()));
    }
    segments.push_back({header.segment_base + entry.offset(), entry.size()});
    return {};
  }));
  return segments;
}

Status read_layout(FieldReader& fields, const fb::TensorLayout& from, const Segment& segment, FlatTensor& to) {
  TensorLayout& layout = to.layout.emplace();
  layout.dtype = static_cast<ScalarType>(from.scalar_type());
  PTERON_TRY(fields.numbers(from.sizes(), "sizes", layout.sizes));
  PTERON_TRY(fields.numbers(from.dim_order(), "dim_order", layout.dim_order));
  PTERON_ASSIGN(const size_t nbytes, checked_nbytes(layout.dtype, layout.sizes, layout.dim_order));
  if (nbytes > segment.size) return malformed("sizes", "a tensor within its segment of " + std::to_string(segment.size) + " bytes", std::to_string(nbytes) + " bytes");
  const size_t alignment = element_alignment(layout.dtype);
  if (nbytes > 0 && segment.offset % alignment != 0) {
    return malformed("sizes", "data aligned to " + std::to_string(alignment) + " bytes", "offset " + std::to_string(segment.offset));
  }
  to.bytes = to.bytes.first(nbytes);
  return {};
}

Status read_entry(FieldReader& fields, const fb::NamedData& from, ByteSpan file, const std::vector<Segment>& segments, FlatTensor& to) {
  PTERON_TRY(fields.required_text(from.key(), "key", to.key));
  PTERON_TRY(check_name(to.key, "key"));
  if (from.segment_index() >= segments.size()) {
    return malformed("segment_index", "one of " + std::to_string(segments.size()) + " segments", std::to_string(from.segment_index()));
  }
  const Segment& segment = segments[from.segment_index()];
  to.bytes = file.subspan(segment.offset, segment.size);
  if (!from.tensor_layout()) return {};
  return std::move(read_layout(fields, *from.tensor_layout(), segment, to)).in_field("tensor_layout");
}

Result<std::vector<FlatTensor>> read_entries(ByteSpan file) {
  PTERON_ASSIGN(const FlatTensorHeader header, read_flat_tensor_header(file));
  const ByteSpan region = file.first(header.flatbuffer_end);
  PTERON_ASSIGN(const fb::FlatTensor* root, verified_root<fb::FlatTensor>(region, fb::FlatTensorIdentifier()));
  FieldReader fields(region.size());
  if (root->version() != 0) return malformed("version", "0", std::to_string(root->version()), Code::unsupported);
  PTERON_TRY(fields.present(root->segments(), "segments"));
  PTERON_TRY(fields.present(root->named_data(), "named_data"));
  PTERON_ASSIGN(const std::vector<Segment> segments, read_segments(fields, *root, header));
  std::vector<FlatTensor> entries;
  PTERON_TRY(fields.each(root->named_data(), "named_data",
                         [&](const fb::NamedData& entry, size_t) { return read_entry(fields, entry, file, segments, entries.emplace_back()); }));
  std::sort(entries.begin(), entries.end(), [](const FlatTensor& a, const FlatTensor& b) { return a.key < b.key; });
  const auto twice = std::adjacent_find(entries.begin(), entries.end(), [](const FlatTensor& a, const FlatTensor& b) { return a.key == b.key; });
  if (twice != entries.end()) return malformed("named_data.key", "different keys", "'" + twice->key + "' twice");
  return entries;
}

}  // namespace

struct FlatTensorFile::Impl {
  FileBytes file;
  std::vector<FlatTensor> entries;
};

Result<FlatTensorFile> FlatTensorFile::open(FileBytes file) {
  auto entries = read_entries(file.bytes());
  if (!entries.ok()) return std::move(entries).status().in_file(file.path());
  return FlatTensorFile(std::make_shared<const Impl>(Impl{std::move(file), std::move(entries).value()}));
}

const std::vector<FlatTensor>& FlatTensorFile::entries() const { return impl_->entries; }
const std::string& FlatTensorFile::path() const { return impl_->file.path(); }

const FlatTensor* FlatTensorFile::find(std::string_view key) const {
  const auto& entries = impl_->entries;
  const auto at = std::lower_bound(entries.begin(), entries.end(), key, [](const FlatTensor& entry, std::string_view k) { return entry.key < k; });
  return at != entries.end() && at->key == key ? &*at : nullptr;
}

}  // namespace pteron::format
