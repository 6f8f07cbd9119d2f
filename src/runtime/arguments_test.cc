#include "runtime/arguments.h"

#include <gtest/gtest.h>

#include <vector>

namespace pteron::runtime {
namespace {

Status scale(KernelContext&, const Tensor& in, Scalar factor, std::optional<int64_t> bias, Tensor& out) {
  for (size_t i = 0; i < in.numel(); ++i)
    out.data<float>()[i] = in.data<float>()[i] * static_cast<float>(factor.as_double()) + static_cast<float>(bias.value_or(0));
  return {};
}
Status count(KernelContext&, IntList list, ResultSlot slot) {
  *slot.value = Value(static_cast<int64_t>(list.size()));
  return {};
}

struct Fixture : ::testing::Test {
  Fixture() {
    const std::vector<int32_t> sizes = {2};
    const std::vector<uint8_t> order = {0};
    in = Tensor(ScalarType::Float, sizes, order, false);
    out = in;
    in.set_data(from);
    out.set_data(to);
  }
  Status run(const Kernel& kernel, std::vector<Value> values) {
    std::vector<Value*> pointers;
    for (Value& value : values) pointers.push_back(&value);
    KernelContext context(pool, {});
    const Status status = kernel.run(context, pointers);
    last = values.back();
    return status;
  }
  ThreadPool pool{1};
  float from[2] = {1, 2}, to[2] = {};
  Tensor in, out;
  Value last;
};

constexpr Kernel kScale = make_kernel<&scale>("test::scale.out");
constexpr Kernel kCount = make_kernel<&count>("test::count");

TEST_F(Fixture, ParametersBecomeArguments) {
  EXPECT_EQ(kScale.min_args, 5);
  EXPECT_EQ(kCount.max_args, 2);
  ASSERT_TRUE(run(kScale, {Value(&in), Value(2.5), Value(int64_t{1}), Value(&out), Value(&out)}).ok());
  EXPECT_EQ(to[1], 6);
  ASSERT_TRUE(run(kScale, {Value(&in), Value(true), Value(), Value(&out), Value(&out)}).ok());
  EXPECT_EQ(to[1], 2);
}

TEST_F(Fixture, WrongKindsAreNamed) {
  const Status status = run(kScale, {Value(&in), Value(&in), Value(), Value(&out), Value(&out)});
  EXPECT_EQ(status.code(), Code::invalid_data);
  EXPECT_NE(status.message().find("argument 1"), std::string::npos) << status.message();
  EXPECT_NE(status.message().find("tensor"), std::string::npos) << status.message();
  EXPECT_FALSE(run(kScale, {Value(int64_t{1}), Value(1.0), Value(), Value(&out), Value(&out)}).ok());
  EXPECT_FALSE(run(kScale, {Value(&in), Value(1.0), Value(2.0), Value(&out), Value(&out)}).ok());
  EXPECT_FALSE(run(kScale, {Value(&in)}).ok());
}

TEST_F(Fixture, TensorsWithoutMemoryAreRefused) {
  in.set_data(nullptr);
  const Status status = run(kScale, {Value(&in), Value(1.0), Value(), Value(&out), Value(&out)});
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("memory"), std::string::npos) << status.message();
}

TEST_F(Fixture, ListsAreReadWhenTheyAreUsed) {
  std::vector<Value> table = {Value(int64_t{3}), Value(int64_t{4})};
  const std::vector<int32_t> items = {0, 1};
  const BoxedList list{table.data(), items};
  ASSERT_TRUE(run(kCount, {Value(Value::Kind::int_list, &list), Value()}).ok());
  EXPECT_EQ(last.integer(), 2);
  table[1] = Value(1.0);  // an instruction has put something else there
  EXPECT_EQ(run(kCount, {Value(Value::Kind::int_list, &list), Value()}).code(), Code::invalid_data);
}

TEST(Scalar, ToIntSaturates) {
  EXPECT_EQ((Scalar{Scalar::Kind::number, 0, 1e300}).as_int(), INT64_MAX);
  EXPECT_EQ((Scalar{Scalar::Kind::number, 0, -1e300}).as_int(), INT64_MIN);
  EXPECT_EQ((Scalar{Scalar::Kind::number, 0, -2.9}).as_int(), -2);
}

}  // namespace
}  // namespace pteron::runtime
