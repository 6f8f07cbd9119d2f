#include "format/text_checks.h"

#include <gtest/gtest.h>

namespace pteron::format {
namespace {

using namespace std::string_view_literals;

TEST(TextChecks, AcceptsUtf8OfEveryLength) {
  for (std::string_view text : {""sv, "plain"sv, "nul \0 inside"sv, "\xc2\x80"sv, "\xdf\xbf"sv, "\xe0\xa0\x80"sv, "\xed\x9f\xbf"sv, "\xee\x80\x80"sv, "\xef\xbf\xbf"sv,
                                "\xf0\x90\x80\x80"sv, "\xf4\x8f\xbf\xbf"sv, "caf\xc3\xa9 \xe2\x96\x81 \xf0\x9f\x98\x80"sv}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
}

TEST(TextChecks, RefusesWhatIsNotUtf8) {
  for (std::string_view text : {"\x80"sv, "\xbf"sv, "\xc0\x80"sv, "\xc1\xbf"sv, "\xe0\x9f\xbf"sv, "\xed\xa0\x80"sv, "\xf0\x8f\xbf\xbf"sv, "\xf4\x90\x80\x80"sv,
                                "\xf5\x80\x80\x80"sv, "\xff"sv, "\xc3"sv, "\xe2\x96"sv, "\xf0\x9f\x98"sv, "\xc3("sv, "\xe2\x28\xa1"sv, "a\xe2\x96z"sv}) {
    EXPECT_FALSE(is_utf8(text)) << text.size();
  }
}

TEST(TextChecks, NamesAreTextWithSomethingInIt) {
  EXPECT_TRUE(check_text("", "f").ok());
  EXPECT_TRUE(check_name("aten::add", "f").ok());
  EXPECT_EQ(check_name("", "values[3].name").detail().field, "values[3].name");
  EXPECT_EQ(check_name("a\0b"sv, "f").detail().found, "a NUL inside");
  EXPECT_EQ(check_text("\xff"sv, "f").detail().expected, "UTF-8");
}

}  // namespace
}  // namespace pteron::format
