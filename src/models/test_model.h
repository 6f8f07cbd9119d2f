// For tests: descriptions from JSON text, and weights that exist only by name and shape.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/constant_recipes.h"
#include "models/family.h"

namespace pteron::models {

// Tensors of zeros; names that are not added do not exist.
class TestWeights : public WeightSource {
 public:
  void add(const std::string& name, std::vector<int64_t> shape) {
    uint64_t count = 1;
    for (int64_t size : shape) count *= static_cast<uint64_t>(size);
    tensors_[name] = *constant_from_values(std::move(shape), std::vector<float>(count));
  }
  void add(const std::string& name, ConstantPtr source) { tensors_[name] = std::move(source); }
  void remove(const std::string& name) { tensors_.erase(name); }
  ConstantPtr find(const std::string& name) const override {
    const auto it = tensors_.find(name);
    return it == tensors_.end() ? nullptr : it->second;
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const auto& [name, source] : tensors_) out.push_back(name);
    return out;
  }
  std::string location(const std::string&) const override { return "model.safetensors"; }

 private:
  std::map<std::string, ConstantPtr> tensors_;
};

inline Result<Decoder> describe_text(const std::string& json, const HasTensor& has = [](const std::string&) { return false; }) {
  return describe(nlohmann::json::parse(json), "config.json", has);
}

// The description, or a test failure.
inline Decoder described(const std::string& json, const HasTensor& has = [](const std::string&) { return false; }) {
  auto out = describe_text(json, has);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return out.ok() ? std::move(*out) : Decoder{.blocks = {Block{}, Block{}, Block{}, Block{}, Block{}, Block{}}};
}

// The error of a description that must fail: "field: found".
inline std::string refused(const std::string& json) {
  const auto out = describe_text(json);
  return out.ok() ? "accepted" : out.status().detail().field + ": " + out.status().detail().found;
}

}  // namespace pteron::models
