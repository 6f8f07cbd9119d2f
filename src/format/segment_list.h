// The segments of a file to be written: which blobs there are, where they lie, and their bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "format/blob.h"
#include "format/model.h"

namespace pteron::format {

class SegmentList {
 public:
  // Every segment begins at a multiple of `alignment`, counted from the segment base.
  explicit SegmentList(uint64_t alignment) : alignment_(alignment) {}

  struct Request {
    const Blob* blob;
    uint64_t alignment;  // any positive number
    std::string field;   // for errors
  };

  // Appends a segment, equal to another or not; its index.
  uint32_t append(Blob blob, std::string field);

  // Appends segments for the blobs in their order, one for all blobs with the same bytes; the index of each blob's segment.
  // Blobs of one size are compared by their digests.
  Result<std::vector<uint32_t>> append_shared(const std::vector<Request>& requests);

  // Assigns the places, after the last append. Offsets are relative to the base; an empty segment is at 0.
  Status place();
  const std::vector<Segment>& segments() const { return segments_; }
  uint64_t data_size() const { return data_size_; }  // from the base to the end of the last byte

  // Sends the segments and the padding between them, from the base on.
  Status stream(const ByteSink& sink) const;

 private:
  struct Entry {
    Blob blob;
    uint64_t alignment;
    std::string field;
  };
  uint64_t alignment_;
  std::vector<Entry> entries_;
  std::vector<Segment> segments_;
  uint64_t data_size_ = 0;
};

}  // namespace pteron::format
