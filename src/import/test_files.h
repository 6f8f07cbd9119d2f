// For tests: writers of small GGUF and safetensors files, good ones and broken ones.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "core/constant_source.h"

namespace pteron::importer::testing {

// A folder that vanishes with the object.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pteron_import_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, std::string_view bytes) const {
    std::ofstream(file(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file(name);
  }

 private:
  std::string path_;
};

template <class T>
std::string raw(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

inline std::string raw_floats(const std::vector<float>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

// Counts up from `first`: values that say where they came from.
inline std::vector<float> counting(size_t count, float first = 0) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

// Writes GGUF files value by value; every field can be made wrong.
class GgufWriter {
 public:
  uint32_t magic = 0x46554747, version = 3, alignment = 32;
  uint64_t tensor_count_lie = 0, value_count_lie = 0;  // added to the true counts

  GgufWriter& raw_value(const std::string& key, uint32_t type, const std::string& payload) {
    values_ += text(key) + raw(type) + payload;
    ++value_count_;
    return *this;
  }
  GgufWriter& u32(const std::string& key, uint32_t value) { return raw_value(key, 4, raw(value)); }
  GgufWriter& f32(const std::string& key, float value) { return raw_value(key, 6, raw(value)); }
  GgufWriter& boolean(const std::string& key, bool value) { return raw_value(key, 7, raw(static_cast<uint8_t>(value))); }
  GgufWriter& string(const std::string& key, const std::string& value) { return raw_value(key, 8, text(value)); }
  GgufWriter& strings(const std::string& key, const std::vector<std::string>& values) {
    std::string payload = raw(uint32_t{8}) + raw(uint64_t{values.size()});
    for (const std::string& value : values) payload += text(value);
    return raw_value(key, 9, payload);
  }
  template <class T>
  GgufWriter& array(const std::string& key, uint32_t element, const std::vector<T>& values) {
    std::string payload = raw(element) + raw(uint64_t{values.size()});
    for (const T& value : values) payload += raw(value);
    return raw_value(key, 9, payload);
  }

  // `sizes` innermost first, as the file has them.
  GgufWriter& tensor(const std::string& name, const std::vector<uint64_t>& sizes, uint32_t type, const std::string& bytes) {
    return tensor_at(name, sizes, type, bytes, data_.size());
  }
  GgufWriter& tensor_at(const std::string& name, const std::vector<uint64_t>& sizes, uint32_t type, const std::string& bytes,
                        uint64_t offset) {
    tensors_ += text(name) + raw(static_cast<uint32_t>(sizes.size()));
    for (uint64_t size : sizes) tensors_ += raw(size);
    tensors_ += raw(type) + raw(offset);
    ++tensor_count_;
    data_ += bytes;
    data_.resize((data_.size() + alignment - 1) / alignment * alignment, '\0');
    return *this;
  }
  GgufWriter& floats(const std::string& name, const std::vector<uint64_t>& sizes, float first = 0) {
    uint64_t count = 1;
    for (uint64_t size : sizes) count *= size;
    return tensor(name, sizes, 0, raw_floats(counting(count, first)));
  }

  std::string bytes() const {
    std::string head =
        raw(magic) + raw(version) + raw(tensor_count_ + tensor_count_lie) + raw(value_count_ + value_count_lie) + values_ + tensors_;
    head.resize((head.size() + alignment - 1) / alignment * alignment, '\0');
    return head + data_;
  }

 private:
  static std::string text(const std::string& value) { return raw(uint64_t{value.size()}) + value; }
  uint64_t tensor_count_ = 0, value_count_ = 0;
  std::string values_, tensors_, data_;
};

// The metadata of a model with 2 layers, hidden size 8, 2 query heads and 1 key head of 4 elements.
inline GgufWriter tiny_model(const std::string& architecture) {
  GgufWriter file;
  file.string("general.architecture", architecture);
  for (const auto& [key, value] : std::vector<std::pair<std::string, uint32_t>>{{"embedding_length", 8},
                                                                                {"block_count", 2},
                                                                                {"feed_forward_length", 16},
                                                                                {"context_length", 64},
                                                                                {"attention.head_count", 2},
                                                                                {"attention.head_count_kv", 1}}) {
    file.u32(architecture + "." + key, value);
  }
  return file;
}

inline std::string safetensors(const std::string& header, const std::string& data = "") {
  return raw(uint64_t{header.size()}) + header + data;
}

// Everything that a source streams.
inline std::vector<std::byte> streamed(const ConstantSource& source) {
  std::vector<std::byte> bytes;
  const Status status = source.stream([&](ByteSpan piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(bytes.size(), source.nbytes());
  return bytes;
}

inline std::vector<float> streamed_floats(const ConstantSource& source) {
  const std::vector<std::byte> bytes = streamed(source);
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

}  // namespace pteron::importer::testing
