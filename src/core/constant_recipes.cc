#include "core/constant_recipes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "core/dtype.h"

namespace pteron {
namespace {

// How much a recipe holds at a time when it has to rewrite what it streams.
constexpr uint64_t kChunkBytes = 256 << 10;

int64_t rows_of(const ConstantSource& source) { return source.shape().empty() ? 1 : source.shape()[0]; }

uint64_t row_bytes_of(const ConstantSource& source) {
  const int64_t rows = rows_of(source);
  return rows == 0 ? 0 : source.nbytes() / static_cast<uint64_t>(rows);
}

uint64_t row_elements_of(const ConstantSource& source) { return row_bytes_of(source) / element_size(source.dtype()); }

int64_t rows_per_chunk(uint64_t row_bytes) {
  return static_cast<int64_t>(std::max<uint64_t>(1, kChunkBytes / std::max<uint64_t>(1, row_bytes)));
}

// A sink that fills `buffer`, which is large enough, from `filled` on.
ByteSink append_to(std::vector<std::byte>& buffer, size_t& filled) {
  return [&buffer, &filled](ByteSpan bytes) {
    std::copy(bytes.begin(), bytes.end(), buffer.begin() + static_cast<std::ptrdiff_t>(filled));
    filled += bytes.size();
    return Status();
  };
}

Status no_float(ScalarType dtype) {
  return Status::error(Code::unsupported, "a tensor cannot be read as numbers",
                       {"", "dtype", "a float, integer or bool type", std::string(dtype_name(dtype))});
}

// What every recipe has: type, shape and size, fixed when it is made.
class Recipe : public ConstantSource {
 public:
  Recipe(ScalarType dtype, std::vector<int64_t> shape, uint64_t nbytes) : dtype_(dtype), shape_(std::move(shape)), nbytes_(nbytes) {}
  ScalarType dtype() const override { return dtype_; }
  const std::vector<int64_t>& shape() const override { return shape_; }
  uint64_t nbytes() const override { return nbytes_; }
  Status stream(const ByteSink& sink) const override { return stream_rows(0, rows_of(*this), sink); }

 private:
  ScalarType dtype_;
  std::vector<int64_t> shape_;
  uint64_t nbytes_;
};

class BytesRecipe : public Recipe {
 public:
  BytesRecipe(ScalarType dtype, std::vector<int64_t> shape, ByteSpan bytes, std::shared_ptr<const void> owner)
      : Recipe(dtype, std::move(shape), bytes.size()), bytes_(bytes), owner_(std::move(owner)) {}

  Status stream_rows(int64_t begin, int64_t end, const ByteSink& sink) const override { return sink(row_range(begin, end)); }
  Status read_rows_f32(int64_t begin, int64_t end, float* out) const override {
    return convert_to_f32(dtype(), row_range(begin, end), out) ? Status() : no_float(dtype());
  }

 private:
  ByteSpan row_range(int64_t begin, int64_t end) const {
    const uint64_t row = row_bytes_of(*this);
    return bytes_.subspan(static_cast<uint64_t>(begin) * row, static_cast<uint64_t>(end - begin) * row);
  }
  ByteSpan bytes_;
  std::shared_ptr<const void> owner_;
};

class SliceRecipe : public Recipe {
 public:
  SliceRecipe(ConstantPtr source, std::vector<int64_t> shape, uint64_t nbytes, int64_t begin)
      : Recipe(source->dtype(), std::move(shape), nbytes), source_(std::move(source)), begin_(begin) {}

  Status stream_rows(int64_t begin, int64_t end, const ByteSink& sink) const override {
    return source_->stream_rows(begin_ + begin, begin_ + end, sink);
  }
  Status read_rows_f32(int64_t begin, int64_t end, float* out) const override {
    return source_->read_rows_f32(begin_ + begin, begin_ + end, out);
  }
  BlockEncoding encoding() const override { return source_->encoding(); }
  ByteSpan block_row(int64_t row) const override { return source_->block_row(begin_ + row); }

