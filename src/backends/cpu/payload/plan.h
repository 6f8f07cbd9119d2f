// What the compile half of the cpu backend hands to its run half: a static plan over one arena. One plan is one delegate's payload.
//
// Values are matrices of `rows` tokens (or of one row) by `width` float32. A step reads and writes whole buffers; the rows that are
// computed are those up to the `last_row` argument. Weights lie in named data under their keys, packed as core/packed_weight.h says.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "core/packed_weight.h"
#include "core/stored_weight.h"
#include "pteron/tensor.h"

namespace pteron::cpu_backend {

inline constexpr uint32_t kPlanMagic = 0x50435450;  // "PTCP"
inline constexpr uint32_t kPlanVersion = 1;
inline constexpr int32_t kAbsent = -1;  // an optional index that is left out
inline constexpr std::string_view kDelegateId = "PteronCpu";

// A weight (packed) or a plain vector or matrix of float32 (norms, biases, frequencies).
struct TensorRef {
  std::string key;  // of the named data
  bool packed = true;
  PackedEncoding encoding = PackedEncoding::float32;
  uint32_t rows = 0, cols = 0;
  float error = 0;  // relative root mean square error of the packed values; 0 where they are the source's own
  uint64_t bytes() const;
};

// A tensor that the caller hands over: inputs in the region's order, then outputs.
struct Argument {
  ScalarType dtype = ScalarType::Float;
  bool output = false;
  std::vector<int32_t> sizes;
  uint64_t elements() const;
};

enum class BufferFormat : uint8_t { float32, quantized };
struct Buffer {
  int32_t argument = kAbsent;  // lives in the caller's float32 tensor, or
  uint64_t offset = 0;         // in the arena, at a multiple of 64
  uint32_t width = 0;
  bool single_row = false;     // one row instead of the plan's
  BufferFormat format = BufferFormat::float32;
};

enum class NormKind : uint8_t { none, rms, layer };
// Normalises each stretch of `width` values; the weight holds one stretch, or one for each stretch of a row.
struct Norm {
  NormKind kind = NormKind::none;
  int32_t weight = kAbsent, bias = kAbsent;
  float eps = 0, offset = 0;
  uint32_t width = 0;
};

// cos and sin of position * inv_freq, made once a call.
struct Rope {
  int32_t frequencies = 0;  // tensor of 1 x half
  int32_t positions = 0;    // argument
  float attention_factor = 1;
};

// A mask of zeros and hidden slots (or booleans), turned into runs of visible slots once a call.
struct Mask {
  int32_t argument = 0;
  uint32_t slots = 0;
};

enum class Activation : uint8_t { none, silu, gelu_tanh, gelu_erf, relu };

struct EmbedStep {
  int32_t weight = 0, ids = 0, out = 0;
  float scale = 1;
};
// out = (accumulate ? out : 0) + norm(in)
struct NormStep {
  Norm norm;
  int32_t in = 0, out = 0;
  bool accumulate = false;
};
struct Projection {
  int32_t weight = 0, bias = kAbsent, out = 0;
};
enum class ProjectMode : uint8_t {
  store,       // each projection to its own buffer
  accumulate,  // each added to its own buffer
  gated,       // activation(first) * second, to the first's buffer
};
// Projections of one input, normalised first where there is a norm. `activation` applies to the results (to the first where gated).
struct ProjectStep {
  int32_t in = 0;
  Norm norm;
  std::vector<Projection> projections;
  ProjectMode mode = ProjectMode::store;
  Activation activation = Activation::none;
};
// Rotates each head of `width` values of a buffer in place.
struct RopeStep {
  int32_t rope = 0, buffer = 0;
  uint32_t width = 0;
  bool interleaved = false;
};
// Writes rows to a cache argument [1, heads, slots, dim] at the slots that the positions say.
struct WriteStep {
  int32_t rows = 0, cache = 0, positions = 0;
  uint32_t heads = 0, dim = 0, slots = 0;
};
// Normalises and rotates queries and keys, writes keys and values to their caches (where `keys` is there), and attends.
struct AttendStep {
  int32_t queries = 0, keys = kAbsent, values = kAbsent, out = 0;
  Norm query_norm, key_norm;
  int32_t query_rope = kAbsent, key_rope = kAbsent;
  bool interleaved = false;
  int32_t key_cache = 0, value_cache = 0, positions = kAbsent;
  int32_t mask = 0, bias = kAbsent;
  uint32_t heads = 0, kv_heads = 0, key_dim = 0, value_dim = 0, slots = 0;
  float scale = 1, softcap = 0;
};
enum class MapKind : uint8_t { activation, softcap, scale, copy };
struct MapStep {
  MapKind kind = MapKind::copy;
  Activation activation = Activation::none;
  float factor = 1;
  int32_t in = 0, out = 0;
};
enum class CombineKind : uint8_t { add, multiply };
// out = a + factor * b, or a * b
struct CombineStep {
  CombineKind kind = CombineKind::add;
  float factor = 1;
  int32_t a = 0, b = 0, out = 0;
};
struct SelectStep {
  int32_t in = 0, row = 0, out = 0;
};
// Between an argument of another float type and a float32 buffer.
struct ConvertStep {
  int32_t argument = 0, buffer = 0;
  bool to_argument = false;
};

using Step = std::variant<EmbedStep, NormStep, ProjectStep, RopeStep, WriteStep, AttendStep, MapStep, CombineStep, SelectStep, ConvertStep>;
std::string_view step_name(const Step& step);

// f(the kind that a step is). Steps move without failing, so one without a value cannot be: unlike std::visit this has no way to end the process.
template <size_t kIndex = 0, class S, class F>
decltype(auto) visit_step(S& step, F&& f) {
  if constexpr (kIndex + 1 == std::variant_size_v<Step>) {
    return f(*std::get_if<kIndex>(&step));
  } else {
    if (auto* kind = std::get_if<kIndex>(&step)) return f(*kind);
    return visit_step<kIndex + 1>(step, f);
  }
}

struct Plan {
  uint32_t rows = 1;
  int32_t last_row = kAbsent;  // argument (integer): the last row that is computed
  uint64_t arena_bytes = 0;
  std::vector<TensorRef> tensors;
  std::vector<Argument> arguments;
  std::vector<Buffer> buffers;
  std::vector<Rope> ropes;
  std::vector<Mask> masks;
  std::vector<Step> steps;
};

// Bytes of a quantised row of so many values: int8 in whole groups of 32, then 16 bytes a group, up to a multiple of 64.
constexpr uint64_t quantized_bytes(uint64_t width) { return ((width + 31) / 32 * 48 + 63) / 64 * 64; }
uint64_t buffer_row_bytes(const Buffer& buffer);

// The packed weights of a plan.
std::vector<StoredWeight> stored_weights(const Plan& plan);

std::vector<std::byte> write_plan(const Plan& plan);
// Reads and checks all of it: every index, size, offset and shape that the run half relies on. Errors name the field.
Result<Plan> read_plan(ByteSpan payload);

}  // namespace pteron::cpu_backend
