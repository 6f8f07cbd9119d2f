// The checks of each kind of step and norm that plan_test.cc's model does not have: one small plan for each.
#include "backends/cpu/payload/checks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

namespace pteron::cpu_backend {
namespace {

// Two buffers of width 8 over three rows, tensors and arguments of every sort, and one step.
Plan plan_of(Step step) {
  Plan p;
  p.rows = 3;
  p.arena_bytes = 1024;
  p.tensors = {{"weight", true, PackedEncoding::int4, 8, 8}, {"vector", false, PackedEncoding::float32, 1, 8}, {"freq", false, PackedEncoding::float32, 1, 4}};
  p.arguments = {{ScalarType::Long, false, {1, 3}}, {ScalarType::Half, false, {1, 2, 16, 4}}, {ScalarType::Half, true, {3, 8}}, {ScalarType::Half, false, {3, 8}}};
  p.buffers = {{kAbsent, 0, 8}, {kAbsent, 128, 8}, {kAbsent, 256, 8, true}, {kAbsent, 320, 8, false, BufferFormat::quantized}};
  p.ropes = {{2, 0, 1.0f}};
  p.steps = {std::move(step)};
  return p;
}

template <class T>
std::string field_of(const T& step, const std::function<void(T&)>& change) {
  const Plan good = plan_of(step);
  const Status status = check_plan(good);
  EXPECT_TRUE(status.ok()) << status.message();
  Plan bad = good;
  change(std::get<T>(bad.steps[0]));
  const Status refused = check_plan(bad);
  EXPECT_EQ(refused.code(), Code::invalid_data);
  return refused.detail().field;
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Checks, Norms) {
  const NormStep good{{NormKind::rms, 1, kAbsent, 1e-5f, 0, 8}, 0, 1, false};
  const auto field = [&](std::function<void(NormStep&)> change) { return field_of<NormStep>(good, change); };
  EXPECT_EQ(field([](NormStep& s) { s.out = 2; }), "steps[0].out");
  EXPECT_EQ(field([](NormStep& s) { s.in = 3; }), "steps[0].in");
  EXPECT_EQ(field([](NormStep& s) { s.in = 4; }), "steps[0].in");
  EXPECT_EQ(field([](NormStep& s) { s.norm.kind = NormKind::none; }), "steps[0].norm");
  EXPECT_EQ(field([](NormStep& s) { s.norm.kind = static_cast<NormKind>(9); }), "steps[0].norm");
  EXPECT_EQ(field([](NormStep& s) { s.norm.width = 3; }), "steps[0].norm");
  EXPECT_EQ(field([](NormStep& s) { s.norm.eps = kNan; }), "steps[0].norm");
  EXPECT_EQ(field([](NormStep& s) { s.norm.eps = -1; }), "steps[0].norm");
  EXPECT_EQ(field([](NormStep& s) { s.norm.weight = 0; }), "steps[0].norm");
  EXPECT_EQ(field([](NormStep& s) { s.norm.bias = 2; }), "steps[0].norm");
}

TEST(Checks, Rotations) {
  const RopeStep good{0, 0, 8, false};
  const auto field = [&](std::function<void(RopeStep&)> change) { return field_of<RopeStep>(good, change); };
  EXPECT_EQ(field([](RopeStep& s) { s.rope = 1; }), "steps[0].rope");
  EXPECT_EQ(field([](RopeStep& s) { s.width = 4; }), "steps[0].rope");
  EXPECT_EQ(field([](RopeStep& s) { s.width = 0; }), "steps[0].width");
  EXPECT_EQ(field([](RopeStep& s) { s.width = 5; }), "steps[0].width");
  EXPECT_EQ(field([](RopeStep& s) { s.buffer = 2; }), "steps[0].buffer");
}

TEST(Checks, CacheWrites) {
  const WriteStep good{0, 1, 0, 2, 4, 16};
  const auto field = [&](std::function<void(WriteStep&)> change) { return field_of<WriteStep>(good, change); };
  EXPECT_EQ(field([](WriteStep& s) { s.cache = 0; }), "steps[0].cache");
  EXPECT_EQ(field([](WriteStep& s) { s.cache = 2; }), "steps[0].cache");
  EXPECT_EQ(field([](WriteStep& s) { s.slots = 15; }), "steps[0].cache");
  EXPECT_EQ(field([](WriteStep& s) { s.slots = 0xffffffff, s.heads = s.dim = 0x80000000; }), "steps[0].cache");
  EXPECT_EQ(field([](WriteStep& s) { s.positions = 1; }), "steps[0].positions");
  EXPECT_EQ(field([](WriteStep& s) { s.rows = 2; }), "steps[0].rows");
}

TEST(Checks, MapsAndSums) {
  const MapStep map{MapKind::softcap, Activation::none, 30, 0, 1};
  EXPECT_EQ(field_of<MapStep>(map, [](MapStep& s) { s.kind = static_cast<MapKind>(7); }), "steps[0].kind");
  EXPECT_EQ(field_of<MapStep>(map, [](MapStep& s) { s.activation = static_cast<Activation>(7); }), "steps[0].activation");
  EXPECT_EQ(field_of<MapStep>(map, [](MapStep& s) { s.factor = 0; }), "steps[0].factor");
  EXPECT_EQ(field_of<MapStep>(map, [](MapStep& s) { s.out = 2; }), "steps[0].out");
  const CombineStep sum{CombineKind::add, 1, 0, 1, 1};
  EXPECT_EQ(field_of<CombineStep>(sum, [](CombineStep& s) { s.kind = static_cast<CombineKind>(2); }), "steps[0].kind");
  EXPECT_EQ(field_of<CombineStep>(sum, [](CombineStep& s) { s.factor = INFINITY; }), "steps[0].factor");
  EXPECT_EQ(field_of<CombineStep>(sum, [](CombineStep& s) { s.b = 2; }), "steps[0].b");
  EXPECT_EQ(field_of<CombineStep>(sum, [](CombineStep& s) { s.a = -1; }), "steps[0].a");
}

TEST(Checks, Conversions) {
  const ConvertStep out{2, 0, true};
  EXPECT_EQ(field_of<ConvertStep>(out, [](ConvertStep& s) { s.argument = 3; }), "steps[0].to_argument");
  EXPECT_EQ(field_of<ConvertStep>(out, [](ConvertStep& s) { s.argument = 0; }), "steps[0].argument");
  EXPECT_EQ(field_of<ConvertStep>(out, [](ConvertStep& s) { s.to_argument = false; }), "steps[0].to_argument");
  EXPECT_EQ(field_of<ConvertStep>(out, [](ConvertStep& s) { s.buffer = 2; }), "steps[0].argument");
  EXPECT_EQ(field_of<ConvertStep>(out, [](ConvertStep& s) { s.buffer = 3; }), "steps[0].buffer");
}

TEST(Checks, ProjectionsOnQuantisedRows) {
  const ProjectStep good{3, {}, {{0, kAbsent, 0}}, ProjectMode::store, Activation::none};
  const auto field = [&](std::function<void(ProjectStep&)> change) { return field_of<ProjectStep>(good, change); };
  EXPECT_EQ(field([](ProjectStep& s) { s.norm = {NormKind::rms, 1, kAbsent, 1e-5f, 0, 8}; }), "steps[0].norm");
  EXPECT_EQ(field([](ProjectStep& s) { s.projections[0].out = 3; }), "steps[0].projections.out");
  EXPECT_EQ(field([](ProjectStep& s) { s.projections[0].weight = 1; }), "steps[0].projections.weight");
  EXPECT_EQ(field([](ProjectStep& s) { s.projections[0].bias = 2; }), "steps[0].projections.bias");
  EXPECT_EQ(field([](ProjectStep& s) { s.projections[0].out = 2; }), "steps[0].projections.out");
  EXPECT_EQ(field([](ProjectStep& s) { s.activation = static_cast<Activation>(200); }), "steps[0].activation");
}

}  // namespace
}  // namespace pteron::cpu_backend