 private:
  ConstantPtr source_;
  int64_t begin_;
};

class SelectRecipe : public Recipe {
 public:
  SelectRecipe(ConstantPtr source, std::vector<int64_t> shape, uint64_t nbytes, std::vector<int64_t> rows)
      : Recipe(source->dtype(), std::move(shape), nbytes), source_(std::move(source)), rows_(std::move(rows)) {}

  Status stream_rows(int64_t begin, int64_t end, const ByteSink& sink) const override {
    const uint64_t row_bytes = row_bytes_of(*source_);
    const int64_t step = rows_per_chunk(row_bytes);
    std::vector<std::byte> chunk(static_cast<uint64_t>(std::min(step, end - begin)) * row_bytes);
    for (int64_t row = begin; row < end; row += step) {
      const int64_t last = std::min(row + step, end);
      size_t filled = 0;
      PTERON_TRY(for_each_run(row, last, [&](int64_t from, int64_t to, int64_t) { return gather(from, to, chunk, filled); }));
      PTERON_TRY(sink(ByteSpan(chunk).first(filled)));
    }
    return Status();
  }

  Status read_rows_f32(int64_t begin, int64_t end, float* out) const override {
    const uint64_t elements = row_elements_of(*source_);
    return for_each_run(begin, end, [&](int64_t from, int64_t to, int64_t row) {
      return source_->read_rows_f32(from, to, out + static_cast<uint64_t>(row - begin) * elements);
    });
  }

  BlockEncoding encoding() const override { return source_->encoding(); }
  ByteSpan block_row(int64_t row) const override { return source_->block_row(rows_[static_cast<size_t>(row)]); }

 private:
  // Calls f(source begin, source end, own row) for each stretch of rows that follow each other in the source too.
  template <class F>
  Status for_each_run(int64_t begin, int64_t end, F&& f) const {
    for (int64_t row = begin; row < end;) {
      const int64_t from = rows_[static_cast<size_t>(row)];
      int64_t length = 1;
      while (row + length < end && rows_[static_cast<size_t>(row + length)] == from + length) ++length;
      PTERON_TRY(f(from, from + length, row));
      row += length;
    }
    return Status();
  }

  Status gather(int64_t from, int64_t to, std::vector<std::byte>& chunk, size_t& filled) const {
    if (dtype() != ScalarType::Float) return source_->stream_rows(from, to, append_to(chunk, filled));
    PTERON_TRY(source_->read_rows_f32(from, to, reinterpret_cast<float*>(chunk.data() + filled)));  // spares a copy
    filled += static_cast<uint64_t>(to - from) * row_bytes_of(*source_);
    return Status();
  }

  ConstantPtr source_;
  std::vector<int64_t> rows_;
};

class ConcatRecipe : public Recipe {
 public:
  ConcatRecipe(std::vector<ConstantPtr> sources, std::vector<int64_t> shape, uint64_t nbytes)
      : Recipe(sources[0]->dtype(), std::move(shape), nbytes), sources_(std::move(sources)), encoding_(sources_[0]->encoding()) {
    for (const ConstantPtr& source : sources_) {
      if (source->encoding() != encoding_) encoding_ = BlockEncoding::none;
    }
  }

  Status stream_rows(int64_t begin, int64_t end, const ByteSink& sink) const override {
    return for_each_part(begin, end,
                         [&](const ConstantSource& part, int64_t from, int64_t to, int64_t) { return part.stream_rows(from, to, sink); });
  }
  Status read_rows_f32(int64_t begin, int64_t end, float* out) const override {
    const uint64_t elements = row_elements_of(*this);
    return for_each_part(begin, end, [&](const ConstantSource& part, int64_t from, int64_t to, int64_t row) {
      return part.read_rows_f32(from, to, out + static_cast<uint64_t>(row - begin) * elements);
    });
  }
  BlockEncoding encoding() const override { return encoding_; }
  ByteSpan block_row(int64_t row) const override {
    ByteSpan blocks;
    if (encoding_ != BlockEncoding::none) {
      Status found = for_each_part(row, row + 1, [&](const ConstantSource& part, int64_t from, int64_t, int64_t) {
        blocks = part.block_row(from);
        return Status();
      });
      (void)found;  // the callback cannot fail
    }
    return blocks;
  }

