#include "llm/cache_state.h"

#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace pteron::llm {
namespace {

// Two heads of a key cache with keys of four floats, in plain memory.
struct Cache {
  explicit Cache(size_t slots) : values(2 * slots * 4), sizes{1, 2, static_cast<int32_t>(slots), 4} {}
  CacheView view(bool key = true) { return {key, 0, LayerKind::full, {ScalarType::Float, sizes, {}, values.data(), values.size() * 4}}; }
  float& at(size_t head, size_t slot, size_t i) { return values[(head * static_cast<size_t>(sizes[2]) + slot) * 4 + i]; }
  std::vector<float> values;
  std::vector<int32_t> sizes;
};

Contract contract_of(int64_t length, std::vector<LayerSpec> layers) {
  Contract contract;
  contract.context_length = length;
  contract.layers = std::move(layers);
  return contract;
}

TEST(CacheState, HeldRangeIsWhatARingStillHas) {
  const Geometry ring{10, 4};
  EXPECT_EQ(held_range(ring, 5, 5).first, 0u);
  EXPECT_EQ(held_range(ring, 12, 14).first, 4u) << "padding overwrote two more";
  EXPECT_EQ(held_range(ring, 12, 14).last, 12u);
  EXPECT_EQ(held_range(ring, 2, 30).first, 2u) << "nothing";
}

TEST(CacheState, CopiesAcrossTheWrapAndNothingElse) {
  Cache from(5), to(5);
  std::iota(from.values.begin(), from.values.end(), 1.0f);
  copy_slots(from.view(), to.view(), {3, 7});  // slots 3, 4, 0, 1
  for (size_t head = 0; head < 2; ++head) {
    for (size_t slot = 0; slot < 5; ++slot) EXPECT_EQ(to.at(head, slot, 2), slot == 2 ? 0 : from.at(head, slot, 2));
  }
  clear_slots(to.view(), 2);
  EXPECT_EQ(to.at(1, 1, 0), 0);
  EXPECT_NE(to.at(1, 3, 0), 0);
  clear_slots(to.view(), SIZE_MAX);
  EXPECT_EQ(to.at(1, 3, 0), 0);
}

TEST(CacheState, SavesOnlyCommittedSlots) {
  const Contract contract = contract_of(100, {{LayerKind::full, 2, 4, 4, 100, 0}});
  Cache keys(100), values(100);
  std::iota(keys.values.begin(), keys.values.end(), 1.0f);
  std::iota(values.values.begin(), values.values.end(), 5000.0f);
  const std::vector<CacheView> caches = {keys.view(), values.view(false)};
  std::vector<std::byte> bytes;
  ASSERT_TRUE(save_caches(contract, caches, {7, 8}, [&](ByteSpan part) {
    bytes.insert(bytes.end(), part.begin(), part.end());
    return Status();
  }).ok());
  EXPECT_EQ(bytes.size(), (3 + 6 + 1) * 8u + 7 * 2 * 2 * 4 * 4);
  const auto saved = read_saved_caches(contract, 7, bytes);
  ASSERT_TRUE(saved.ok()) << saved.status().message();
  EXPECT_EQ(saved->extent.written, 8u);
  Cache keys2(100), values2(100);
  const std::vector<CacheView> targets = {keys2.view(), values2.view(false)};
  load_caches(contract, *saved, targets);
  EXPECT_EQ(keys2.at(1, 6, 3), keys.at(1, 6, 3));
  EXPECT_EQ(keys2.at(1, 7, 3), 0);
  EXPECT_EQ(values2.at(0, 0, 0), 5000);
  EXPECT_FALSE(read_saved_caches(contract, 6, bytes).ok()) << "another number of tokens";
  EXPECT_FALSE(read_saved_caches(contract, 9, bytes).ok()) << "more tokens than were written";
  EXPECT_EQ(read_saved_caches(contract_of(101, contract.layers), 7, bytes).status().detail().field, "geometry[0]");
  bytes.pop_back();
  EXPECT_FALSE(read_saved_caches(contract, 7, bytes).ok());
}

TEST(CacheState, ASinkThatFailsEndsTheSaving) {
  const Contract contract = contract_of(10, {{LayerKind::full, 2, 4, 4, 10, 0}});
  Cache keys(10), values(10);
  const std::vector<CacheView> caches = {keys.view(), values.view(false)};
  int calls = 0;
  const Status status = save_caches(contract, caches, {3, 3}, [&](ByteSpan) { return ++calls == 2 ? Status::error(Code::io_error, "full") : Status(); });
  EXPECT_EQ(status.code(), Code::io_error);
  EXPECT_EQ(calls, 2);
}

// Keys that were rotated to their positions are rotated to the new ones, in both pairings.
TEST(CacheState, EvictTurnsKeysBack) {
  for (const bool interleaved : {false, true}) {
    Contract contract = contract_of(12, {{LayerKind::full, 2, 4, 4, 12, 0}});
    contract.rope.emplace();
    contract.rope->interleaved = interleaved;
    contract.rope->tables = {{4, {1.0, 0.25}}};
    contract.rope->layers = {0};
    const auto key_at = [&](Cache& cache, size_t head, size_t slot, size_t position, float content) {
      for (size_t pair = 0; pair < 2; ++pair) {
        const double angle = static_cast<double>(position) * (pair == 0 ? 1.0 : 0.25);
        const size_t a = interleaved ? 2 * pair : pair, b = interleaved ? 2 * pair + 1 : pair + 2;
        cache.at(head, slot, a) = content * static_cast<float>(std::cos(angle));
        cache.at(head, slot, b) = content * static_cast<float>(std::sin(angle));
      }
    };
    Cache keys(12), values(12), expected(12);
    for (size_t head = 0; head < 2; ++head) {
      for (size_t p = 0; p < 9; ++p) {
        key_at(keys, head, p, p, static_cast<float>(p + 1));
        values.at(head, p, 0) = static_cast<float>(p);
        if (p < 2) key_at(expected, head, p, p, static_cast<float>(p + 1));
        if (p >= 5) key_at(expected, head, p - 3, p - 3, static_cast<float>(p + 1));
      }
    }
    const std::vector<CacheView> caches = {keys.view(), values.view(false)};
    ASSERT_TRUE(evict_slots(contract, caches, 9, 2, 5).ok());
    for (size_t head = 0; head < 2; ++head) {
      for (size_t slot = 0; slot < 6; ++slot) {
        for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(keys.at(head, slot, i), expected.at(head, slot, i), 1e-5) << slot;
        EXPECT_EQ(values.at(head, slot, 0), static_cast<float>(slot < 2 ? slot : slot + 3));
      }
    }
    contract.rope->layers = {std::nullopt};
    const float before = keys.at(0, 3, 0);
    ASSERT_TRUE(evict_slots(contract, caches, 6, 0, 1).ok());
    EXPECT_EQ(keys.at(0, 2, 0), before) << "keys without a rotation only move";
  }
}

}  // namespace
}  // namespace pteron::llm
