#include "format/blob.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/checked.h"

namespace pteron::format {

Blob borrowed_blob(ByteSpan bytes) {
  return {bytes.size(), [bytes](const ByteSink& sink) { return sink(bytes); }};
}

Blob owned_blob(std::vector<std::byte> bytes) {
  auto shared = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const uint64_t size = shared->size();
  return {size, [shared = std::move(shared)](const ByteSink& sink) { return sink(*shared); }};
}

Blob constant_blob(ConstantPtr source) {
  const uint64_t size = source->nbytes();
  return {size, [source = std::move(source)](const ByteSink& sink) { return source->stream(sink); }};
}

Status stream_exactly(const Blob& blob, const std::string& field, const ByteSink& sink) {
  uint64_t sent = 0;
  if (blob.size > 0) {
    PTERON_TRY(blob.stream([&](ByteSpan bytes) {
      sent += bytes.size();
      return sent > blob.size ? Status() : sink(bytes);  // too many bytes are an error below, not output
    }));
  }
  if (sent == blob.size) return {};
  return Status::error(Code::internal, "a producer broke its promise", {{}, field, std::to_string(blob.size) + " bytes", std::to_string(sent)});
}

Blob packed_blob(std::vector<Blob> blobs, uint64_t alignment, std::string field, std::vector<uint64_t>& offsets) {
  uint64_t end = 0;
  std::vector<uint64_t> places;
  for (const Blob& blob : blobs) {
    places.push_back(align_up(end, alignment));
    end = places.back() + blob.size;
  }
  offsets.insert(offsets.end(), places.begin(), places.end());
  auto stream = [blobs = std::move(blobs), places = std::move(places), field = std::move(field), end](const ByteSink& sink) -> Status {
    Output output(sink);
    for (size_t i = 0; i < blobs.size(); ++i) {
      PTERON_TRY(output.pad_to(places[i]));
      PTERON_TRY(stream_exactly(blobs[i], field + "[" + std::to_string(i) + "]", output.sink()));
    }
    return output.pad_to(end);
  };
  return {end, std::move(stream), true};
}

Status Output::write(ByteSpan bytes) {
  position_ += bytes.size();
  return sink_(bytes);
}

Status Output::pad_to(uint64_t position) {
  static constexpr std::array<std::byte, 4096> kZeros{};
  while (position_ < position) {
    PTERON_TRY(write(ByteSpan(kZeros).first(std::min<uint64_t>(position - position_, kZeros.size()))));
  }
  return {};
}

ByteSink Output::sink() {
  return [this](ByteSpan bytes) { return write(bytes); };
}

Status write_with_header(ByteSpan flatbuffer, ByteSpan block, Output& out) {
  std::array<std::byte, 8> head;  // root offset and identifier
  std::memcpy(head.data(), flatbuffer.data(), head.size());
  store_unaligned(head.data(), load_unaligned<uint32_t>(head.data()) + static_cast<uint32_t>(block.size()));
  PTERON_TRY(out.write(head));
  PTERON_TRY(out.write(block));
  return out.write(flatbuffer.subspan(head.size()));
}

}  // namespace pteron::format
