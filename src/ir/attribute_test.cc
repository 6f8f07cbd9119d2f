#include "ir/attribute.h"

#include <gtest/gtest.h>

#include <limits>

namespace pteron::ir {
namespace {

TEST(Attribute, NumbersNeverLookLikeIntegers) {
  EXPECT_EQ(number_to_string(1), "1.0");
  EXPECT_EQ(number_to_string(1e-5), "1e-05");
  EXPECT_EQ(number_to_string(-0.125), "-0.125");
  EXPECT_EQ(number_to_string(-std::numeric_limits<double>::infinity()), "-inf");
  EXPECT_EQ(std::stod(number_to_string(0.1)), 0.1);
}

TEST(Attribute, EachKindHasItsText) {
  EXPECT_EQ(to_string(Attribute(NoneValue{})), "none");
  EXPECT_EQ(to_string(Attribute(int64_t{-3})), "-3");
  EXPECT_EQ(to_string(Attribute(true)), "true");
  EXPECT_EQ(to_string(Attribute(std::string("a\"b\\"))), "\"a\\\"b\\\\\"");
  EXPECT_EQ(to_string(Attribute(ScalarType::BFloat16)), "bfloat16");
  EXPECT_EQ(to_string(Attribute(std::vector<int64_t>{1, 2})), "[1, 2]");
  EXPECT_EQ(to_string(Attribute(std::vector<double>{1, 0.5})), "[1.0, 0.5]");
}

}  // namespace
}  // namespace pteron::ir
