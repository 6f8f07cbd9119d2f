// Tensors by name, each with the file it came from: the WeightSource of every importer.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/constant_source.h"

namespace pteron::importer {

class NamedWeights : public WeightSource {
 public:
  // `origin` is what `location` says for names that are not there.
  explicit NamedWeights(std::string origin) : origin_(std::move(origin)) {}

  // Adds a tensor; an error that names both files if the name is taken.
  Status add(const std::string& name, ConstantPtr source, const std::string& file);

  ConstantPtr find(const std::string& name) const override;
  std::vector<std::string> names() const override;
  std::string location(const std::string& name) const override;

 private:
  struct Entry {
    ConstantPtr source;
    std::string file;
  };
  std::string origin_;
  std::map<std::string, Entry> entries_;
};

}  // namespace pteron::importer
