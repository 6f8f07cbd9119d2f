// Chat templates: the Jinja subset that they use, in the environment that Hugging Face gives them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace pteron::text {

struct RenderOptions {
  bool add_generation_prompt = true;
  std::string bos_token, eos_token;
  std::optional<std::string> now;  // for strftime_now, as 2024-07-26T09:05:03; unset: the clock
};

// A parsed template. Immutable; rendering from several threads is fine. Templates are not trusted: sources up to 1 MiB, rendering bounded in
// steps, memory and depth; nothing outside the given variables can be reached or changed.
class ChatTemplate {
 public:
  // invalid_data with field "line N" for a template that does not compile.
  static Result<ChatTemplate> parse(std::string_view source);

  // Renders with the members of `variables`, a JSON object (`messages`, `tools`, anything else), and `add_generation_prompt`, `bos_token`,
  // `eos_token`, which variables of these names override. `tools` and `documents` are none where they are not given.
  // Errors at run time (raise_exception among them) have field "line N".
  Result<std::string> render(std::string_view variables, const RenderOptions& options = {}) const;

  // The same, and where `generation` blocks wrote: code points [begin, end).
  Result<std::pair<std::string, std::vector<std::pair<size_t, size_t>>>> render_with_spans(std::string_view variables, const RenderOptions& options = {}) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace pteron::text
