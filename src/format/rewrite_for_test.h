// For tests: a program that was read, as something to write again.
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "format/program_writer.h"
#include "format/verified_program.h"

namespace pteron::format {

// Entries get the size of the largest tensor that refers to them; `read` must outlive the result.
inline ProgramToWrite rewrite(const VerifiedProgram& read) {
  ProgramToWrite to;
  to.plans = read.program().plans;
  const auto put = [](std::vector<Blob>& blobs, uint32_t index, ByteSpan bytes) {
    if (blobs.size() < index) blobs.resize(index);
    if (bytes.size() > blobs[index - 1].size) blobs[index - 1] = borrowed_blob(bytes);
  };
  for (Plan& plan : to.plans) {
    for (const Value& value : plan.values) {
      const auto* tensor = std::get_if<Tensor>(&value);
      if (!tensor || tensor->external || tensor->data_buffer_idx == 0) continue;
      const uint32_t index = tensor->data_buffer_idx;
      if (tensor->allocation) {
        put(to.mutable_data, index, read.initial_state(index, tensor->nbytes));
      } else {
        put(to.constants, index, read.constant(index, tensor->nbytes));
      }
    }
    for (Delegate& delegate : plan.delegates) {
      to.delegate_blobs.push_back(borrowed_blob(read.delegate_data(delegate)));
      delegate.index = static_cast<uint32_t>(to.delegate_blobs.size() - 1);
    }
  }
  for (const NamedData& data : read.program().named_data) to.named_data.push_back({data.key, borrowed_blob(*read.segment(data.segment_index)), 16});
  return to;
}

// What `write_program` sends, in memory that starts at a multiple of 64.
inline Result<std::vector<std::byte>> written(ProgramToWrite program) {
  std::vector<std::byte> file;
  PTERON_TRY(write_program(std::move(program), [&](ByteSpan bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
    return Status();
  }));
  return file;
}

}  // namespace pteron::format
