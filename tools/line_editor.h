// Lines from a person, with editing and history on a terminal, or from a pipe.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace pteron::tools {

class LineEditor {
 public:
  LineEditor();
  ~LineEditor();
  // Whether a person sits at a terminal.
  bool interactive() const;
  // The next line without its end; nothing at the end of input.
  std::optional<std::string> read(const std::string& prompt);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pteron::tools
