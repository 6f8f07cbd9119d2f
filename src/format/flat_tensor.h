// Tensors and blobs outside the program (`.ptd`, identifier FT01), by name.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "format/blob.h"
#include "pteron/tensor.h"

namespace pteron::format {

struct TensorLayout {
  ScalarType dtype = ScalarType::Float;
  std::vector<int32_t> sizes;
  std::vector<uint8_t> dim_order;
  bool operator==(const TensorLayout&) const = default;
};

struct FlatTensor {
  std::string key;
  std::optional<TensorLayout> layout;  // none: an opaque blob, for a delegate
  ByteSpan bytes;                      // with a layout: exactly its byte count, aligned in the file to its element
};

// A `.ptd` that has been verified: every entry lies inside the file, keys are unique and not empty, layouts are sound (`checked_nbytes`).
// Copies share the bytes, which live as long as any of them. Immutable; safe to share by threads.
class FlatTensorFile {
 public:
  // Reads the tables only. Errors name the file and the field.
  static Result<FlatTensorFile> open(FileBytes file);

  const std::vector<FlatTensor>& entries() const;  // sorted by key
  const FlatTensor* find(std::string_view key) const;
  const std::string& path() const;

 private:
  struct Impl;
  explicit FlatTensorFile(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

struct FlatTensorToWrite {
  std::string key;
  std::optional<TensorLayout> layout;
  Blob blob;
  uint64_t alignment = 1;  // any positive number, counted from the segment base
};

// Writes a `.ptd`: header and tables, then the data streamed, segments at multiples of 128, equal bytes once.
Status write_flat_tensors(const std::vector<FlatTensorToWrite>& tensors, const ByteSink& out);
Status write_flat_tensors(const std::vector<FlatTensorToWrite>& tensors, FileWriter& out);

}  // namespace pteron::format