 private:
  // Calls f(part, first row in it, row after the last, own row) for the parts that [begin, end) touches.
  template <class F>
  Status for_each_part(int64_t begin, int64_t end, F&& f) const {
    int64_t start = 0;
    for (const ConstantPtr& source : sources_) {
      const int64_t stop = start + rows_of(*source);
      const int64_t from = std::max(begin, start), to = std::min(end, stop);
      if (from < to) PTERON_TRY(f(*source, from - start, to - start, from));
      start = stop;
    }
    return Status();
  }
  std::vector<ConstantPtr> sources_;
  BlockEncoding encoding_;
};

template <class T>
void transpose_elements(const std::byte* from, int64_t rows, int64_t columns, std::byte* to) {
  constexpr int64_t kTile = 32;  // keeps both sides of a tile in the first-level cache
  for (int64_t r0 = 0; r0 < rows; r0 += kTile) {
    for (int64_t c0 = 0; c0 < columns; c0 += kTile) {
      for (int64_t c = c0; c < std::min(c0 + kTile, columns); ++c) {
        for (int64_t r = r0; r < std::min(r0 + kTile, rows); ++r) {
          std::memcpy(to + sizeof(T) * static_cast<size_t>(c * rows + r), from + sizeof(T) * static_cast<size_t>(r * columns + c),
                      sizeof(T));
        }
      }
    }
  }
}

class TransposeRecipe : public Recipe {
 public:
  explicit TransposeRecipe(ConstantPtr source)
      : Recipe(source->dtype(), {source->shape()[1], source->shape()[0]}, source->nbytes()), source_(std::move(source)) {}

  ConstantPtr transposed() const override { return source_; }

  Status stream(const ByteSink& sink) const override {
    std::vector<std::byte> in(nbytes()), out(nbytes());
    size_t filled = 0;
    PTERON_TRY(source_->stream(append_to(in, filled)));
    const int64_t rows = source_->shape()[0], columns = source_->shape()[1];
    switch (element_size(dtype())) {
      case 1: transpose_elements<uint8_t>(in.data(), rows, columns, out.data()); break;
      case 2: transpose_elements<uint16_t>(in.data(), rows, columns, out.data()); break;
      case 4: transpose_elements<uint32_t>(in.data(), rows, columns, out.data()); break;
      default: transpose_elements<uint64_t>(in.data(), rows, columns, out.data()); break;
    }
    return sink(out);
  }

  Status stream_rows(int64_t begin, int64_t end, const ByteSink& sink) const override {
    if (begin == 0 && end == shape()[0]) return stream(sink);
    return ConstantSource::stream_rows(begin, end, sink);
  }

  Status read_rows_f32(int64_t begin, int64_t end, float* out) const override {
    const int64_t rows = source_->shape()[0], columns = source_->shape()[1];
    const int64_t step = rows_per_chunk(static_cast<uint64_t>(columns) * sizeof(float));
    std::vector<float> chunk(static_cast<size_t>(std::min(step, rows) * columns));
    for (int64_t first = 0; first < rows; first += step) {
      const int64_t last = std::min(first + step, rows);
      PTERON_TRY(source_->read_rows_f32(first, last, chunk.data()));
      for (int64_t c = begin; c < end; ++c) {
        for (int64_t r = first; r < last; ++r) out[(c - begin) * rows + r] = chunk[static_cast<size_t>((r - first) * columns + c)];
      }
    }
    return Status();
  }

 private:
  ConstantPtr source_;
};

class CastRecipe : public Recipe {
 public:
  CastRecipe(ConstantPtr source, ScalarType dtype, uint64_t nbytes) : Recipe(dtype, source->shape(), nbytes), source_(std::move(source)) {}

