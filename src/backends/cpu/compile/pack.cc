#include "backends/cpu/compile/pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/cpu/compile/block_values.h"
#include "backends/cpu/compile/quantize.h"
#include "base/checked.h"
#include "base/thread_pool.h"
#include "core/dtype.h"

namespace pteron::cpu_backend {
namespace {

constexpr uint64_t kPieceBytes = 256 << 10;  // how much is packed before it is handed on

float clamp_to_half(float x) { return std::clamp(x, -65504.0f, 65504.0f); }

void put_half(std::byte* to, float value) { store_unaligned(to, float_to_half(clamp_to_half(value))); }

void quantize(const PackedLayout& layout, const float* x, GroupValues& out) {
  if (layout.affine) quantize_group_affine(x, out);
  else quantize_group(x, layout.bits, out);
}

// Sets one row of a zeroed record.
void put_group(const PackedLayout& layout, const GroupValues& group, size_t row, std::byte* record) {
  for (size_t block = 0; block < kGroupColumns / 4; ++block) {
    for (size_t c = 0; c < 4; ++c) {
      const size_t lane = row * 4 + c;
      const uint8_t value = group.integers[block * 4 + c];
      if (layout.bits == 8) {
        record[block * 64 + lane] = static_cast<std::byte>(value);
        continue;
      }
      record[block / 2 * 64 + lane] |= static_cast<std::byte>((value & 15) << (block % 2 * 4));
      if (layout.bits == 5) record[layout.plane_offset + lane] |= static_cast<std::byte>((value >> 4) << block);
      if (layout.bits == 6) record[layout.plane_offset + block / 4 * 64 + lane] |= static_cast<std::byte>((value >> 4) << (block % 4 * 2));
    }
  }
  std::byte* scales = record + layout.scale_offset;
  put_half(scales + row * 2, group.scales[0]);
  if (layout.bits == 6) put_half(scales + (kTileRows + row) * 2, group.scales[1]);
  if (layout.affine) put_half(scales + (kTileRows + row) * 2, group.offset);
}

// A two-dimensional constant with its target, and how one tile of it is made.
class Packer {
 public:
  Packer(ConstantPtr source, PackedEncoding encoding)
      : source_(std::move(source)), layout_(*packed_layout(encoding)), encoding_(encoding), rows_(static_cast<size_t>(source_->shape()[0])),
        cols_(static_cast<size_t>(source_->shape()[1])),
        blocks_(source_->encoding() != BlockEncoding::none && packed_for(source_->encoding()) == encoding ? source_->encoding() : BlockEncoding::none) {}

  size_t tile_bytes() const { return (cols_ + layout_.record_columns - 1) / layout_.record_columns * layout_.record_bytes; }
  size_t tiles() const { return (rows_ + kTileRows - 1) / kTileRows; }
  bool keeps_blocks() const { return blocks_ != BlockEncoding::none; }
  // Whether integers are searched for floats: that is work for several cores, the rest is copying.
  bool is_searched() const { return !keeps_blocks() && layout_.record_columns != 1; }
  size_t rows() const { return rows_; }
  size_t cols() const { return cols_; }

  Status check() const {
    if (keeps_blocks() && block_row_bytes(blocks_, cols_) == 0) {
      return Status::error(Code::invalid_data, "a block-quantised weight has rows that end inside a block", {.found = std::to_string(cols_) + " columns"});
    }
    return {};
  }

  // `out` has room for a tile and is overwritten.
  Status pack_tile(size_t tile, std::vector<float>& floats, std::byte* out) const {
    std::memset(out, 0, tile_bytes());
    const size_t begin = tile * kTileRows, count = std::min(kTileRows, rows_ - begin);
    if (keeps_blocks()) return pack_blocks(begin, count, out);
    floats.resize(kTileRows * cols_);
    PTERON_TRY(source_->read_rows_f32(static_cast<int64_t>(begin), static_cast<int64_t>(begin + count), floats.data()));
    if (layout_.record_columns == 1) pack_floats(floats.data(), count, out);
    else pack_integers(floats.data(), count, out);
    return {};
  }

