// GGUF files, versions 2 and 3, little-endian: metadata and tensor table, checked and read in place.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "core/constant_source.h"

namespace pteron::importer {

enum class GgufType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12
};

// The name of a value type ("uint32", "string", ...); empty for a number that is none.
std::string_view gguf_type_name(GgufType type);

// A metadata value, left in the file until somebody asks: an array of numbers costs no memory.
struct GgufValue {
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;  // of an array
  uint64_t count = 1;               // elements of an array
  ByteSpan bytes;                   // the number, the characters, or the elements of the array as stored
};

struct GgufTensor {
  std::string name;
  std::vector<int64_t> shape;  // outermost first: the file's order reversed
  uint32_t type = 0;           // ggml type number
  ByteSpan bytes;
};

class GgufFile {
 public:
  // Maps a file and checks the header, every metadata value and every tensor (type, size, place, overlap).
  static Result<GgufFile> open(const std::string& path);
  static Result<GgufFile> parse(FileBytes file);

  const std::string& path() const { return file_->path(); }
  uint32_t version() const { return version_; }
  const std::map<std::string, GgufValue, std::less<>>& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* find_tensor(std::string_view name) const;

  // Typed access: nothing where the key is missing, an error that names the key where its value has another kind. Integers of every width
  // are accepted where they fit, floats of both widths and integers as numbers.
  Result<std::optional<int64_t>> integer(std::string_view key) const;
  Result<std::optional<double>> number(
      std::string_view key) const;  // a float32 becomes the double with the same shortest decimal: 1e-6, not 9.99999997e-07
  Result<std::optional<bool>> boolean(std::string_view key) const;
  Result<std::optional<std::string>> string(std::string_view key) const;
  // Lists are empty where the key is missing; a single number counts as a list of one, booleans as 0 and 1.
  Result<std::vector<std::string>> strings(std::string_view key) const;
  Result<std::vector<float>> floats(std::string_view key) const;
  Result<std::vector<int64_t>> integers(std::string_view key) const;

  // The tensor as a recipe; the mapping lives as long as the recipe.
  Result<ConstantPtr> source(const GgufTensor& tensor) const;

 private:
  class Parser;
  const GgufValue* value(std::string_view key) const;
  template <class T, class F>
  Result<std::optional<T>> scalar(std::string_view key, const char* expected, F&& get) const;
  template <class T, class F>
  Result<std::vector<T>> list(std::string_view key, const char* expected, F&& at) const;

  std::shared_ptr<const FileBytes> file_;
  uint32_t version_ = 0;
  std::map<std::string, GgufValue, std::less<>> metadata_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace pteron::importer
