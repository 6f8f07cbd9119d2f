#include "kernels/portable/window.h"

namespace pteron::portable {

Image::Image(const Tensor& tensor, size_t lead) {
  if (lead == 2) {
    batch = tensor.size(0);
    batch_step = tensor.stride(0);
  } else {
    batch = 1;
  }
  channels = tensor.size(lead - 1);
  channel_step = tensor.stride(lead - 1);
  const size_t dims = tensor.rank() - lead;
  for (size_t d = 0; d < dims; ++d) {
    size[kSpatial - dims + d] = tensor.size(lead + d);
    step[kSpatial - dims + d] = tensor.stride(lead + d);
  }
}

int64_t Window::positions(int64_t size, bool ceil) const {
  const int64_t room = size + 2 * padding - reach();
  if (room < 0) return ceil && room > -stride && size + padding > 0 ? 1 : 0;
  int64_t count = room / stride + 1;
  if (ceil && room % stride != 0 && count * stride < size + padding) ++count;  // it must start inside the image or its left padding
  return count;
}

Status read_windows(const IntList& list, size_t dims, int64_t minimum, std::string_view field, int64_t Window::*member, Windows& windows) {
  if (list.empty()) return {};
  if (list.size() != 1 && list.size() != dims)
    return bad("wrong number of entries", field, std::to_string(dims), std::to_string(list.size()));
  for (size_t d = 0; d < dims; ++d) {
    const int64_t value = list[list.size() == 1 ? 0 : d];
    if (value < minimum || value > (int64_t{1} << 24))
      return bad("entry is out of range", field, "at least " + std::to_string(minimum), std::to_string(value));
    windows.at[kSpatial - dims + d].*member = value;
  }
  return {};
}

}  // namespace pteron::portable
