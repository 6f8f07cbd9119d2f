#include "text/jinja_value.h"

#include <gtest/gtest.h>

namespace pteron::text::jinja {
namespace {

Value text(std::string_view value) { return Value::string(std::string(value)); }

TEST(JinjaValue, TruthIsPythons) {
  for (const Value& value : {Value(), Value::none(), Value::boolean(false), Value::integer(0), Value::number(0), text(""), Value::list({}), Value::tuple({}), Value::make_dict()}) {
    EXPECT_FALSE(value.truthy()) << value.type_name();
  }
  for (const Value& value : {Value::boolean(true), Value::integer(-1), Value::number(0.5), text("0"), Value::list({Value()}), Value::generator({})}) {
    EXPECT_TRUE(value.truthy()) << value.type_name();
  }
}

TEST(JinjaValue, Equality) {
  EXPECT_TRUE(equals(Value::integer(1), Value::number(1)));
  EXPECT_TRUE(equals(Value::boolean(true), Value::integer(1)));
  EXPECT_FALSE(equals(text("1"), Value::integer(1)));
  EXPECT_FALSE(equals(Value::list({}), Value::tuple({})));
  EXPECT_TRUE(equals(Value::list({text("a"), Value::none()}), Value::list({text("a"), Value::none()})));
  const Value one = Value::make_dict({{text("a"), Value::integer(1)}, {text("b"), Value::integer(2)}});
  const Value other = Value::make_dict({{text("b"), Value::integer(2)}, {text("a"), Value::integer(1)}});
  EXPECT_TRUE(equals(one, other));
  other.dict().set(text("c"), Value::none());
  EXPECT_FALSE(equals(one, other));
}

TEST(JinjaValue, Order) {
  EXPECT_TRUE(*less(Value::integer(1), Value::number(1.5)));
  EXPECT_TRUE(*less(text("Z"), text("a")));
  EXPECT_TRUE(*less(Value::list({Value::integer(1)}), Value::list({Value::integer(1), Value::integer(0)})));
  EXPECT_FALSE(less(text("a"), Value::integer(1)).ok());
  EXPECT_NE(less(Value::undefined("'x'"), Value::integer(1)).status().message().find("'x' is undefined"), std::string::npos);
}

TEST(JinjaValue, Containment) {
  EXPECT_TRUE(*contains(text("abc"), text("bc")));
  EXPECT_FALSE(contains(text("abc"), Value::integer(1)).ok());
  EXPECT_TRUE(*contains(Value::list({Value::integer(1)}), Value::boolean(true)));
  EXPECT_TRUE(*contains(Value::make_dict({{text("k"), Value::none()}}), text("k")));
  EXPECT_FALSE(*contains(Value(), text("k")));
  EXPECT_FALSE(contains(Value::integer(1), text("k")).ok());
}

TEST(JinjaValue, Iteration) {
  EXPECT_EQ(iterate(text("h\xc3\xa9"))->size(), 2u);
  EXPECT_EQ((*iterate(Value::make_dict({{text("k"), Value::none()}})))[0].text(), "k");
  EXPECT_TRUE(iterate(Value())->empty());
  EXPECT_FALSE(iterate(Value::none()).ok());
}

TEST(JinjaValue, DictsKeepTheirOrderAndReplace) {
  const Value dict = Value::make_dict({{text("b"), Value::integer(1)}, {text("a"), Value::integer(2)}});
  dict.dict().set(text("b"), Value::integer(3));
  ASSERT_EQ(dict.dict().entries.size(), 2u);
  EXPECT_EQ(dict.dict().entries[0].second.integer(), 3);
  EXPECT_EQ(dict.dict().find("zz"), nullptr);
}

TEST(JinjaValue, WeightCountsWhatIsHeldTwice) {
  EXPECT_EQ(text("abc").weight(), 4u);
  Value value = Value::list({text("abc")});
  EXPECT_EQ(value.weight(), 5u);
  EXPECT_EQ(value.depth(), 1u);
  for (int i = 0; i < 100; ++i) value = Value::list({value, value});
  EXPECT_EQ(value.weight(), UINT64_MAX);
  EXPECT_EQ(value.depth(), 101u);
  EXPECT_EQ(value.extent(), 2u);
  const Value dict = Value::make_dict({{text("k"), Value::list({Value::none()})}});
  EXPECT_EQ(dict.weight(), 5u);
  EXPECT_EQ(dict.depth(), 2u);
}

}  // namespace
}  // namespace pteron::text::jinja
