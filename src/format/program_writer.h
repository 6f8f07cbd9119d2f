// The program as plain values and recipes for its bytes -> a `.pte`, streamed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "format/blob.h"
#include "format/model.h"

namespace pteron::format {

struct NamedBlob {
  std::string key;         // unique in the program
  Blob blob;
  uint64_t alignment = 1;  // of the bytes, counted from the segment base (which is aligned to the segment alignment); any positive number
};

// What becomes of it: the metadata first, then segment 0 (the constants, always there), the initial state of mutable buffers if there is any,
// the delegate blobs, the named data. Equal delegate blobs share a segment, and so do equal named blobs.
struct ProgramToWrite {
  // Tensors refer to `constants` (or, with an allocation, to `mutable_data`) by data_buffer_idx = position + 1; `nbytes` need not be set.
  // Delegate::index is a position in `delegate_blobs`; `in_segment` is decided by the writer: empty blobs stay inline.
  std::vector<Plan> plans;
  std::vector<Blob> constants;  // not compared with each other: who makes the tensors decides what they share
  std::vector<Blob> mutable_data;
  std::vector<Blob> delegate_blobs;
  std::vector<NamedBlob> named_data;
  uint64_t segment_alignment = 128;  // powers of two
  uint64_t constant_alignment = 16;
};

// Checks the program by the rules of the verifier, then writes it. Equal input gives equal bytes. Needs memory for the metadata only.
// Errors of producers and of the sink pass through.
Status write_program(ProgramToWrite program, const ByteSink& out);
Status write_program(ProgramToWrite program, FileWriter& out);

}  // namespace pteron::format
