// A checkpoint's tensors, checked against what a model needs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "core/constant_source.h"
#include "models/decoder.h"

namespace pteron::models {

class Weights {
 public:
  explicit Weights(const WeightSource& source) : source_(source) {}

  bool has(const std::string& name) const { return source_.find(name) != nullptr; }

  // The tensor of that name as `dtype`. It must exist, be of a float type and have that shape; else the error names file, tensor, expected and
  // found. The same name and dtype give the same source each time.
  Result<ConstantPtr> take(const std::string& name, const std::vector<int64_t>& shape, ScalarType dtype);

  // A projection's weight [out, in] or bias [out], taken out of a fused tensor or turned round where it has to be.
  Result<ConstantPtr> take_weight(const Matrix& matrix, ScalarType dtype);
  Result<ConstantPtr> take_bias(const Matrix& matrix, ScalarType dtype);
  // A norm's weight, stacked where it is stored head by head.
  Result<ConstantPtr> take_norm(const Norm& norm, ScalarType dtype);

  // Tensors that were never taken and do not end in one of `ignored`, sorted.
  std::vector<std::string> unused(const std::vector<std::string>& ignored) const;

 private:
  Result<ConstantPtr> stored(const std::string& name, const std::vector<int64_t>& shape);
  Result<ConstantPtr> remember(const std::string& key, Result<ConstantPtr> made);
  const WeightSource& source_;
  std::map<std::string, ConstantPtr> made_;
  std::set<std::string> used_;
};

// The constant name of a projection's weight or bias: the tensor's, with the part where it is fused ("...qkv_proj.weight/query").
std::string part_name(const Matrix& matrix, const std::string& tensor);

}  // namespace pteron::models
