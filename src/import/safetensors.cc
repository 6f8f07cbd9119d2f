#include "import/safetensors.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/checked.h"
#include "core/constant_recipes.h"
#include "import/json_text.h"
#include "import/named_weights.h"

namespace pteron::importer {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kIndexName = "model.safetensors.index.json";

struct DtypeName {
  std::string_view name;
  ScalarType dtype;
};
constexpr std::array kDtypes = {
    DtypeName{"F64", ScalarType::Double},    DtypeName{"F32", ScalarType::Float},  DtypeName{"F16", ScalarType::Half},
    DtypeName{"BF16", ScalarType::BFloat16}, DtypeName{"I64", ScalarType::Long},   DtypeName{"I32", ScalarType::Int},
    DtypeName{"I16", ScalarType::Short},     DtypeName{"I8", ScalarType::Char},    DtypeName{"U64", ScalarType::UInt64},
    DtypeName{"U32", ScalarType::UInt32},    DtypeName{"U16", ScalarType::UInt16}, DtypeName{"U8", ScalarType::Byte},
    DtypeName{"BOOL", ScalarType::Bool},
};

Result<ScalarType> dtype_of(const std::string& name) {
  std::string known;
  for (const DtypeName& row : kDtypes) {
    if (row.name == name) return row.dtype;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  return Status::error(Code::unsupported, "a tensor has an unsupported dtype", {"", "dtype", "one of " + known, name});
}

// A tensor's place in the data section, to find overlaps and holes.
struct Extent {
  uint64_t begin, end;
  std::string name;
};

Status wrong_field(std::string field, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, "malformed safetensors header", {"", std::move(field), std::move(expected), std::move(found)});
}

Result<std::vector<uint64_t>> unsigned_list(const json& entry, const char* field) {
  const auto list = entry.find(field);
  if (list == entry.end() || !list->is_array()) return wrong_field(field, "a list", list == entry.end() ? "nothing" : json_kind(*list));
  std::vector<uint64_t> numbers;
  for (const json& item : *list) {
    if (!item.is_number_unsigned())
      return wrong_field(field, "non-negative integers", item.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 40));
    numbers.push_back(item.get<uint64_t>());
  }
  return numbers;
}

Result<ConstantPtr> parse_entry(const json& entry, ByteSpan data, const std::shared_ptr<const FileBytes>& file, Extent& extent) {
  if (!entry.is_object()) return wrong_field("", "an object", json_kind(entry));
  const auto dtype_field = entry.find("dtype");
  if (dtype_field == entry.end() || !dtype_field->is_string())
    return wrong_field("dtype", "a string", dtype_field == entry.end() ? "nothing" : json_kind(*dtype_field));
  PTERON_ASSIGN(const ScalarType dtype, dtype_of(dtype_field->get<std::string>()));
  PTERON_ASSIGN(const std::vector<uint64_t> sizes, unsigned_list(entry, "shape"));
  std::vector<int64_t> shape;
  for (uint64_t size : sizes) {
    if (size > INT64_MAX) return wrong_field("shape", "sizes below 2^63", std::to_string(size));
    shape.push_back(static_cast<int64_t>(size));
  }
  PTERON_ASSIGN(const std::vector<uint64_t> offsets, unsigned_list(entry, "data_offsets"));
  if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size()) {
    std::string found;
    for (uint64_t offset : offsets) found += (found.empty() ? "" : ", ") + std::to_string(offset);
    return wrong_field("data_offsets", "begin and end within the " + std::to_string(data.size()) + " bytes of data", "[" + found + "]");
  }
  extent.begin = offsets[0];
  extent.end = offsets[1];
  return constant_from_bytes(dtype, std::move(shape), data.subspan(extent.begin, extent.end - extent.begin), file);
}

Status check_extents(std::vector<Extent>& extents, uint64_t data_size) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name); });
  uint64_t position = 0;
  std::string previous = "the header";
  for (const Extent& extent : extents) {
    if (extent.begin != position) {
      return Status::error(Code::invalid_data, extent.begin < position ? "two tensors overlap" : "a hole between tensors",
                           {"", extent.name, "to begin at byte " + std::to_string(position) + ", where " + previous + " ends",
                            std::to_string(extent.begin)});
    }
    position = extent.end;
    previous = extent.name;
  }
  if (position == data_size) return Status();
  return Status::error(Code::invalid_data, "bytes after the last tensor",
                       {"", "", std::to_string(position) + " bytes of data", std::to_string(data_size)});
}

Result<std::vector<SafetensorsEntry>> parse(const std::shared_ptr<const FileBytes>& file) {
  const ByteSpan bytes = file->bytes();
  if (bytes.size() < 8)
    return Status::error(Code::invalid_data, "no safetensors file",
                         {"", "header size", "8 bytes", std::to_string(bytes.size()) + " bytes in the file"});
  const auto header_size = load_unaligned<uint64_t>(bytes.data());
  if (header_size > bytes.size() - 8 || header_size > kMaxJsonBytes) {
    return Status::error(
        Code::invalid_data, "no safetensors file, or a truncated one",
        {"", "header size", "at most " + std::to_string(std::min<uint64_t>(bytes.size() - 8, kMaxJsonBytes)), std::to_string(header_size)});
  }
  Result<json> header = parse_json(as_text(bytes.subspan(8, header_size)));
  if (!header.ok()) return std::move(header).status().in_field("header");
  if (!header->is_object())
    return Status::error(Code::invalid_data, "malformed safetensors header", {"", "header", "an object", json_kind(*header)});

  const ByteSpan data = bytes.subspan(8 + header_size);
  std::vector<SafetensorsEntry> entries;
  std::vector<Extent> extents;
  for (const auto& [name, entry] : header->items()) {
    if (name == "__metadata__") continue;
    Extent extent{0, 0, name};
    Result<ConstantPtr> source = parse_entry(entry, data, file, extent);
    if (!source.ok()) return std::move(source).status().in_field(name);
    entries.push_back({name, std::move(source).value()});
    extents.push_back(std::move(extent));
  }
  PTERON_TRY(check_extents(extents, data.size()));
  return entries;
}

