// Bytes to be written that are produced when their turn comes, never held.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "core/constant_source.h"

namespace pteron::format {

struct Blob {
  uint64_t size = 0;
  // Sends exactly `size` bytes, the same each time: a writer may ask twice, once to compare blobs. Unused where size is 0.
  std::function<Status(const ByteSink&)> stream;
  // The caller knows that no other blob has these bytes, so the writer need not produce them to compare.
  bool distinct = false;
};

Blob borrowed_blob(ByteSpan bytes);  // which must outlive the blob
Blob owned_blob(std::vector<std::byte> bytes);
Blob constant_blob(ConstantPtr source);

// Streams a blob; an error that names `field` if it sends more or fewer bytes than it said.
Status stream_exactly(const Blob& blob, const std::string& field, const ByteSink& sink);

// Blobs one after another, each at a multiple of `alignment`, as one blob. `offsets` receives where each begins.
Blob packed_blob(std::vector<Blob> blobs, uint64_t alignment, std::string field, std::vector<uint64_t>& offsets);

// Counts what goes to a sink, and pads.
class Output {
 public:
  explicit Output(const ByteSink& sink) : sink_(sink) {}
  Status write(ByteSpan bytes);
  Status pad_to(uint64_t position);  // zeros; `position` is not behind
  uint64_t position() const { return position_; }
  ByteSink sink();

 private:
  const ByteSink& sink_;
  uint64_t position_ = 0;
};

// A finished FlatBuffer with `block` put in behind its identifier. Only the root offset counts from the start of the file; it grows by the
// block, whose size must be a multiple of the largest alignment inside.
Status write_with_header(ByteSpan flatbuffer, ByteSpan block, Output& out);

}  // namespace pteron::format
