// Stop strings in streamed text: nothing that could still become one is let out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace pteron::llm {

class StopStrings {
 public:
  // Empty strings are ignored.
  explicit StopStrings(std::vector<std::string> stops);

  // Adds text and appends what is certain by now to `out`. True once a stop string is complete: the first to end, of those that end
  // together the longest. Neither it nor what follows is ever let out; further text is dropped.
  bool push(std::string_view text, std::string& out);
  // Appends what was held back, at the end of the text.
  void flush(std::string& out);
  // The stop string that was met; empty before.
  std::string_view matched() const { return matched_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;  // the end of the text so far: a beginning of a stop string
  std::string_view matched_;
};

}  // namespace pteron::llm
