// Safetensors files: the header checked, the tensors mapped.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "core/constant_source.h"

namespace pteron::importer {

struct SafetensorsEntry {
  std::string name;
  ConstantPtr source;
};

// Maps a file and checks all of its header: sizes against shapes, offsets inside the file, no overlap and no hole between tensors. Sorted
// by name.
Result<std::vector<SafetensorsEntry>> open_safetensors(const std::string& path);
// The same over bytes that are already there.
Result<std::vector<SafetensorsEntry>> parse_safetensors(FileBytes file);

// The weights of a Hugging Face folder: model.safetensors, or the shards that model.safetensors.index.json names. Appends the files read to
// `files`.
Result<std::shared_ptr<const WeightSource>> open_safetensors_folder(const std::string& folder, std::vector<std::string>& files);

}  // namespace pteron::importer
