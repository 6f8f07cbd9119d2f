// Any bytes as a payload: read or refused, and what was read writes back to the same bytes.
#include <cstdlib>

#include "backends/cpu/payload/plan.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const pteron::ByteSpan payload(reinterpret_cast<const std::byte*>(data), size);
  const auto plan = pteron::cpu_backend::read_plan(payload);
  if (!plan.ok()) return 0;
  const auto again = pteron::cpu_backend::write_plan(*plan);
  if (again.size() != size || !std::equal(again.begin(), again.end(), payload.begin())) std::abort();
  return 0;
}
