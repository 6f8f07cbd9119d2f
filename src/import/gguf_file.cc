#include "import/gguf_file.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "base/checked.h"
#include "core/constant_recipes.h"
#include "import/block_source.h"
#include "import/ggml_blocks.h"

namespace pteron::importer {
namespace {

constexpr uint32_t kDefaultAlignment = 32;
constexpr uint64_t kMaxKeyBytes = 65535;
constexpr uint32_t kMaxDimensions = 4;
constexpr int kMaxNesting = 4;

struct ValueType {
  std::string_view name;
  uint8_t bytes;  // 0: of variable length
};
constexpr std::array kValueTypes = {ValueType{"uint8", 1},  ValueType{"int8", 1},  ValueType{"uint16", 2},  ValueType{"int16", 2},
                                    ValueType{"uint32", 4}, ValueType{"int32", 4}, ValueType{"float32", 4}, ValueType{"bool", 1},
                                    ValueType{"string", 0}, ValueType{"array", 0}, ValueType{"uint64", 8},  ValueType{"int64", 8},
                                    ValueType{"float64", 8}};

const ValueType* value_type(uint32_t type) { return type < kValueTypes.size() ? &kValueTypes[type] : nullptr; }

// ggml's tensor types by number; what this importer reads is a plain dtype or a block encoding.
struct TensorType {
  uint32_t number;
  std::string_view name;
  std::optional<ScalarType> dtype;
  BlockEncoding encoding = BlockEncoding::none;
};
constexpr std::array kTensorTypes = {
    TensorType{0, "F32", ScalarType::Float},
    TensorType{1, "F16", ScalarType::Half},
    TensorType{2, "Q4_0", {}, BlockEncoding::q4_0},
    TensorType{3, "Q4_1", {}, BlockEncoding::q4_1},
    TensorType{6, "Q5_0", {}, BlockEncoding::q5_0},
    TensorType{7, "Q5_1", {}, BlockEncoding::q5_1},
    TensorType{8, "Q8_0", {}, BlockEncoding::q8_0},
    TensorType{9, "Q8_1", {}},
    TensorType{10, "Q2_K", {}},
    TensorType{11, "Q3_K", {}},
    TensorType{12, "Q4_K", {}, BlockEncoding::q4_k},
    TensorType{13, "Q5_K", {}, BlockEncoding::q5_k},
    TensorType{14, "Q6_K", {}, BlockEncoding::q6_k},
    TensorType{15, "Q8_K", {}},
    TensorType{16, "IQ2_XXS", {}},
    TensorType{17, "IQ2_XS", {}},
    TensorType{18, "IQ3_XXS", {}},
    TensorType{19, "IQ1_S", {}},
    TensorType{20, "IQ4_NL", {}},
    TensorType{21, "IQ3_S", {}},
    TensorType{22, "IQ2_S", {}},
    TensorType{23, "IQ4_XS", {}},
    TensorType{24, "I8", ScalarType::Char},
    TensorType{25, "I16", ScalarType::Short},
    TensorType{26, "I32", ScalarType::Int},
    TensorType{27, "I64", ScalarType::Long},
    TensorType{28, "F64", ScalarType::Double},
    TensorType{29, "IQ1_M", {}},
    TensorType{30, "BF16", ScalarType::BFloat16},
    TensorType{34, "TQ1_0", {}},
    TensorType{35, "TQ2_0", {}},
    TensorType{39, "MXFP4", {}},
};

const TensorType* tensor_type(uint32_t number) {
  const auto row = std::find_if(kTensorTypes.begin(), kTensorTypes.end(), [&](const TensorType& t) { return t.number == number; });
  return row == kTensorTypes.end() ? nullptr : &*row;
}

Status malformed(std::string field, std::string expected, std::string found) {
  return Status::error(Code::invalid_data, "malformed GGUF file", {"", std::move(field), std::move(expected), std::move(found)});
}

// The integer at `at`; nothing for types that are none or for values beyond int64.
std::optional<int64_t> integer_at(GgufType type, const std::byte* at) {
  switch (type) {
    case GgufType::u8: return load_unaligned<uint8_t>(at);
    case GgufType::i8: return load_unaligned<int8_t>(at);
    case GgufType::u16: return load_unaligned<uint16_t>(at);
    case GgufType::i16: return load_unaligned<int16_t>(at);
    case GgufType::u32: return load_unaligned<uint32_t>(at);
    case GgufType::i32: return load_unaligned<int32_t>(at);
    case GgufType::i64: return load_unaligned<int64_t>(at);
    case GgufType::u64: {
      const auto value = load_unaligned<uint64_t>(at);
      return value <= INT64_MAX ? std::optional<int64_t>(static_cast<int64_t>(value)) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

// The double that a float32's shortest decimal spells.
double decimal_of(float value) {
  std::array<char, 32> text;
  const std::to_chars_result written = std::to_chars(text.data(), text.data() + text.size(), value);
  double result = value;
  std::from_chars(text.data(), written.ptr, result);
  return result;
}

std::optional<double> number_at(GgufType type, const std::byte* at) {
  if (type == GgufType::f32) return decimal_of(load_unaligned<float>(at));
  if (type == GgufType::f64) return load_unaligned<double>(at);
  const std::optional<int64_t> integer = integer_at(type, at);
  return integer ? std::optional<double>(static_cast<double>(*integer)) : std::nullopt;
}

std::string kind_of(const GgufValue& value) {
  const std::string name(gguf_type_name(value.type));
  return value.type == GgufType::array ? "an array of " + std::string(gguf_type_name(value.element)) : name;
}

Status wrong_kind(const std::string& path, std::string_view key, std::string expected, const GgufValue& found) {
  return Status::error(Code::invalid_data, "a metadata value has the wrong type",
                       {path, std::string(key), std::move(expected), kind_of(found)});
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  const ValueType* row = value_type(static_cast<uint32_t>(type));
  return row != nullptr ? row->name : std::string_view();
}

// Reads the file front to back; every count is checked against the bytes that are left before anything is stored.
class GgufFile::Parser {
 public:
  explicit Parser(GgufFile& out) : out_(out), bytes_(out.file_->bytes()) {}

  Status run() {
    uint64_t tensor_count = 0, value_count = 0;
    PTERON_TRY(header(tensor_count, value_count));
    for (uint64_t i = 0; i < value_count; ++i) PTERON_TRY(metadata_entry(i));
    PTERON_TRY(refuse_split());
    PTERON_TRY(alignment());
    for (uint64_t i = 0; i < tensor_count; ++i) PTERON_TRY(tensor_entry(i));
    return place_tensors();
  }

 private:
  template <class T>
  Status read(const char* what, T& value) {
    PTERON_TRY(need(what, sizeof(T)));
    value = load_unaligned<T>(bytes_.data() + position_);
    position_ += sizeof(T);
    return Status();
  }

  Status need(const char* what, uint64_t count) const {
    if (range_inside(position_, count, bytes_.size())) return Status();
    return Status::error(Code::invalid_data, "truncated GGUF file",
                         {"", what, std::to_string(count) + " bytes at offset " + std::to_string(position_),
                          std::to_string(bytes_.size() - position_) + " left"});
  }

  Status read_string(const char* what, std::string_view& text) {
    uint64_t length = 0;
    PTERON_TRY(read(what, length));
    PTERON_TRY(need(what, length));
    text = as_text(bytes_.subspan(position_, length));
    position_ += length;
    return Status();
  }

  Status header(uint64_t& tensor_count, uint64_t& value_count) {
    uint32_t magic = 0;
    PTERON_TRY(read("magic", magic));
    if (magic != 0x46554747) return malformed("magic", "\"GGUF\"", "other bytes");
    PTERON_TRY(read("version", out_.version_));
    if (out_.version_ == 1) return Status::error(Code::unsupported, "GGUF version 1 is not supported", {"", "version", "2 or 3", "1"});
    if (out_.version_ == 0x02000000 || out_.version_ == 0x03000000)
      return Status::error(Code::unsupported, "big-endian GGUF files are not supported",
                           {"", "version", "little-endian 2 or 3", "big-endian " + std::to_string(out_.version_ >> 24)});
    if (out_.version_ != 2 && out_.version_ != 3)
      return Status::error(Code::unsupported, "unknown GGUF version", {"", "version", "2 or 3", std::to_string(out_.version_)});
    PTERON_TRY(read("tensor count", tensor_count));
    return read("metadata count", value_count);
  }

  Status metadata_entry(uint64_t index) {
    std::string_view key;
    Status status = read_string("metadata key", key);
    if (!status.ok()) return std::move(status).in_field("metadata " + std::to_string(index));
    if (key.empty() || key.size() > kMaxKeyBytes)
      return malformed("metadata " + std::to_string(index), "a key of 1 to 65535 bytes", std::to_string(key.size()));
    GgufValue value;
    uint32_t type = 0;
    status = read("value type", type);
    if (status.ok()) status = read_value(type, value, 0);
    if (!status.ok()) return std::move(status).in_field(key);
    if (!out_.metadata_.try_emplace(std::string(key), value).second) return malformed(std::string(key), "each key once", "two values");
    return Status();
  }

  Status read_value(uint32_t type, GgufValue& value, int depth) {
    const ValueType* row = value_type(type);
    if (row == nullptr) return malformed("value type", "a number below " + std::to_string(kValueTypes.size()), std::to_string(type));
    value.type = static_cast<GgufType>(type);
    if (value.type == GgufType::string) {
      std::string_view text;
      PTERON_TRY(read_string("string", text));
      value.bytes = as_bytes(text);
      return Status();
    }
    if (value.type == GgufType::array) return read_array(value, depth);
    PTERON_TRY(need("value", row->bytes));
    value.bytes = bytes_.subspan(position_, row->bytes);
    position_ += row->bytes;
    return Status();
  }

  Status read_array(GgufValue& value, int depth) {
    if (depth >= kMaxNesting) return malformed("array", "at most " + std::to_string(kMaxNesting) + " levels of arrays", "more");
    uint32_t element = 0;
    PTERON_TRY(read("element type", element));
    const ValueType* row = value_type(element);
    if (row == nullptr) return malformed("element type", "a number below " + std::to_string(kValueTypes.size()), std::to_string(element));
    value.element = static_cast<GgufType>(element);
    PTERON_TRY(read("array length", value.count));
    const uint64_t begin = position_;
    if (row->bytes != 0) {
      const std::optional<uint64_t> size = checked_mul<uint64_t>(value.count, row->bytes);
      if (!size) return malformed("array length", "a count that fits the file", std::to_string(value.count));
      PTERON_TRY(need("array", *size));
      position_ += *size;
    } else {
      for (uint64_t i = 0; i < value.count; ++i) {  // each element takes bytes, so the file's size bounds the loop
        GgufValue skipped;
        PTERON_TRY(read_value(element, skipped, depth + 1));
      }
    }
    value.bytes = bytes_.subspan(begin, position_ - begin);
    return Status();
  }

  Status refuse_split() {
    PTERON_ASSIGN(const std::optional<int64_t> count, out_.integer("split.count"));
    if (count.value_or(0) <= 1) return Status();
    return Status::error(Code::unsupported, "a GGUF file split in several is not supported: merge it first",
                         {"", "split.count", "1", std::to_string(*count)});
  }

  Status alignment() {
    PTERON_ASSIGN(const std::optional<int64_t> value, out_.integer("general.alignment"));
    const int64_t alignment = value.value_or(kDefaultAlignment);
    if (alignment <= 0 || alignment > (1 << 30) || (alignment & (alignment - 1)) != 0)
      return malformed("general.alignment", "a power of two", std::to_string(alignment));
    alignment_ = static_cast<uint64_t>(alignment);
    return Status();
  }

  Status tensor_entry(uint64_t index) {
    std::string_view name;
    Status status = read_string("tensor name", name);
    if (!status.ok()) return std::move(status).in_field("tensor " + std::to_string(index));
    GgufTensor tensor;
    tensor.name = name;
    uint64_t offset = 0, size = 0;
    status = tensor_fields(tensor, offset, size);
    if (!status.ok()) return std::move(status).in_field(name);
    if (!names_.insert(tensor.name).second) return malformed(tensor.name, "each tensor once", "two of that name");
    extents_.push_back({offset, size, out_.tensors_.size()});
    out_.tensors_.push_back(std::move(tensor));
    return Status();
  }

  Status tensor_fields(GgufTensor& tensor, uint64_t& offset, uint64_t& size) {
    uint32_t dimensions = 0;
    PTERON_TRY(read("dimensions", dimensions));
    if (dimensions > kMaxDimensions)
      return malformed("dimensions", "at most " + std::to_string(kMaxDimensions), std::to_string(dimensions));
    for (uint32_t d = 0; d < dimensions; ++d) {
      uint64_t length = 0;
      PTERON_TRY(read("shape", length));
      if (length == 0 || length > INT64_MAX) return malformed("shape", "sizes from 1 to 2^63 - 1", std::to_string(length));
      tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(length));
    }
    PTERON_TRY(read("type", tensor.type));
    PTERON_TRY(read("offset", offset));
    const TensorType* type = tensor_type(tensor.type);
    if (type == nullptr || (!type->dtype && type->encoding == BlockEncoding::none)) {
      return Status::error(Code::unsupported, "a tensor has an unsupported type",
                           {"", "type", "F32, F16, BF16, F64, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q4_K, Q5_K or Q6_K",
                            type != nullptr ? std::string(type->name) : "ggml type " + std::to_string(tensor.type)});
    }
    PTERON_ASSIGN(size,
                  type->dtype ? byte_count(*type->dtype, tensor.shape) : block_byte_count(*block_format(type->encoding), tensor.shape));
    if (offset % alignment_ != 0) return malformed("offset", "a multiple of " + std::to_string(alignment_), std::to_string(offset));
    return Status();
  }

  Status place_tensors() {
    const std::optional<uint64_t> data = checked_align(position_, alignment_);
    for (const Extent& extent : extents_) {
      GgufTensor& tensor = out_.tensors_[extent.tensor];
      const std::optional<uint64_t> begin = data ? checked_add(*data, extent.offset) : std::nullopt;
      if (!begin || !range_inside(*begin, extent.size, bytes_.size())) {
        return Status::error(Code::invalid_data, "a tensor lies outside the file",
                             {"", tensor.name, std::to_string(extent.size) + " bytes at data offset " + std::to_string(extent.offset),
                              "a file of " + std::to_string(bytes_.size()) + " bytes"});
      }
      tensor.bytes = bytes_.subspan(*begin, extent.size);
    }
    std::sort(extents_.begin(), extents_.end(), [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
    for (size_t i = 1; i < extents_.size(); ++i) {
      const Extent& before = extents_[i - 1];
      if (before.offset + before.size > extents_[i].offset) {
        return Status::error(Code::invalid_data, "two tensors overlap",
                             {"", out_.tensors_[extents_[i].tensor].name,
                              "an offset of at least " + std::to_string(before.offset + before.size) + ", where " +
                                  out_.tensors_[before.tensor].name + " ends",
                              std::to_string(extents_[i].offset)});
      }
    }
    return Status();
  }

  struct Extent {
    uint64_t offset, size;
    size_t tensor;
  };
  GgufFile& out_;
  ByteSpan bytes_;
  uint64_t position_ = 0, alignment_ = kDefaultAlignment;
  std::set<std::string> names_;
  std::vector<Extent> extents_;
};

Result<GgufFile> GgufFile::open(const std::string& path) {
  PTERON_ASSIGN(FileBytes file, FileBytes::map(path));
  return parse(std::move(file));
}

Result<GgufFile> GgufFile::parse(FileBytes file) {
  GgufFile result;
  result.file_ = std::make_shared<const FileBytes>(std::move(file));
  Status status = Parser(result).run();
  if (!status.ok()) return std::move(status).in_file(result.path());
  return result;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto tensor = std::find_if(tensors_.begin(), tensors_.end(), [&](const GgufTensor& t) { return t.name == name; });
  return tensor == tensors_.end() ? nullptr : &*tensor;
}

const GgufValue* GgufFile::value(std::string_view key) const {
  const auto entry = metadata_.find(key);
  return entry == metadata_.end() ? nullptr : &entry->second;
}

template <class T, class F>
Result<std::optional<T>> GgufFile::scalar(std::string_view key, const char* expected, F&& get) const {
  const GgufValue* found = value(key);
  if (found == nullptr) return std::optional<T>();
  std::optional<T> result = get(*found);
  if (!result) return wrong_kind(path(), key, expected, *found);
  return result;
}

Result<std::optional<int64_t>> GgufFile::integer(std::string_view key) const {
  return scalar<int64_t>(key, "an integer below 2^63", [](const GgufValue& v) { return integer_at(v.type, v.bytes.data()); });
}

Result<std::optional<double>> GgufFile::number(std::string_view key) const {
  return scalar<double>(key, "a number", [](const GgufValue& v) { return number_at(v.type, v.bytes.data()); });
}

Result<std::optional<bool>> GgufFile::boolean(std::string_view key) const {
  return scalar<bool>(key, "bool", [](const GgufValue& v) {
    return v.type == GgufType::boolean ? std::optional(v.bytes[0] != std::byte{0}) : std::nullopt;
  });
}

Result<std::optional<std::string>> GgufFile::string(std::string_view key) const {
  return scalar<std::string>(key, "string", [](const GgufValue& v) {
    return v.type == GgufType::string ? std::optional<std::string>(as_text(v.bytes)) : std::nullopt;
  });
}

Result<std::vector<std::string>> GgufFile::strings(std::string_view key) const {
  std::vector<std::string> result;
  const GgufValue* found = value(key);
  if (found == nullptr) return result;
  if (found->type != GgufType::array || found->element != GgufType::string) return wrong_kind(path(), key, "an array of string", *found);
  for (ByteSpan rest = found->bytes; !rest.empty();) {  // lengths were checked when the file was parsed
    const auto length = load_unaligned<uint64_t>(rest.data());
    result.emplace_back(as_text(rest.subspan(8, length)));
    rest = rest.subspan(8 + length);
  }
  return result;
}

Result<std::vector<float>> GgufFile::floats(std::string_view key) const {
  return list<float>(key, "numbers", [](GgufType type, const std::byte* at) -> std::optional<float> {
    if (type == GgufType::f32) return load_unaligned<float>(at);
    const std::optional<double> number = number_at(type, at);
    return number ? std::optional<float>(static_cast<float>(*number)) : std::nullopt;
  });
}

Result<std::vector<int64_t>> GgufFile::integers(std::string_view key) const {
  return list<int64_t>(key, "integers below 2^63", [](GgufType type, const std::byte* at) -> std::optional<int64_t> {
    if (type == GgufType::boolean) return load_unaligned<uint8_t>(at) != 0;
    return integer_at(type, at);
  });
}

template <class T, class F>
Result<std::vector<T>> GgufFile::list(std::string_view key, const char* expected, F&& at) const {
  std::vector<T> result;
  const GgufValue* found = value(key);
  if (found == nullptr) return result;
  const GgufType type = found->type == GgufType::array ? found->element : found->type;
  const size_t step = value_type(static_cast<uint32_t>(type))->bytes;
  for (uint64_t i = 0; i < found->count; ++i) {
    const std::optional<T> item = step == 0 ? std::nullopt : at(type, found->bytes.data() + i * step);
    if (!item) return wrong_kind(path(), key, expected, *found);
    result.push_back(*item);
  }
  return result;
}

Result<ConstantPtr> GgufFile::source(const GgufTensor& tensor) const {
  const TensorType* type = tensor_type(tensor.type);
  Result<ConstantPtr> source = type->dtype ? constant_from_bytes(*type->dtype, tensor.shape, tensor.bytes, file_)
                                           : block_source(*block_format(type->encoding), tensor.shape, tensor.bytes, file_);
  if (!source.ok()) return std::move(source).status().in_field(tensor.name).in_file(path());
  return source;
}

}  // namespace pteron::importer
