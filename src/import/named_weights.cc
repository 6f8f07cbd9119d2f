#include "import/named_weights.h"

namespace pteron::importer {

Status NamedWeights::add(const std::string& name, ConstantPtr source, const std::string& file) {
  const auto [entry, fresh] = entries_.try_emplace(name, Entry{std::move(source), file});
  if (fresh) return Status();
  return Status::error(Code::invalid_data, "a tensor is there twice",
                       {file, name, "one tensor of that name", "another one in " + entry->second.file});
}

ConstantPtr NamedWeights::find(const std::string& name) const {
  const auto entry = entries_.find(name);
  return entry == entries_.end() ? nullptr : entry->second.source;
}

std::vector<std::string> NamedWeights::names() const {
  std::vector<std::string> names;
  names.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

std::string NamedWeights::location(const std::string& name) const {
  const auto entry = entries_.find(name);
  return entry == entries_.end() ? origin_ : entry->second.file;
}

}  // namespace pteron::importer