  Status stream_rows(int64_t begin, int64_t end, const ByteSink& sink) const override {
    if (dtype() == source_->dtype()) return source_->stream_rows(begin, end, sink);  // only the encoding is taken off
    const uint64_t elements = row_elements_of(*source_);
    const int64_t step = rows_per_chunk(elements * sizeof(float));
    const auto room = static_cast<size_t>(std::min(step, end - begin)) * elements;
    std::vector<float> values(room);
    std::vector<std::byte> bytes(room * element_size(dtype()));
    for (int64_t row = begin; row < end; row += step) {
      const int64_t last = std::min(row + step, end);
      PTERON_TRY(source_->read_rows_f32(row, last, values.data()));
      const size_t count = static_cast<size_t>(last - row) * elements;
      convert_from_f32(dtype(), values.data(), count, bytes.data());
      PTERON_TRY(sink(ByteSpan(bytes).first(count * element_size(dtype()))));
    }
    return Status();
  }

  Status read_rows_f32(int64_t begin, int64_t end, float* out) const override {
    PTERON_TRY(source_->read_rows_f32(begin, end, out));
    if (dtype() == ScalarType::Float || dtype() == source_->dtype()) return Status();
    const size_t count = static_cast<size_t>(end - begin) * row_elements_of(*source_);
    for (size_t i = 0; i < count; ++i) {
      out[i] = dtype() == ScalarType::Half ? half_to_float(float_to_half(out[i])) : bfloat16_to_float(float_to_bfloat16(out[i]));
    }
    return Status();
  }

 private:
  ConstantPtr source_;
};

template <class T>
void widen(ByteSpan bytes, float* out) {
  const size_t count = bytes.size() / sizeof(T);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<float>(load_unaligned<T>(bytes.data() + i * sizeof(T)));
}

// Without branches, so that compilers make vector code of it. The product moves the exponent and makes subnormals normal, exactly.
void widen_half(ByteSpan bytes, float* out) {
  const size_t count = bytes.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = load_unaligned<uint16_t>(bytes.data() + i * 2);
    const uint32_t magnitude = (bits & 0x7fffu) << 13, sign = (bits & 0x8000u) << 16;
    const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    out[i] = std::bit_cast<float>(sign | (magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : finite));
  }
}

void widen_bfloat16(ByteSpan bytes, float* out) {
  const size_t count = bytes.size() / 2;
  for (size_t i = 0; i < count; ++i) out[i] = bfloat16_to_float(load_unaligned<uint16_t>(bytes.data() + i * 2));
}

Status check_rows(const ConstantSource& source, int64_t begin, int64_t end) {
  if (begin >= 0 && begin <= end && end <= rows_of(source) && !source.shape().empty()) return Status();
  return Status::error(Code::invalid_argument, "rows outside a tensor",
                       {"", "", "rows of " + shape_text(source.shape()), std::to_string(begin) + " to " + std::to_string(end)});
}

std::vector<int64_t> with_rows(std::vector<int64_t> shape, int64_t rows) {
  shape[0] = rows;
  return shape;
}

}  // namespace

Result<ConstantPtr> constant_from_bytes(ScalarType dtype, std::vector<int64_t> shape, ByteSpan bytes, std::shared_ptr<const void> owner) {
  PTERON_ASSIGN(const uint64_t expected, byte_count(dtype, shape));
  if (expected != bytes.size()) {
    return Status::error(Code::invalid_data, "a tensor's bytes do not fit its shape",
                         {"", "", std::to_string(expected) + " bytes for " + std::string(dtype_name(dtype)) + " " + shape_text(shape),
                          std::to_string(bytes.size())});
  }
  return ConstantPtr(std::make_shared<BytesRecipe>(dtype, std::move(shape), bytes, std::move(owner)));
}

Result<ConstantPtr> constant_from_values(std::vector<int64_t> shape, std::vector<float> values) {
  auto owner = std::make_shared<const std::vector<float>>(std::move(values));
  const ByteSpan bytes = std::as_bytes(std::span(*owner));
  return constant_from_bytes(ScalarType::Float, std::move(shape), bytes, std::move(owner));
}

