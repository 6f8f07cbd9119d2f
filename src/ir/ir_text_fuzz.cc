// Any text: parsed or refused; what parses prints and parses again to the same text.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ir/parser.h"
#include "ir/printer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = pteron::ir::parse({reinterpret_cast<const char*>(data), size});
  if (!module.ok()) return 0;
  const auto text = pteron::ir::print(*module);
  if (!text.ok()) return 0;
  const auto again = pteron::ir::parse(*text);
  if (!again.ok()) std::abort();
  const auto second = pteron::ir::print(*again);
  if (!second.ok() || *second != *text) std::abort();
  return 0;
}
