#include "backends/cpu/compile/fuse.h"

#include <gtest/gtest.h>

namespace pteron::cpu_backend {
namespace {

ProjectStep project(int32_t in, int32_t out) { return {in, {}, {{0, kAbsent, out}}, ProjectMode::store, Activation::none}; }
CombineStep sum(int32_t a, int32_t b, int32_t out, float factor = 1) { return {CombineKind::add, factor, a, b, out}; }
MapStep scale(int32_t in, int32_t out, float factor) { return {MapKind::scale, Activation::none, factor, in, out}; }

TEST(Fuse, AResidualSumHappensInTheProjection) {
  std::vector<Step> steps = {EmbedStep{0, 0, 10, 1}, project(10, 11), project(11, 12), sum(10, 12, 13), project(13, 14)};
  fuse_steps(steps, {14});
  ASSERT_EQ(steps.size(), 4u);
  const auto& added = std::get<ProjectStep>(steps[2]);
  EXPECT_EQ(added.mode, ProjectMode::accumulate);
  EXPECT_EQ(added.projections[0].out, 10);
  EXPECT_EQ(std::get<ProjectStep>(steps[3]).in, 10);
}

TEST(Fuse, AValueThatIsReadLaterIsNotOverwritten) {
  std::vector<Step> steps = {EmbedStep{0, 0, 10, 1}, project(10, 11), sum(10, 11, 12), sum(12, 10, 13)};
  fuse_steps(steps, {13});
  EXPECT_EQ(std::get<ProjectStep>(steps[1]).mode, ProjectMode::store);
  EXPECT_EQ(std::get<CombineStep>(steps[2]).a, 10);
}

TEST(Fuse, InputsAndOutputsOfTheRegionAreKept) {
  std::vector<Step> steps = {project(1, 2), project(2, 3), sum(1, 3, 4)};
  fuse_steps(steps, {1, 4});
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(std::get<ProjectStep>(steps[1]).mode, ProjectMode::store);
}

TEST(Fuse, ASumThatIsTheOutputIsMadeInTheOutput) {
  std::vector<Step> steps = {EmbedStep{0, 0, 1, 1}, project(1, 2), project(2, 3), sum(1, 3, 4)};
  fuse_steps(steps, {4});
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(std::get<EmbedStep>(steps[0]).out, 4);
  EXPECT_EQ(std::get<ProjectStep>(steps[2]).projections[0].out, 4);
}

TEST(Fuse, ScalesGoIntoTheEmbeddingAndTheSum) {
  std::vector<Step> steps = {EmbedStep{0, 0, 1, 1}, scale(1, 2, 3.0f), project(2, 3), scale(3, 4, 0.5f), sum(2, 4, 5)};
  fuse_steps(steps, {5});
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(std::get<EmbedStep>(steps[0]).scale, 3.0f);
  EXPECT_EQ(std::get<EmbedStep>(steps[0]).out, 2);
  const auto& scaled = std::get<CombineStep>(steps[2]);
  EXPECT_EQ(scaled.factor, 0.5f);
  EXPECT_EQ(scaled.b, 3);
}

TEST(Fuse, ANormAfterAProjectionAddsToTheResidual) {
  std::vector<Step> steps = {EmbedStep{0, 0, 1, 1}, project(1, 2), NormStep{{NormKind::rms, 0, kAbsent, 1e-6f, 0, 8}, 2, 3, false}, sum(1, 3, 4), project(4, 5)};
  fuse_steps(steps, {5});
  ASSERT_EQ(steps.size(), 4u);
  EXPECT_TRUE(std::get<NormStep>(steps[2]).accumulate);
  EXPECT_EQ(std::get<NormStep>(steps[2]).out, 1);
}

}  // namespace
}  // namespace pteron::cpu_backend