 private:
  Status pack_blocks(size_t begin, size_t count, std::byte* out) const {
    GroupValues group;
    for (size_t row = 0; row < count; ++row) {
      const ByteSpan blocks = source_->block_row(static_cast<int64_t>(begin + row));
      if (blocks.size() != block_row_bytes(blocks_, cols_)) {
        return Status::error(Code::invalid_data, "a row of blocks has a wrong size",
                             {.expected = std::to_string(block_row_bytes(blocks_, cols_)), .found = std::to_string(blocks.size())});
      }
      for (size_t g = 0; g < cols_ / kGroupColumns; ++g) {
        read_group(blocks_, blocks, g, group);
        put_group(layout_, group, row, out + g * layout_.record_bytes);
      }
    }
    fill_integers(count, out);
    return {};
  }

  void pack_integers(const float* floats, size_t count, std::byte* out) const {
    GroupValues group;
    for (size_t row = 0; row < count; ++row) {
      for (size_t begin = 0; begin < cols_; begin += kGroupColumns) {
        float padded[kGroupColumns] = {};
        const size_t count_here = std::min(kGroupColumns, cols_ - begin);
        std::memcpy(padded, floats + row * cols_ + begin, count_here * sizeof(float));
        quantize(layout_, padded, group);
        std::fill(group.integers + count_here, group.integers + kGroupColumns, layout_.zero_point);
        put_group(layout_, group, row, out + begin / kGroupColumns * layout_.record_bytes);
      }
    }
    fill_integers(count, out);
  }

  // Rows past the end: the zero point with scale zero.
  void fill_integers(size_t count, std::byte* out) const {
    GroupValues empty{};
    std::fill(empty.integers, empty.integers + kGroupColumns, layout_.zero_point);
    for (size_t row = count; row < kTileRows; ++row) {
      for (size_t at = 0; at < tile_bytes(); at += layout_.record_bytes) put_group(layout_, empty, row, out + at);
    }
  }

  void pack_floats(const float* floats, size_t count, std::byte* out) const {
    for (size_t row = 0; row < count; ++row) {
      for (size_t k = 0; k < cols_; ++k) {
        const float value = floats[row * cols_ + k];
        std::byte* to = out + k * layout_.record_bytes;
        if (encoding_ == PackedEncoding::float32) store_unaligned(to + row * 4, value);
        else store_unaligned(to + row * 2, encoding_ == PackedEncoding::float16 ? float_to_half(value) : float_to_bfloat16(value));
      }
    }
  }