Result<ConstantPtr> slice_rows(ConstantPtr source, int64_t begin, int64_t end) {
  PTERON_TRY(check_rows(*source, begin, end));
  if (begin == 0 && end == rows_of(*source)) return source;
  std::vector<int64_t> shape = with_rows(source->shape(), end - begin);
  const uint64_t nbytes = row_bytes_of(*source) * static_cast<uint64_t>(end - begin);
  return ConstantPtr(std::make_shared<SliceRecipe>(std::move(source), std::move(shape), nbytes, begin));
}

Result<ConstantPtr> select_rows(ConstantPtr source, std::vector<int64_t> rows) {
  for (int64_t row : rows) PTERON_TRY(check_rows(*source, row, row < INT64_MAX ? row + 1 : row));
  std::vector<int64_t> shape = with_rows(source->shape(), static_cast<int64_t>(rows.size()));
  PTERON_ASSIGN(const uint64_t nbytes, byte_count(source->dtype(), shape));
  return ConstantPtr(std::make_shared<SelectRecipe>(std::move(source), std::move(shape), nbytes, std::move(rows)));
}

Result<ConstantPtr> concat_rows(std::vector<ConstantPtr> sources) {
  if (sources.empty()) return Status::error(Code::invalid_argument, "nothing to concatenate");
  int64_t rows = 0;
  for (const ConstantPtr& source : sources) {
    const bool fits = !source->shape().empty() && source->dtype() == sources[0]->dtype() &&
                      with_rows(source->shape(), 0) == with_rows(sources[0]->shape(), 0);
    const std::optional<int64_t> sum = fits ? checked_add(rows, rows_of(*source)) : std::nullopt;
    if (!sum) {
      return Status::error(
          Code::invalid_argument, "tensors cannot be concatenated by rows",
          {"", "",
           "the dtype and trailing sizes of " + std::string(dtype_name(sources[0]->dtype())) + " " + shape_text(sources[0]->shape()),
           std::string(dtype_name(source->dtype())) + " " + shape_text(source->shape())});
    }
    rows = *sum;
  }
  std::vector<int64_t> shape = with_rows(sources[0]->shape(), rows);
  PTERON_ASSIGN(const uint64_t nbytes, byte_count(sources[0]->dtype(), shape));
  return ConstantPtr(std::make_shared<ConcatRecipe>(std::move(sources), std::move(shape), nbytes));
}

Result<ConstantPtr> transpose(ConstantPtr source) {
  if (ConstantPtr original = source->transposed()) return original;
  if (source->shape().size() != 2 || element_size(source->dtype()) > 8) {
    return Status::error(Code::invalid_argument, "a tensor cannot be transposed",
                         {"", "shape", "two dimensions", shape_text(source->shape())});
  }
  return ConstantPtr(std::make_shared<TransposeRecipe>(std::move(source)));
}

Result<ConstantPtr> cast(ConstantPtr source, ScalarType dtype) {
  if (dtype == source->dtype() && source->encoding() == BlockEncoding::none) return source;
  if (!convert_from_f32(dtype, nullptr, 0, nullptr)) {
    return Status::error(Code::unsupported, "a tensor cannot be cast",
                         {"", "dtype", "float32, float16 or bfloat16", std::string(dtype_name(dtype))});
  }
  if (!convert_to_f32(source->dtype(), {}, nullptr)) return no_float(source->dtype());
  PTERON_ASSIGN(const uint64_t nbytes, byte_count(dtype, source->shape()));
  return ConstantPtr(std::make_shared<CastRecipe>(std::move(source), dtype, nbytes));
}

