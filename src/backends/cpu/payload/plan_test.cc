#include "backends/cpu/payload/plan.h"

#include <gtest/gtest.h>

#include <functional>

namespace pteron::cpu_backend {
namespace {

// A small model: embedding, one attention with norms and rotation, a gated MLP, the logits of one row.
Plan small_plan() {
  Plan p;
  p.rows = 4;
  p.arena_bytes = 64 * 256;
  p.tensors = {{"embed", true, PackedEncoding::int8, 100, 32}, {"norm", false, PackedEncoding::float32, 1, 32}, {"q", true, PackedEncoding::int4, 32, 32},
               {"k", true, PackedEncoding::int4_affine, 16, 32}, {"freq", false, PackedEncoding::float32, 1, 4}, {"up", true, PackedEncoding::int5, 64, 32},
               {"down", true, PackedEncoding::int6, 32, 64}};
  p.arguments = {{ScalarType::Long, false, {1, 4}}, {ScalarType::Long, false, {1, 4}}, {ScalarType::Bool, false, {1, 1, 4, 16}},
                 {ScalarType::Half, false, {1, 2, 16, 8}}, {ScalarType::Half, false, {1, 2, 16, 8}}, {ScalarType::Long, false, {1}},
                 {ScalarType::Float, true, {1, 1, 100}}};
  p.last_row = 5;
  p.buffers = {{kAbsent, 0, 32}, {kAbsent, 512, 32}, {kAbsent, 1024, 16}, {kAbsent, 1280, 16}, {kAbsent, 1536, 32},
               {kAbsent, 2048, 64, false, BufferFormat::quantized}, {kAbsent, 4096, 32, true}, {6, 0, 100, true}};
  p.ropes = {{4, 1, 1.0f}};
  p.masks = {{2, 16}};
  const Norm norm{NormKind::rms, 1, kAbsent, 1e-5f, 0, 32};
  AttendStep attend;
  attend.queries = 1, attend.keys = 2, attend.values = 3, attend.out = 4;
  attend.query_rope = attend.key_rope = 0;
  attend.key_cache = 3, attend.value_cache = 4, attend.positions = 1, attend.mask = 0;
  attend.heads = 4, attend.kv_heads = 2, attend.key_dim = attend.value_dim = 8, attend.slots = 16;
  p.steps = {EmbedStep{0, 0, 0, 2.0f},
             ProjectStep{0, norm, {{2, kAbsent, 1}, {3, kAbsent, 2}, {3, kAbsent, 3}}, ProjectMode::store, Activation::none},
             attend,
             ProjectStep{4, {}, {{2, kAbsent, 0}}, ProjectMode::accumulate, Activation::none},
             ProjectStep{0, norm, {{5, kAbsent, 5}, {5, kAbsent, 5}}, ProjectMode::gated, Activation::silu},
             ProjectStep{5, {}, {{6, kAbsent, 0}}, ProjectMode::accumulate, Activation::none},
             SelectStep{0, 5, 6},
             ProjectStep{6, norm, {{0, kAbsent, 7}}, ProjectMode::store, Activation::none}};
  return p;
}

void expect_refused(const std::string& field, const std::function<void(Plan&)>& change) {
  Plan plan = small_plan();
  change(plan);
  const auto read = read_plan(write_plan(plan));
  ASSERT_FALSE(read.ok()) << field;
  EXPECT_EQ(read.code(), Code::invalid_data);
  EXPECT_EQ(read.status().detail().field, field) << read.status().message();
}

TEST(Plan, ReadsBackWhatWasWritten) {
  const auto bytes = write_plan(small_plan());
  const auto plan = read_plan(bytes);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(write_plan(*plan), bytes);
  EXPECT_EQ(plan->steps.size(), 8u);
  EXPECT_EQ(step_name(plan->steps[2]), "attend");
}

TEST(Plan, SaysWhichWeightsItStores) {
  Plan plan = small_plan();
  plan.tensors[2].error = 0.08f;
  const auto weights = stored_weights(*read_plan(write_plan(plan)));
  ASSERT_EQ(weights.size(), 5u);  // the norm and the frequencies are plain
  EXPECT_EQ(weights[0].key, "embed");
  EXPECT_EQ(weights[0].encoding, "int8");
  EXPECT_EQ(weights[0].shape, (std::vector<int64_t>{100, 32}));
  EXPECT_EQ(weights[0].bytes, *packed_bytes(PackedEncoding::int8, 100, 32));
  EXPECT_FALSE(weights[0].error);
  EXPECT_EQ(weights[1].error, 0.08f);
}

TEST(Plan, EveryTruncationIsRefused) {
  const auto bytes = write_plan(small_plan());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(read_plan(ByteSpan(bytes).first(size)).ok()) << size;
}

TEST(Plan, RefusesWrongHeaders) {
  const auto field_of = [](size_t offset, uint32_t value) {
    auto bytes = write_plan(small_plan());
    store_unaligned(bytes.data() + offset, value);
    return read_plan(bytes).status().detail().field;
  };
  EXPECT_EQ(field_of(0, 7), "magic");
  EXPECT_EQ(field_of(4, kPlanVersion + 1), "version");
  EXPECT_EQ(field_of(8, 12), "size");
}

TEST(Plan, NamesTheFieldThatIsWrong) {
  expect_refused("rows", [](Plan& p) { p.rows = 0; });
  expect_refused("arena_bytes", [](Plan& p) { p.arena_bytes = ~uint64_t{0}; });
  expect_refused("tensors[2].encoding", [](Plan& p) { p.tensors[2].encoding = static_cast<PackedEncoding>(77); });
  expect_refused("tensors[0].key", [](Plan& p) { p.tensors[0].key.clear(); });
  expect_refused("tensors[2].error", [](Plan& p) { p.tensors[2].error = -1; });
  expect_refused("tensors[1].cols", [](Plan& p) { p.tensors[1].cols = 0; });
  expect_refused("arguments[3].sizes", [](Plan& p) { p.arguments[3].sizes = {1 << 30, 1 << 30, 1 << 30}; });
  expect_refused("arguments[0].dtype", [](Plan& p) { p.arguments[0].dtype = static_cast<ScalarType>(99); });
  expect_refused("buffers[1].offset", [](Plan& p) { p.buffers[1].offset = 513; });
  expect_refused("buffers[1].offset", [](Plan& p) { p.buffers[1].offset = 64 * 256; });
  expect_refused("buffers[7].argument", [](Plan& p) { p.buffers[7].argument = 3; });
  expect_refused("buffers[7].argument", [](Plan& p) { p.buffers[7].argument = 70; });
  expect_refused("ropes[0].frequencies", [](Plan& p) { p.ropes[0].frequencies = 2; });
  expect_refused("masks[0].argument", [](Plan& p) { p.masks[0].slots = 17; });
  expect_refused("last_row", [](Plan& p) { p.last_row = 0; });
}

template <class T>
T& step(Plan& plan, size_t index) { return std::get<T>(plan.steps[index]); }

TEST(Plan, NamesTheStepThatIsWrong) {
  expect_refused("steps[0].ids", [](Plan& p) { step<EmbedStep>(p, 0).ids = 3; });
  expect_refused("steps[0].out", [](Plan& p) { step<EmbedStep>(p, 0).out = 2; });
  expect_refused("steps[1].projections.weight", [](Plan& p) { step<ProjectStep>(p, 1).projections[1].weight = 200; });
  expect_refused("steps[1].projections.weight", [](Plan& p) { step<ProjectStep>(p, 1).projections[0].weight = 6; });
  expect_refused("steps[1].projections.out", [](Plan& p) { step<ProjectStep>(p, 1).projections[0].out = 2; });
  expect_refused("steps[1].norm", [](Plan& p) { step<ProjectStep>(p, 1).norm.width = 31; });
  expect_refused("steps[1].projections", [](Plan& p) { step<ProjectStep>(p, 1).projections.clear(); });
  expect_refused("steps[2].heads", [](Plan& p) { step<AttendStep>(p, 2).heads = 3; });
  expect_refused("steps[2].key_cache", [](Plan& p) { step<AttendStep>(p, 2).key_cache = 0; });
  expect_refused("steps[2].values", [](Plan& p) { step<AttendStep>(p, 2).values = kAbsent; });
  expect_refused("steps[2].key_rope", [](Plan& p) { step<AttendStep>(p, 2).key_rope = 1; });
  expect_refused("steps[2].mask", [](Plan& p) { step<AttendStep>(p, 2).mask = -2; });
  expect_refused("steps[4].projections", [](Plan& p) { step<ProjectStep>(p, 4).projections.pop_back(); });
  expect_refused("steps[5].norm", [](Plan& p) { step<ProjectStep>(p, 5).norm = {NormKind::rms, kAbsent, kAbsent, 1e-5f, 0, 64}; });
  expect_refused("steps[6].row", [](Plan& p) { step<SelectStep>(p, 6).row = 0; });
  // An input tensor as a buffer is read at most.
  const auto hand_in = [](Plan& p, size_t buffer) {
    p.arguments.push_back({ScalarType::Float, false, {4, static_cast<int32_t>(p.buffers[buffer].width)}});
    p.buffers[buffer] = {static_cast<int32_t>(p.arguments.size()) - 1, 0, p.buffers[buffer].width};
  };
  expect_refused("steps[0].buffer", [&](Plan& p) { hand_in(p, 0); });
  expect_refused("steps[1].buffer", [&](Plan& p) { hand_in(p, 3); });
  expect_refused("steps[2].buffer", [&](Plan& p) { hand_in(p, 4); });
  expect_refused("steps[7].mode", [](Plan& p) { step<ProjectStep>(p, 7).mode = static_cast<ProjectMode>(9); });
}

}  // namespace
}  // namespace pteron::cpu_backend
