#include "llm/stop_strings.h"

#include <algorithm>

namespace pteron::llm {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
  // Longest first: of those that end together the longest is met.
  std::stable_sort(stops_.begin(), stops_.end(), [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

bool StopStrings::push(std::string_view text, std::string& out) {
  if (!matched_.empty()) return true;
  if (stops_.empty()) {
    out += text;
    return false;
  }
  const size_t known = held_.size();  // no stop string ends before here
  held_ += text;
  for (size_t end = known + 1; end <= held_.size(); ++end) {
    const std::string_view so_far(held_.data(), end);
    for (const std::string& stop : stops_) {
      if (!so_far.ends_with(stop)) continue;
      matched_ = stop;
      out.append(held_, 0, end - stop.size());
      held_.clear();
      return true;
    }
  }
  // Keep the longest end that is the beginning of a stop string.
  size_t keep = std::min(held_.size(), stops_.front().size() - 1);
  const auto begins_stop = [&](std::string_view tail) {
    return std::any_of(stops_.begin(), stops_.end(), [&](const std::string& stop) { return tail.size() < stop.size() && stop.starts_with(tail); });
  };
  while (keep > 0 && !begins_stop(std::string_view(held_).substr(held_.size() - keep))) --keep;
  out.append(held_, 0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return false;
}

void StopStrings::flush(std::string& out) {
  out += held_;
  held_.clear();
}

}  // namespace pteron::llm
