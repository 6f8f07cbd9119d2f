#include "ir/digest_source.h"

#include <gtest/gtest.h>

namespace pteron::ir {
namespace {

TEST(DigestSource, HasATypeButNoContents) {
  const ConstantPtr source = make_digest_source(ScalarType::Half, {3, 2}, "abcd");
  EXPECT_EQ(source->nbytes(), 12u);
  EXPECT_EQ(source->shape(), (std::vector<int64_t>{3, 2}));
  float out[6];
  const Status status = source->read_rows_f32(0, 3, out);
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_EQ(status.detail().found, "sha256 abcd");
}

}  // namespace
}  // namespace pteron::ir
