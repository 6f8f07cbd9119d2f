#include "pteron/tensor_file.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/checked.h"
#include "base/file.h"
#include "core/dtype.h"
#include "import/safetensors.h"

namespace pteron {
namespace {

struct SafetensorsName {
  ScalarType dtype;
  const char* name;
};
constexpr SafetensorsName kNames[] = {
    {ScalarType::Bool, "BOOL"}, {ScalarType::Byte, "U8"},   {ScalarType::Char, "I8"},      {ScalarType::Short, "I16"}, {ScalarType::UInt16, "U16"},
    {ScalarType::Half, "F16"},  {ScalarType::BFloat16, "BF16"}, {ScalarType::Int, "I32"}, {ScalarType::UInt32, "U32"}, {ScalarType::Float, "F32"},
    {ScalarType::Double, "F64"}, {ScalarType::Long, "I64"}, {ScalarType::UInt64, "U64"},
    {ScalarType::ComplexFloat, "C64"},
};

}  // namespace

struct TensorFile::Impl {
  struct Entry {
    ScalarType dtype = ScalarType::Float;
    std::vector<int32_t> sizes;
    std::vector<std::byte> bytes;
  };
  std::string path;
  std::vector<std::string> names;
  std::vector<Entry> entries;
};

TensorFile::TensorFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TensorFile::TensorFile(TensorFile&&) noexcept = default;
TensorFile& TensorFile::operator=(TensorFile&&) noexcept = default;
TensorFile::~TensorFile() = default;

Result<TensorFile> TensorFile::open(const std::string& path) {
  PTERON_ASSIGN(const std::vector<importer::SafetensorsEntry> sources, importer::open_safetensors(path));
  auto impl = std::make_unique<Impl>();
  impl->path = path;
  for (const importer::SafetensorsEntry& source : sources) {
    Impl::Entry entry;
    entry.dtype = source.source->dtype();
    for (int64_t size : source.source->shape()) {
      if (size > INT32_MAX) {
        return Status::error(Code::unsupported, "a tensor is too large", {.file = path, .field = source.name, .expected = "sizes below 2^31", .found = std::to_string(size)});
      }
      entry.sizes.push_back(static_cast<int32_t>(size));
    }
    entry.bytes.reserve(source.source->nbytes());
    PTERON_TRY(source.source->stream([&](ByteSpan piece) {
      entry.bytes.insert(entry.bytes.end(), piece.begin(), piece.end());
      return Status();
    }));
    impl->names.push_back(source.name);
    impl->entries.push_back(std::move(entry));
  }
  return TensorFile(std::move(impl));
}

const std::vector<std::string>& TensorFile::names() const { return impl_->names; }

Result<TensorView> TensorFile::tensor(std::string_view name) const {
  const auto found = std::find(impl_->names.begin(), impl_->names.end(), name);
  if (found == impl_->names.end()) return Status::error(Code::not_found, "no such tensor", {.file = impl_->path, .field = std::string(name), .expected = {}, .found = {}});
  const Impl::Entry& entry = impl_->entries[static_cast<size_t>(found - impl_->names.begin())];
  return TensorView{entry.dtype, entry.sizes, {}, entry.bytes.data(), entry.bytes.size()};
}

Status write_tensor_file(const std::string& path, const std::vector<NamedTensor>& tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  uint64_t offset = 0;
  for (const NamedTensor& named : tensors) {
    const auto* row = std::find_if(std::begin(kNames), std::end(kNames), [&](const SafetensorsName& r) { return r.dtype == named.tensor.dtype; });
    const std::optional<size_t> count = checked_product(named.tensor.sizes);
    if (row == std::end(kNames)) {
      return Status::error(Code::unsupported, "safetensors has no such element type",
                           {.file = path, .field = named.name, .expected = {}, .found = std::string(dtype_name(named.tensor.dtype))});
    }
    if (!count || *count * element_size(named.tensor.dtype) != named.tensor.nbytes) {
      return Status::error(Code::invalid_argument, "shape and bytes disagree", {.file = path, .field = named.name, .expected = {}, .found = std::to_string(named.tensor.nbytes) + " bytes"});
    }
    header[named.name] = {{"dtype", row->name}, {"shape", named.tensor.sizes}, {"data_offsets", {offset, offset + named.tensor.nbytes}}};
    offset += named.tensor.nbytes;
  }
  std::string text = header.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize(align_up(text.size() + 8, 64) - 8, ' ');
  PTERON_ASSIGN(FileWriter writer, FileWriter::create(path));
  const uint64_t length = text.size();
  PTERON_TRY(writer.write({reinterpret_cast<const std::byte*>(&length), sizeof length}));
  PTERON_TRY(writer.write(as_bytes(text)));
  for (const NamedTensor& named : tensors) PTERON_TRY(writer.write({static_cast<const std::byte*>(named.tensor.data), named.tensor.nbytes}));
  return writer.commit();
}

}  // namespace pteron
