#include "llm/cache_state.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/dtype.h"

namespace pteron::llm {
namespace {

// One head of a cache: `slots` rows of `row_bytes`.
struct Head {
  std::byte* data;
  size_t slots, row_bytes;
};

size_t head_count(const CacheView& cache) { return static_cast<size_t>(cache.tensor.sizes[1]); }

Head head_of(const CacheView& cache, size_t head) {
  const size_t slots = static_cast<size_t>(cache.tensor.sizes[2]);
  const size_t row_bytes = static_cast<size_t>(cache.tensor.sizes[3]) * element_size(cache.tensor.dtype);
  return {static_cast<std::byte*>(cache.tensor.data) + head * slots * row_bytes, slots, row_bytes};
}

// Calls `run(slot, count)` for the runs of slots, at most two, that hold a range of positions.
template <class Run>
void for_each_run(size_t slots, PositionRange range, Run&& run) {
  size_t at = range.first;
  while (at < range.last) {
    const size_t slot = at % slots, count = std::min(range.last - at, slots - slot);
    run(slot, count);
    at += count;
  }
}

Geometry geometry_of(const Contract& contract, const CacheView& cache) { return Geometry::of(contract.layers[cache.layer]); }

// The numbers that two states must agree in, in the order of the file.
std::vector<uint64_t> geometry_header(const Contract& contract) {
  std::vector<uint64_t> header = {static_cast<uint64_t>(contract.context_length), static_cast<uint64_t>(contract.cache_dtype), contract.layers.size()};
  for (const LayerSpec& layer : contract.layers) {
    for (const int64_t value : {static_cast<int64_t>(layer.kind), layer.heads, layer.key_dim, layer.value_dim, layer.slots, layer.window}) {
      header.push_back(static_cast<uint64_t>(value));
    }
  }
  return header;
}

// Bytes of the committed slots of all caches.
size_t slot_bytes(const Contract& contract, CacheExtent extent) {
  size_t bytes = 0;
  for (const LayerSpec& layer : contract.layers) {
    const PositionRange range = held_range(Geometry::of(layer), extent.position, extent.written);
    bytes += (range.last - range.first) * static_cast<size_t>(layer.heads * (layer.key_dim + layer.value_dim)) * element_size(contract.cache_dtype);
  }
  return bytes;
}

Status mismatch(std::string_view field, uint64_t expected, uint64_t found) {
  return Status::error(Code::invalid_data, "the saved state is of another geometry", {"", std::string(field), std::to_string(expected), std::to_string(found)});
}

// Turns the first `dims` elements of keys to positions that are `delta` lower.
class KeyRotation {
 public:
  KeyRotation(const RopeTable& table, bool interleaved, size_t delta) : interleaved_(interleaved) {
    for (const double frequency : table.inverse_frequencies) {
      const double angle = -static_cast<double>(delta) * frequency;
      turns_.push_back({std::cos(angle), std::sin(angle)});
    }
  }

  void apply(void* key, ScalarType dtype) const {
    const size_t half = turns_.size();
    for (size_t i = 0; i < half; ++i) {
      const size_t a = interleaved_ ? 2 * i : i, b = interleaved_ ? 2 * i + 1 : i + half;
      const double x = load(key, a, dtype), y = load(key, b, dtype);
      store(key, a, dtype, x * turns_[i].cos - y * turns_[i].sin);
      store(key, b, dtype, y * turns_[i].cos + x * turns_[i].sin);
    }
  }

