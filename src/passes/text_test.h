// For tests: the text of a module after a pass.
#pragma once

#include <string>
#include <string_view>

#include "ir/parser.h"
#include "ir/printer.h"
#include "ir/verifier.h"
#include "passes/passes.h"

namespace pteron::passes {

// "error: ..." where reading, the pass, or the verification after it fails.
inline std::string after(std::string_view pass, std::string_view text, ir::Notes* notes = nullptr) {
  auto module = ir::parse(text);
  if (!module.ok()) return "error: " + module.status().message();
  ir::Notes own;
  Status status = find_pass(pass)->run(*module, notes ? *notes : own);
  if (status.ok()) status = ir::verify(*module);
  if (!status.ok()) return "error: " + status.message();
  auto out = ir::print(*module);
  return out.ok() ? *out : "error: " + out.status().message();
}

}  // namespace pteron::passes
