#include <set>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "format/flat_tensor.h"
#include "format/flat_tensor_generated.h"
#include "format/flat_tensor_header.h"
#include "format/malformed.h"
#include "format/program_layout.h"
#include "format/segment_list.h"
#include "format/tensor_shape.h"
#include "format/text_checks.h"

namespace pteron::format {
namespace {

namespace fb = flat_tensor_flatbuffer;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr uint64_t kSegmentAlignment = 128;

Status check_entry(const FlatTensorToWrite& entry) {
  PTERON_TRY(check_name(entry.key, "named_data.key"));
  if (!entry.layout) return {};
  PTERON_ASSIGN(const size_t nbytes, checked_nbytes(entry.layout->dtype, entry.layout->sizes, entry.layout->dim_order));
  if (nbytes == entry.blob.size) return {};
  return malformed("named_data." + entry.key, std::to_string(nbytes) + " bytes", std::to_string(entry.blob.size), Code::invalid_argument);
}

std::vector<std::byte> encode(const std::vector<FlatTensorToWrite>& tensors, const std::vector<uint32_t>& indices, const std::vector<Segment>& segments) {
  FlatBufferBuilder builder;
  std::vector<Offset<fb::DataSegment>> places;
  for (const Segment& segment : segments) places.push_back(fb::CreateDataSegment(builder, segment.offset, segment.size));
  std::vector<Offset<fb::NamedData>> names;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto key = builder.CreateString(tensors[i].key);
    Offset<fb::TensorLayout> layout;
    if (const auto& from = tensors[i].layout) {
      const auto sizes = builder.CreateVector(from->sizes);
      const auto dim_order = builder.CreateVector(from->dim_order);
      layout = fb::CreateTensorLayout(builder, static_cast<int8_t>(from->dtype), sizes, dim_order);
    }
    names.push_back(fb::CreateNamedData(builder, key, indices[i], layout));
  }
  const auto segment_vector = builder.CreateVector(places);
  const auto name_vector = builder.CreateVector(names);
  builder.Finish(fb::CreateFlatTensor(builder, 0, segment_vector, name_vector), fb::FlatTensorIdentifier());
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {bytes, bytes + builder.GetSize()};
}

}  // namespace

Status write_flat_tensors(const std::vector<FlatTensorToWrite>& tensors, const ByteSink& sink) {
  std::vector<SegmentList::Request> requests;
  std::set<std::string_view> keys;
  for (const FlatTensorToWrite& tensor : tensors) {
    PTERON_TRY(check_entry(tensor));
    if (!keys.insert(tensor.key).second) return malformed("named_data.key", "different keys", "'" + tensor.key + "' twice", Code::invalid_argument);
    requests.push_back({&tensor.blob, tensor.alignment, "named_data." + tensor.key});
  }
  SegmentList list(kSegmentAlignment);
  PTERON_ASSIGN(const std::vector<uint32_t> indices, list.append_shared(requests));
  PTERON_TRY(list.place());
  const std::vector<std::byte> tables = encode(tensors, indices, list.segments());
  FlatTensorHeader header;
  header.flatbuffer_end = tables.size() + kFlatTensorHeaderBytes;
  if (header.flatbuffer_end > kMaxFlatBuffer) return malformed("size", "less than 2 GiB of tables", std::to_string(header.flatbuffer_end), Code::out_of_capacity);
  header.segment_base = align_up(header.flatbuffer_end, kSegmentAlignment);
  header.segment_data_size = list.data_size();
  Output out(sink);
  PTERON_TRY(write_with_header(tables, make_flat_tensor_header(header), out));
  PTERON_TRY(out.pad_to(header.segment_base));
  return list.stream(out.sink());
}

Status write_flat_tensors(const std::vector<FlatTensorToWrite>& tensors, FileWriter& out) {
  return write_flat_tensors(tensors, [&](ByteSpan bytes) { return out.write(bytes); });
}

}  // namespace pteron::format