Result<FusedParts> split_fused_qkv(const ConstantPtr& source, FusedLayout layout, int64_t heads, int64_t kv_heads, int64_t head_dim) {
  const bool sane = heads > 0 && kv_heads > 0 && head_dim > 0 && heads <= INT32_MAX && kv_heads <= INT32_MAX && head_dim <= INT32_MAX &&
                    heads % kv_heads == 0;
  const std::optional<int64_t> rows = sane ? checked_mul(heads + 2 * kv_heads, head_dim) : std::nullopt;
  if (!rows || source->shape().empty() || source->shape()[0] != *rows) {
    return Status::error(Code::invalid_data, "a fused attention tensor does not fit the heads",
                         {"", "shape", rows ? std::to_string(*rows) + " rows" : "a number of query heads that the key heads divide",
                          shape_text(source->shape())});
  }
  const int64_t q_rows = heads * head_dim, kv_rows = kv_heads * head_dim;
  FusedParts parts;
  if (layout == FusedLayout::blocks) {
    PTERON_ASSIGN(parts.query, slice_rows(source, 0, q_rows));
    PTERON_ASSIGN(parts.key, slice_rows(source, q_rows, q_rows + kv_rows));
    PTERON_ASSIGN(parts.value, slice_rows(source, q_rows + kv_rows, *rows));
    return parts;
  }
  std::vector<int64_t> query, key, value;
  const int64_t group = q_rows / kv_heads;  // rows of the query heads that share one key head
  for (int64_t row = 0, head = 0; head < kv_heads; ++head) {
    for (int64_t i = 0; i < group; ++i) query.push_back(row++);
    for (int64_t i = 0; i < head_dim; ++i) key.push_back(row++);
    for (int64_t i = 0; i < head_dim; ++i) value.push_back(row++);
  }
  PTERON_ASSIGN(parts.query, select_rows(source, std::move(query)));
  PTERON_ASSIGN(parts.key, select_rows(source, std::move(key)));
  PTERON_ASSIGN(parts.value, select_rows(source, std::move(value)));
  return parts;
}

bool convert_to_f32(ScalarType from, ByteSpan bytes, float* out) {
  switch (from) {
    case ScalarType::Float:
      if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
      return true;
    case ScalarType::Half: widen_half(bytes, out); return true;
    case ScalarType::BFloat16: widen_bfloat16(bytes, out); return true;
    case ScalarType::Double: widen<double>(bytes, out); return true;
    case ScalarType::Byte:
    case ScalarType::Bool: widen<uint8_t>(bytes, out); return true;
    case ScalarType::Char: widen<int8_t>(bytes, out); return true;
    case ScalarType::Short: widen<int16_t>(bytes, out); return true;
    case ScalarType::UInt16: widen<uint16_t>(bytes, out); return true;
    case ScalarType::Int: widen<int32_t>(bytes, out); return true;
    case ScalarType::UInt32: widen<uint32_t>(bytes, out); return true;
    case ScalarType::Long: widen<int64_t>(bytes, out); return true;
    case ScalarType::UInt64: widen<uint64_t>(bytes, out); return true;
    default: return false;
  }
}

bool convert_from_f32(ScalarType to, const float* values, size_t count, std::byte* out) {
  switch (to) {
    case ScalarType::Float:
      if (count > 0) std::memcpy(out, values, count * sizeof(float));
      return true;
    case ScalarType::Half:
      for (size_t i = 0; i < count; ++i) store_unaligned(out + 2 * i, float_to_half(values[i]));
      return true;
    case ScalarType::BFloat16:
      for (size_t i = 0; i < count; ++i) store_unaligned(out + 2 * i, float_to_bfloat16(values[i]));
      return true;
    default: return false;
  }
}

Result<uint64_t> element_count(const std::vector<int64_t>& shape) {
  if (const std::optional<size_t> count = checked_product(std::span<const int64_t>(shape))) return uint64_t{*count};
  return Status::error(Code::invalid_data, "a tensor's size overflows",
                       {"", "shape", "sizes whose product fits 64 bits", shape_text(shape)});
}

Result<uint64_t> byte_count(ScalarType dtype, const std::vector<int64_t>& shape) {
  PTERON_ASSIGN(const uint64_t count, element_count(shape));
  if (element_size(dtype) == 0) return no_float(dtype);
  if (const std::optional<uint64_t> bytes = checked_mul<uint64_t>(count, element_size(dtype)); bytes && *bytes <= INT64_MAX) return *bytes;
  return Status::error(Code::invalid_data, "a tensor's size overflows",
                       {"", "shape", "a size in bytes that fits 63 bits", shape_text(shape)});
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace pteron