 private:
  struct Turn {
    double cos, sin;
  };
  static double load(const void* data, size_t i, ScalarType dtype) {
    if (dtype == ScalarType::Float) return static_cast<const float*>(data)[i];
    const uint16_t bits = static_cast<const uint16_t*>(data)[i];
    return dtype == ScalarType::Half ? half_to_float(bits) : bfloat16_to_float(bits);
  }
  static void store(void* data, size_t i, ScalarType dtype, double value) {
    const float rounded = static_cast<float>(value);
    if (dtype == ScalarType::Float) {
      static_cast<float*>(data)[i] = rounded;
    } else {
      static_cast<uint16_t*>(data)[i] = dtype == ScalarType::Half ? float_to_half(rounded) : float_to_bfloat16(rounded);
    }
  }
  bool interleaved_;
  std::vector<Turn> turns_;
};

}  // namespace

PositionRange held_range(const Geometry& geometry, size_t position, size_t written) {
  const size_t oldest = written > geometry.slots ? written - geometry.slots : 0;
  return {std::min(oldest, position), position};
}

void clear_slots(const CacheView& cache, size_t written) {
  for (size_t h = 0; h < head_count(cache); ++h) {
    const Head head = head_of(cache, h);
    std::memset(head.data, 0, std::min(written, head.slots) * head.row_bytes);
  }
}

void copy_slots(const CacheView& from, const CacheView& to, PositionRange range) {
  for (size_t h = 0; h < head_count(from); ++h) {
    const Head source = head_of(from, h), target = head_of(to, h);
    for_each_run(source.slots, range, [&](size_t slot, size_t count) {
      std::memcpy(target.data + slot * target.row_bytes, source.data + slot * source.row_bytes, count * source.row_bytes);
    });
  }
}

Status save_caches(const Contract& contract, std::span<const CacheView> caches, CacheExtent extent, const StateSink& sink) {
  std::vector<uint64_t> header = geometry_header(contract);
  header.push_back(extent.written);
  PTERON_TRY(sink(std::as_bytes(std::span(header))));
  for (const CacheView& cache : caches) {
    const PositionRange range = held_range(geometry_of(contract, cache), extent.position, extent.written);
    for (size_t h = 0; h < head_count(cache); ++h) {
      const Head head = head_of(cache, h);
      Status status;
      for_each_run(head.slots, range, [&](size_t slot, size_t count) {
        if (status.ok()) status = sink({head.data + slot * head.row_bytes, count * head.row_bytes});
      });
      PTERON_TRY(status);
    }
  }
  return {};
}

Result<SavedCaches> read_saved_caches(const Contract& contract, size_t position, ByteSpan bytes) {
  const std::vector<uint64_t> expected = geometry_header(contract);
  const size_t header_bytes = (expected.size() + 1) * sizeof(uint64_t);
  if (bytes.size() < header_bytes) return mismatch("bytes of the caches", header_bytes, bytes.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const uint64_t found = load_unaligned<uint64_t>(bytes.data() + i * sizeof(uint64_t));
    if (found != expected[i]) return mismatch("geometry[" + std::to_string(i) + "]", expected[i], found);
  }
  SavedCaches saved;
  saved.extent = {position, load_unaligned<uint64_t>(bytes.data() + expected.size() * sizeof(uint64_t))};
  const size_t capacity = static_cast<size_t>(contract.context_length);
  if (saved.extent.written > capacity || position > saved.extent.written) return mismatch("positions written", capacity, saved.extent.written);
  saved.slots = bytes.subspan(header_bytes);
  const size_t wanted = slot_bytes(contract, saved.extent);
  if (saved.slots.size() != wanted) return mismatch("bytes of the caches", wanted, saved.slots.size());
  return saved;
}

void load_caches(const Contract& contract, const SavedCaches& saved, std::span<const CacheView> caches) {
  const std::byte* from = saved.slots.data();
  for (const CacheView& cache : caches) {
    const PositionRange range = held_range(geometry_of(contract, cache), saved.extent.position, saved.extent.written);
    for (size_t h = 0; h < head_count(cache); ++h) {
      const Head head = head_of(cache, h);
      for_each_run(head.slots, range, [&](size_t slot, size_t count) {
        std::memcpy(head.data + slot * head.row_bytes, from, count * head.row_bytes);
        from += count * head.row_bytes;
      });
    }
  }
}

Status evict_slots(const Contract& contract, std::span<const CacheView> caches, size_t position, size_t from, size_t to) {
  for (size_t i = 0; i < contract.layers.size(); ++i) {
    const LayerSpec& layer = contract.layers[i];
    if (layer.kind == LayerKind::full || layer.window >= contract.context_length) continue;
    return Status::error(Code::unsupported, "tokens can only be evicted from full layers", {"", "cache.layers[" + std::to_string(i) + "]", "full", "sliding"});
  }
  if (!contract.rope) {
    return Status::error(Code::unsupported, "the contract does not say how keys were rotated", {"", "rope", "an object", "nothing"});
  }
  const size_t delta = to - from;
  std::vector<KeyRotation> rotations;
  for (const RopeTable& table : contract.rope->tables) rotations.emplace_back(table, contract.rope->interleaved, delta);
  for (const CacheView& cache : caches) {
    const auto table = contract.rope->layers[cache.layer];
    for (size_t h = 0; h < head_count(cache); ++h) {
      const Head head = head_of(cache, h);
      std::memmove(head.data + from * head.row_bytes, head.data + to * head.row_bytes, (position - to) * head.row_bytes);
      if (!cache.key || !table) continue;
      for (size_t slot = from; slot < position - delta; ++slot) rotations[*table].apply(head.data + slot * head.row_bytes, cache.tensor.dtype);
    }
  }
  return {};
}

}  // namespace pteron::llm
