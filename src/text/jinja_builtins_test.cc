#include "text/jinja_builtins.h"

#include <gtest/gtest.h>

namespace pteron::text::jinja {
namespace {

Value text(std::string_view value) { return Value::string(std::string(value)); }

TEST(JinjaBuiltins, TheMeterRunsOut) {
  Meter meter(3, 10);
  EXPECT_TRUE(meter.step().ok());
  EXPECT_TRUE(meter.work(31).ok());  // one step
  EXPECT_TRUE(meter.work(10).ok());  // none
  EXPECT_TRUE(meter.step().ok());
  EXPECT_EQ(meter.step().code(), Code::out_of_capacity);
  EXPECT_TRUE(meter.charge(9).ok());
  EXPECT_EQ(meter.charge(2).code(), Code::out_of_capacity);
  EXPECT_TRUE(meter.charge(1).ok());
}

TEST(JinjaBuiltins, ValuesThatAreTooLargeAreNotAdmitted) {
  const Meter meter(1, 100);
  EXPECT_TRUE(meter.admit(text(std::string(99, 'a'))).ok());
  EXPECT_FALSE(meter.admit(text(std::string(100, 'a'))).ok());
  Value deep = Value::list({});
  for (int i = 0; i < 50; ++i) deep = Value::list({deep});
  EXPECT_TRUE(meter.admit(deep).ok());
  for (int i = 0; i < 200; ++i) deep = Value::list({deep});
  EXPECT_FALSE(Meter(1, 100000).admit(deep).ok());
}

TEST(JinjaBuiltins, ArgumentsAreBound) {
  Arguments arguments{{Value::integer(5)}, {{"b", text("x")}}};
  const auto bound = Bound::bind("f", arguments, {"a", "b", "c"});
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(*bound->integer(0, 0), 5);
  EXPECT_EQ(*bound->string(1, ""), "x");
  EXPECT_EQ(*bound->integer(2, 7), 7);
  EXPECT_TRUE(bound->truthy(2, true));
  EXPECT_EQ(bound->get(2), nullptr);
  EXPECT_FALSE(bound->integer(1, 0).ok());
  EXPECT_FALSE(bound->string(0, "").ok());
}

TEST(JinjaBuiltins, WrongArgumentsAreNamed) {
  Arguments many{{Value(), Value()}, {}}, unknown{{}, {{"z", Value()}}}, twice{{Value()}, {{"a", Value()}}};
  EXPECT_NE(Bound::bind("f", many, {"a"}).status().message().find("f: too many arguments"), std::string::npos);
  EXPECT_NE(Bound::bind("f", unknown, {"a"}).status().message().find("'z'"), std::string::npos);
  EXPECT_NE(Bound::bind("f", twice, {"a"}).status().message().find("given twice"), std::string::npos);
}

TEST(JinjaBuiltins, AttributesAndItems) {
  Meter meter(100, 1000);
  const Value dict = Value::make_dict({{text("items"), Value::integer(1)}, {text("a"), Value::integer(2)}, {text("_x"), Value::integer(3)}});
  EXPECT_EQ(get_attribute(dict, "a", meter)->integer(), 2);
  EXPECT_TRUE(get_attribute(dict, "items", meter)->is(Kind::callable));  // methods first
  EXPECT_EQ(get_item(dict, text("items"), meter)->integer(), 1);         // items first
  EXPECT_TRUE(get_attribute(dict, "_x", meter)->is(Kind::undefined));
  EXPECT_EQ(get_item(dict, text("_x"), meter)->integer(), 3);
  const Value list = Value::list({text("p"), text("q")});
  EXPECT_EQ(get_item(list, Value::integer(-1), meter)->text(), "q");
  EXPECT_TRUE(get_item(list, Value::integer(2), meter)->is(Kind::undefined));
  EXPECT_EQ(get_item(text("h\xc3\xa9"), Value::integer(1), meter)->text(), "\xc3\xa9");
  EXPECT_FALSE(get_attribute(Value::undefined("'u'"), "a", meter).ok());
  EXPECT_FALSE(get_item(Value(), Value::integer(0), meter).ok());
}

TEST(JinjaBuiltins, Functions) {
  Meter meter(100, 10000);
  Arguments big{{Value::integer(100001)}, {}}, zero{{Value::integer(1), Value::integer(2), Value::integer(0)}, {}}, wide{{Value::integer(INT64_MIN), Value::integer(INT64_MAX)}, {}};
  Value range = global_function("range", meter);
  EXPECT_FALSE(range.callable().call(big).ok());
  EXPECT_FALSE(range.callable().call(zero).ok());
  EXPECT_FALSE(range.callable().call(wide).ok());
  Arguments pairs{{Value::list({Value::tuple({text("a"), Value::integer(1)})})}, {{"b", Value::integer(2)}}};
  EXPECT_EQ(global_function("dict", meter).callable().call(pairs)->dict().entries.size(), 2u);
  Arguments none;
  EXPECT_FALSE(global_function("lipsum", meter).callable().call(none).ok());
  EXPECT_FALSE(global_function("cycler", meter).callable().call(none).ok());
  EXPECT_TRUE(global_function("open", meter).is(Kind::undefined));
}

}  // namespace
}  // namespace pteron::text::jinja