  ConstantPtr source_;
  const PackedLayout& layout_;
  PackedEncoding encoding_;
  size_t rows_, cols_;
  BlockEncoding blocks_;
};

// Tiles are packed by all cores, `together` at a time, and handed on in order: the bytes do not depend on how many cores there are.
Status stream_tiles(const Packer& packer, size_t together, const ByteSink& sink) {
  ThreadPool threads(packer.is_searched() ? 0 : 1);
  std::vector<std::byte> piece(together * packer.tile_bytes());
  std::vector<std::vector<float>> floats(threads.size());
  std::vector<Status> statuses(threads.size());
  for (size_t begin = 0; begin < packer.tiles(); begin += together) {
    const size_t count = std::min(together, packer.tiles() - begin);
    threads.run(threads.size(), [&](size_t part) {
      const size_t first = count * part / threads.size(), last = count * (part + 1) / threads.size();
      for (size_t i = first; i < last && statuses[part].ok(); ++i) statuses[part] = packer.pack_tile(begin + i, floats[part], piece.data() + i * packer.tile_bytes());
    });
    for (Status& status : statuses) PTERON_TRY(std::move(status));
    PTERON_TRY(sink(ByteSpan(piece).first(count * packer.tile_bytes())));
  }
  return {};
}

Result<Packer> make_packer(const ConstantPtr& source, PackedEncoding encoding) {
  const auto& shape = source->shape();
  if (shape.size() != 2 || shape[0] <= 0 || shape[1] <= 0) {
    return Status::error(Code::invalid_argument, "a weight must have two dimensions", {.found = std::to_string(shape.size()) + " dimensions"});
  }
  Packer packer(source, encoding);
  PTERON_TRY(packer.check());
  return packer;
}

}  // namespace

PackedEncoding choose_encoding(const ir::Constant& constant, const StoreOptions& options) {
  switch (constant.packing) {
    case ir::Packing::int8: return PackedEncoding::int8;
    case ir::Packing::int4: return options.int4;
    case ir::Packing::keep:
      if (constant.source->encoding() != BlockEncoding::none) return packed_for(constant.source->encoding());
      break;
    case ir::Packing::plain: break;
  }
  if (options.float_weights != PackedEncoding::float32) return options.float_weights;
  if (constant.source->dtype() == ScalarType::Half) return PackedEncoding::float16;
  return constant.source->dtype() == ScalarType::BFloat16 ? PackedEncoding::bfloat16 : PackedEncoding::float32;
}

Result<partition::ByteRecipe> pack_weight(const ConstantPtr& source, PackedEncoding encoding) {
  PTERON_ASSIGN(const Packer packer, make_packer(source, encoding));
  const auto nbytes = packed_bytes(encoding, packer.rows(), packer.cols());
  if (!nbytes) return Status::error(Code::out_of_capacity, "a weight is too large to pack");
  const size_t together = std::max<size_t>(1, kPieceBytes / packer.tile_bytes());
  return partition::ByteRecipe{*nbytes, [packer, together](const ByteSink& sink) { return stream_tiles(packer, together, sink); }};
}

Result<float> packing_error(const ConstantPtr& source, PackedEncoding encoding) {
  PTERON_ASSIGN(const Packer packer, make_packer(source, encoding));
  const PackedLayout& layout = *packed_layout(encoding);
  if (packer.keeps_blocks() || layout.record_columns == 1) return 0.0f;
  constexpr size_t kSample = 64;
  std::vector<float> row(packer.cols());
  double error = 0, total = 0;
  for (size_t i = 0; i < std::min(kSample, packer.rows()); ++i) {
    const auto at = static_cast<int64_t>(i * packer.rows() / std::min(kSample, packer.rows()));
    PTERON_TRY(source->read_rows_f32(at, at + 1, row.data()));
    for (size_t begin = 0; begin < row.size(); begin += kGroupColumns) {
      float padded[kGroupColumns] = {};
      std::copy_n(&row[begin], std::min(kGroupColumns, row.size() - begin), padded);
      GroupValues group;
      quantize(layout, padded, group);
      for (size_t k = 0; k < kGroupColumns; ++k) {
        const double lost = padded[k] - (group.scales[0] * (group.integers[k] - layout.zero_point) + group.offset);
        error += lost * lost;
        total += static_cast<double>(padded[k]) * padded[k];
      }
    }
  }
  return total > 0 ? static_cast<float>(std::sqrt(error / total)) : 0.0f;
}

partition::ByteRecipe plain_floats(const ConstantPtr& source) {
  uint64_t elements = 1;
  for (const int64_t size : source->shape()) elements *= static_cast<uint64_t>(size);
  return {elements * sizeof(float), [source, elements](const ByteSink& sink) -> Status {
            const int64_t rows = source->shape().empty() ? 1 : source->shape()[0];
            std::vector<float> values(elements);
            PTERON_TRY(source->read_rows_f32(0, rows, values.data()));
            return sink(ByteSpan(reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(float)));
          }};
}

}  // namespace pteron::cpu_backend