// The file that each tensor of an index is in.
Result<std::map<std::string, std::string>> read_index(const std::string& path) {
  PTERON_ASSIGN(const json index, read_json_object(path));
  const auto weights = index.find("weight_map");
  if (weights == index.end() || !weights->is_object() || weights->empty()) {
    return Status::error(
        Code::invalid_data, "malformed shard index",
        {path, "weight_map", "an object with file names by tensor", weights == index.end() ? "nothing" : json_kind(*weights)});
  }
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : weights->items()) {
    const bool plain = file.is_string() && !file.get_ref<const std::string&>().empty() &&
                       fs::path(file.get<std::string>()).filename() == file.get<std::string>();
    if (!plain || file == ".." || file == ".") {
      return Status::error(
          Code::invalid_data, "malformed shard index",
          {path, "weight_map." + tensor, "a file name without folders", file.is_string() ? file.get<std::string>() : json_kind(file)});
    }
    files[tensor] = file.get<std::string>();
  }
  return files;
}

Result<std::shared_ptr<const WeightSource>> open_shards(const std::string& folder, const std::string& index_path,
                                                        std::vector<std::string>& files) {
  using Files = std::map<std::string, std::string>;
  PTERON_ASSIGN(const Files index, read_index(index_path));
  files.push_back(index_path);
  auto weights = std::make_shared<NamedWeights>(index_path);
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : index) shards.insert(shard);
  for (const std::string& shard : shards) {
    const std::string path = (fs::path(folder) / shard).string();
    std::error_code ignored;
    if (!fs::exists(path, ignored))
      return Status::error(Code::not_found, "a shard is missing",
                           {path, "", "the file that " + std::string(kIndexName) + " names", "nothing"});
    PTERON_ASSIGN(const std::vector<SafetensorsEntry> entries, open_safetensors(path));
    for (const SafetensorsEntry& entry : entries) PTERON_TRY(weights->add(entry.name, entry.source, path));
    files.push_back(path);
  }
  for (const auto& [tensor, shard] : index) {
    const std::string path = (fs::path(folder) / shard).string();
    if (weights->find(tensor) == nullptr)
      return Status::error(Code::invalid_data, "a tensor of the index is missing", {index_path, tensor, "in " + path, "no such tensor"});
    if (weights->location(tensor) != path) {
      return Status::error(Code::invalid_data, "a tensor is in another shard than the index says",
                           {index_path, tensor, path, weights->location(tensor)});
    }
  }
  return std::shared_ptr<const WeightSource>(std::move(weights));
}

// Why a folder has no weights, in the words that help most.
Status no_weights(const std::string& folder) {
  std::error_code error;
  std::string found;
  bool empty = true;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    empty = false;
    const std::string name = it->path().filename().string(), extension = it->path().extension().string();
    if (extension == ".bin" || extension == ".pt" || extension == ".pth" || extension == ".safetensors" || extension == ".gguf" ||
        extension == ".h5") {
      if (found.empty() || name < found) found = name;
    }
  }
  return Status::error(Code::not_found, "no weights in the checkpoint",
                       {folder, "", "model.safetensors or " + std::string(kIndexName),
                        empty           ? "an empty folder"
                        : found.empty() ? "neither"
                                        : "only " + found});
}

}  // namespace

Result<std::vector<SafetensorsEntry>> parse_safetensors(FileBytes file) {
  const auto shared = std::make_shared<const FileBytes>(std::move(file));
  Result<std::vector<SafetensorsEntry>> entries = parse(shared);
  if (!entries.ok()) return std::move(entries).status().in_file(shared->path());
  return entries;
}

Result<std::vector<SafetensorsEntry>> open_safetensors(const std::string& path) {
  PTERON_ASSIGN(FileBytes file, FileBytes::map(path));
  return parse_safetensors(std::move(file));
}

Result<std::shared_ptr<const WeightSource>> open_safetensors_folder(const std::string& folder, std::vector<std::string>& files) {
  const std::string single = (fs::path(folder) / "model.safetensors").string(), index = (fs::path(folder) / kIndexName).string();
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(single, ignored))) {
    PTERON_ASSIGN(const std::vector<SafetensorsEntry> entries, open_safetensors(single));
    auto weights = std::make_shared<NamedWeights>(single);
    for (const SafetensorsEntry& entry : entries) PTERON_TRY(weights->add(entry.name, entry.source, single));
    files.push_back(single);
    return std::shared_ptr<const WeightSource>(std::move(weights));
  }
  if (fs::exists(fs::symlink_status(index, ignored))) return open_shards(folder, index, files);
  return no_weights(folder);
}

}  // namespace pteron::importer
