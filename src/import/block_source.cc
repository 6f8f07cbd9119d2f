#include "import/block_source.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/checked.h"
#include "core/constant_recipes.h"

namespace pteron::importer {
namespace {

constexpr size_t kChunkElements = 32 << 10;  // 128 KiB of float32 at a time: stays in the second-level cache

class BlockSource : public ConstantSource {
 public:
  BlockSource(const BlockFormat& format, std::vector<int64_t> shape, uint64_t elements, ByteSpan bytes, std::shared_ptr<const void> owner)
      : format_(format), shape_(std::move(shape)), elements_(elements), bytes_(bytes), owner_(std::move(owner)) {
    row_elements_ = shape_[0] == 0 ? 0 : elements_ / static_cast<uint64_t>(shape_[0]);
  }

  ScalarType dtype() const override { return ScalarType::Float; }
  const std::vector<int64_t>& shape() const override { return shape_; }
  uint64_t nbytes() const override { return elements_ * sizeof(float); }
  Status stream(const ByteSink& sink) const override { return stream_elements(0, elements_, sink); }
  Status stream_rows(int64_t begin, int64_t end, const ByteSink& sink) const override {
    return stream_elements(static_cast<uint64_t>(begin) * row_elements_, static_cast<uint64_t>(end) * row_elements_, sink);
  }
  Status read_rows_f32(int64_t begin, int64_t end, float* out) const override {
    decode(static_cast<uint64_t>(begin) * row_elements_, static_cast<uint64_t>(end) * row_elements_, out);
    return Status();
  }
  BlockEncoding encoding() const override { return format_.encoding; }
  ByteSpan block_row(int64_t row) const override {
    if (shape_.size() != 2) return {};
    const uint64_t row_bytes = row_elements_ / format_.elements * format_.bytes;
    return bytes_.subspan(static_cast<uint64_t>(row) * row_bytes, row_bytes);
  }

 private:
  Status stream_elements(uint64_t begin, uint64_t end, const ByteSink& sink) const {
    std::vector<float> chunk(std::min<uint64_t>(kChunkElements, end - begin));
    for (uint64_t at = begin; at < end; at += chunk.size()) {
      const uint64_t stop = std::min<uint64_t>(end, at + chunk.size());
      decode(at, stop, chunk.data());
      PTERON_TRY(sink(std::as_bytes(std::span(chunk).first(stop - at))));
    }
    return Status();
  }

  // Elements [begin, end) in storage order. Only the rows of a 1-d tensor can begin or end inside a block.
  void decode(uint64_t begin, uint64_t end, float* out) const {
    const uint64_t n = format_.elements;
    while (begin < end) {
      const uint64_t block = begin / n, inside = begin % n;
      const std::byte* from = bytes_.data() + block * format_.bytes;
      if (inside == 0 && end - begin >= n) {
        const uint64_t blocks = (end - begin) / n;
        format_.decode(from, blocks, out);
        begin += blocks * n;
        out += blocks * n;
        continue;
      }
      float values[256];
      format_.decode(from, 1, values);
      const uint64_t count = std::min(end - begin, n - inside);
      std::memcpy(out, values + inside, count * sizeof(float));
      begin += count;
      out += count;
    }
  }

  const BlockFormat& format_;
  std::vector<int64_t> shape_;
  uint64_t elements_, row_elements_;
  ByteSpan bytes_;
  std::shared_ptr<const void> owner_;
};

}  // namespace

Result<uint64_t> block_byte_count(const BlockFormat& format, const std::vector<int64_t>& shape) {
  PTERON_ASSIGN(const uint64_t elements, element_count(shape));
  if (shape.empty() || shape.back() % format.elements != 0) {
    return Status::error(
        Code::invalid_data, "a quantised row is no whole number of blocks",
        {"", "", "a multiple of " + std::to_string(format.elements) + " for " + std::string(format.name), shape_text(shape)});
  }
  PTERON_TRY(byte_count(ScalarType::Float, shape).status());  // what it becomes must be countable too
  return elements / format.elements * format.bytes;
}

Result<ConstantPtr> block_source(const BlockFormat& format, std::vector<int64_t> shape, ByteSpan bytes, std::shared_ptr<const void> owner) {
  PTERON_ASSIGN(const uint64_t expected, block_byte_count(format, shape));
  if (bytes.size() != expected) {
    return Status::error(Code::invalid_data, "a tensor's bytes do not fit its shape",
                         {"", "", std::to_string(expected) + " bytes for " + std::string(format.name) + " " + shape_text(shape),
                          std::to_string(bytes.size())});
  }
  PTERON_ASSIGN(const uint64_t elements, element_count(shape));
  return ConstantPtr(std::make_shared<BlockSource>(format, std::move(shape), elements, bytes, std::move(owner)));
}

}  // namespace pteron::importer
