// Tensor files (safetensors): how tensors come in from and go out to the file system.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pteron/status.h"
#include "pteron/tensor.h"

namespace pteron {

/// The tensors of a safetensors file.
class TensorFile {
 public:
  static Result<TensorFile> open(const std::string& path);

  TensorFile(TensorFile&&) noexcept;
  TensorFile& operator=(TensorFile&&) noexcept;
  ~TensorFile();

  /// Names, sorted.
  const std::vector<std::string>& names() const;
  /// A tensor in row-major order; valid while the file object lives. `not_found` names the tensor and the file.
  Result<TensorView> tensor(std::string_view name) const;

 private:
  struct Impl;
  explicit TensorFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// A tensor to be written: contiguous, row-major.
struct NamedTensor {
  std::string name;
  TensorView tensor;
};

/// Writes a safetensors file, whole or not at all, tensors in the order given.
Status write_tensor_file(const std::string& path, const std::vector<NamedTensor>& tensors);

}  // namespace pteron
