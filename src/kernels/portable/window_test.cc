#include "kernels/portable/window.h"

#include <gtest/gtest.h>

#include <vector>

namespace pteron::portable {
namespace {

TEST(Window, PositionsAsPyTorchCountsThem) {
  EXPECT_EQ((Window{.kernel = 3}.positions(7)), 5);
  EXPECT_EQ((Window{.kernel = 3, .stride = 2}.positions(8)), 3);
  EXPECT_EQ((Window{.kernel = 3, .stride = 2}.positions(8, true)), 4);
  EXPECT_EQ((Window{.kernel = 3, .dilation = 2}.positions(7)), 3);
  EXPECT_EQ((Window{.kernel = 9}.positions(7)), 0);
  // With ceil, a window that would start in the right padding does not count.
  EXPECT_EQ((Window{.kernel = 2, .stride = 4, .padding = 1}.positions(3, true)), 1);
}

TEST(Window, ImagesHaveThreeSpatialDimensions) {
  const std::vector<int32_t> sizes = {2, 3, 5};
  const std::vector<uint8_t> order = {0, 1, 2};
  const Image image(Tensor(ScalarType::Float, sizes, order, false));
  EXPECT_EQ(image.batch, 2);
  EXPECT_EQ(image.channels, 3);
  EXPECT_EQ(image.size[0], 1);
  EXPECT_EQ(image.size[2], 5);
  EXPECT_EQ(image.channel_step, 5);
}

TEST(Window, ListsHaveOneEntryOrAll) {
  std::vector<runtime::Value> table = {runtime::Value(int64_t{2}), runtime::Value(int64_t{0})};
  const std::vector<int32_t> one = {0}, two = {0, 1}, none = {};
  Windows windows;
  EXPECT_TRUE(read_windows(IntList({table.data(), one}), 2, 1, "stride", &Window::stride, windows).ok());
  EXPECT_EQ(windows.at[1].stride, 2);
  EXPECT_EQ(windows.at[2].stride, 2);
  EXPECT_TRUE(read_windows(IntList({table.data(), none}), 2, 1, "stride", &Window::stride, windows).ok());
  EXPECT_FALSE(read_windows(IntList({table.data(), two}), 2, 1, "stride", &Window::stride, windows).ok());
  EXPECT_TRUE(read_windows(IntList({table.data(), two}), 2, 0, "padding", &Window::padding, windows).ok());
  EXPECT_FALSE(read_windows(IntList({table.data(), two}), 3, 0, "padding", &Window::padding, windows).ok());
}

}  // namespace
}  // namespace pteron::portable
