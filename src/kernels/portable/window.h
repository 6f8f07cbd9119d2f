// Images with up to three spatial dimensions, and the windows that convolutions and poolings move over them.
#pragma once

#include <array>

#include "kernels/portable/shape.h"

namespace pteron::portable {

inline constexpr size_t kSpatial = 3;

// A tensor [N, C, spatial...] seen with exactly three spatial dimensions; missing ones have size 1 and stand in front.
struct Image {
  int64_t batch = 0, channels = 0, batch_step = 0, channel_step = 0;
  std::array<int64_t, kSpatial> size{1, 1, 1}, step{0, 0, 0};

  // `lead` dimensions (2, or 1 where there is no batch) stand before the spatial ones.
  explicit Image(const Tensor& tensor, size_t lead = 2);
};

// One spatial dimension of a window.
struct Window {
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1, output_padding = 0;

  int64_t reach() const { return dilation * (kernel - 1) + 1; }
  // Positions of the window over `size` elements; with `ceil`, the last may hang over the end.
  int64_t positions(int64_t size, bool ceil = false) const;
};

// The windows of all spatial dimensions from lists with one entry or one for each; an empty list means `otherwise`.
struct Windows {
  std::array<Window, kSpatial> at{};
};
// Fills `member` of the last `dims` windows.
Status read_windows(const IntList& list, size_t dims, int64_t minimum, std::string_view field, int64_t Window::*member, Windows& windows);

}  // namespace pteron::portable
