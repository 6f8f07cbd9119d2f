#include "import/named_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/constant_recipes.h"

namespace pteron::importer {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NamedWeights, FindsByName) {
  NamedWeights weights("folder");
  const ConstantPtr a = constant_from_values({1}, {1}).value();
  ASSERT_TRUE(weights.add("b", a, "one.safetensors").ok());
  ASSERT_TRUE(weights.add("a", constant_from_values({1}, {2}).value(), "two.safetensors").ok());
  EXPECT_EQ(weights.find("b"), a);
  EXPECT_EQ(weights.find("c"), nullptr);
  EXPECT_THAT(weights.names(), ElementsAre("a", "b"));
  EXPECT_EQ(weights.location("a"), "two.safetensors");
  EXPECT_EQ(weights.location("c"), "folder");
}

TEST(NamedWeights, ANameIsTakenOnce) {
  NamedWeights weights("folder");
  const ConstantPtr a = constant_from_values({1}, {1}).value();
  ASSERT_TRUE(weights.add("a", a, "one").ok());
  const Status status = weights.add("a", constant_from_values({1}, {2}).value(), "two");
  EXPECT_EQ(status.code(), Code::invalid_data);
  EXPECT_THAT(status.message(), HasSubstr("(two: a): expected one tensor of that name, found another one in one"));
  EXPECT_EQ(weights.find("a"), a);
}

}  // namespace
}  // namespace pteron::importer
