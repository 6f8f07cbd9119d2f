// Recipes for constants: bytes that are produced when they are written, never held.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "pteron/tensor.h"

namespace pteron {

// Receives the bytes of a constant in order, in pieces of any size.
using ByteSink = std::function<Status(ByteSpan)>;

// The storage encodings a source can have beyond plain elements: GGUF's block types (ggml type numbers in brackets).
enum class BlockEncoding : uint8_t { none, q4_0 /*2*/, q4_1 /*3*/, q5_0 /*6*/, q5_1 /*7*/, q8_0 /*8*/, q4_k /*12*/, q5_k /*13*/, q6_k /*14*/ };

// A constant that can produce its bytes again and again, from a mapped file or from another source.
// Immutable and safe to read from several threads; it keeps what it reads from alive.
class ConstantSource {
 public:
  virtual ~ConstantSource() = default;

  // Elements as `dtype()`, row-major over `shape()`, are what `stream` produces.
  virtual ScalarType dtype() const = 0;
  virtual const std::vector<int64_t>& shape() const = 0;
  virtual uint64_t nbytes() const = 0;
  virtual Status stream(const ByteSink& sink) const = 0;

  // The part of `stream` that is rows [begin, end) of the first dimension (a scalar has one row); the range must lie inside. Sources that can
  // start anywhere override it; this one streams everything and drops what is outside.
  virtual Status stream_rows(int64_t begin, int64_t end, const ByteSink& sink) const {
    const uint64_t rows = shape().empty() ? 1 : static_cast<uint64_t>(shape()[0]);
    const uint64_t row_bytes = rows == 0 ? 0 : nbytes() / rows;
    const uint64_t from = static_cast<uint64_t>(begin) * row_bytes, to = static_cast<uint64_t>(end) * row_bytes;
    uint64_t position = 0;
    return stream([&](ByteSpan bytes) -> Status {
      const uint64_t first = position, last = position + bytes.size();
      position = last;
      if (last <= from || first >= to) return Status();
      const uint64_t skip = from > first ? from - first : 0;
      return sink(bytes.subspan(skip, (last < to ? last : to) - first - skip));
    });
  }

  // Rows [begin, end) of the first dimension as float32, row-major, into `out` (which has room for them). For packers and passes.
  virtual Status read_rows_f32(int64_t begin, int64_t end, float* out) const = 0;

  // Where this is the transpose of another source: that source. Transposing back then costs nothing and keeps the encoding.
  virtual std::shared_ptr<const ConstantSource> transposed() const { return nullptr; }

  // Where the source is block-quantised: its encoding and the stored blocks of row `row` of a 2-d tensor (rows as `shape()` says,
  // permutations applied); `none` and an empty span elsewhere. Lets a backend repack blocks without requantisation.
  virtual BlockEncoding encoding() const { return BlockEncoding::none; }
  virtual ByteSpan block_row(int64_t row) const { (void)row; return {}; }
};

using ConstantPtr = std::shared_ptr<const ConstantSource>;

// What a graph builder asks for weights: by Hugging Face names ("model.layers.0.self_attn.q_proj.weight").
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // The tensor of that name, or null. Shapes as Hugging Face has them ([out, in] for linear weights).
  virtual ConstantPtr find(const std::string& name) const = 0;
  // All names, sorted.
  virtual std::vector<std::string> names() const = 0;
  // The file that error messages should name for a tensor (or the source as a whole, for an unknown one).
  virtual std::string location(const std::string& name) const = 0;
};

}  // namespace pteron
