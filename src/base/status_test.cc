#include "base/status.h"

#include <gtest/gtest.h>

namespace pteron {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Status::error(Code::invalid_argument, "odd number", {.file = {}, .field = "n", .expected = "an even number", .found = std::to_string(n)});
  return n / 2;
}

Result<int> quarter(int n) {
  PTERON_ASSIGN(const int h, half(n));
  return half(h);
}

TEST(Status, SuccessIsEmpty) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::ok);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.detail().file, "");
}

TEST(Status, MessageNamesEveryPart) {
  Status status = quarter(6).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.message(), "odd number (n): expected an even number, found 3");
  status = std::move(status).in_field("config").in_file("a.json");
  EXPECT_EQ(status.message(), "odd number (a.json: config.n): expected an even number, found 3");
  EXPECT_EQ(std::move(status).in_file("b.json").detail().file, "a.json");
}

TEST(Status, ControlCharactersStayOutOfTheLine) {
  const Status status = Status::error(Code::invalid_data, "bad key", {.file = "f", .field = "a\nb\x1b[2J", .expected = {}, .found = {}});
  EXPECT_EQ(status.message(), "bad key (f: a?b?[2J)");
}

TEST(Status, CopiesAreIndependent) {
  const Status a = half(1).status();
  Status b = a;
  b = std::move(b).in_file("x");
  EXPECT_EQ(a.detail().file, "");
  EXPECT_EQ(b.detail().file, "x");
}

TEST(Result, HoldsValue) {
  const Result<int> r = quarter(12);
  ASSERT_TRUE(r.ok());
  EXPECT_EQ(*r, 3);
  EXPECT_TRUE(r.status().ok());
}

}  // namespace
}  // namespace pteron
