// Loads and runs every method of arbitrary bytes that verify as a program: whatever kernels are asked to do must end in a result or an error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/portable/families.h"
#include "package/open.h"
#include "runtime/program.h"

namespace {

using namespace pteron;

constexpr int64_t kMaxArena = 1 << 20;

bool small(const MethodInfo& info) {
  int64_t total = 0;
  for (int64_t bytes : info.arena_bytes) total += bytes;
  for (const auto* slots : {&info.inputs, &info.outputs}) {
    for (const SlotInfo& slot : *slots) total += static_cast<int64_t>(slot.nbytes);
  }
  return total <= kMaxArena && total >= 0;
}

// Gives an input its stored value, or a tensor of a repeated byte.
Status set_input(Method& method, size_t index, uint8_t fill, std::vector<std::vector<uint64_t>>& held) {
  const SlotInfo& slot = method.info().inputs[index];
  switch (slot.kind) {
    case ValueKind::none: return method.set_input_none(index);
    case ValueKind::number_int: return method.set_input(index, slot.int_value);
    case ValueKind::number_double: return method.set_input(index, slot.double_value);
    case ValueKind::boolean: return method.set_input(index, slot.bool_value);
    case ValueKind::string: return method.set_input(index, std::string_view(slot.string_value));
    case ValueKind::list: return Status::error(Code::unsupported, "list input");
    case ValueKind::tensor: break;
  }
  held.emplace_back(slot.nbytes / 8 + 1);
  std::memset(held.back().data(), fill, slot.nbytes);
  return method.set_input(index, TensorView{slot.dtype, slot.sizes, slot.dim_order, held.back().data(), slot.nbytes});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes(size);  // at an aligned address
  if (size > 0) std::memcpy(bytes.data(), data, size);
  auto opened = package::from_bytes(bytes);
  if (!opened.ok()) return 0;
  const runtime::KernelTable kernels{portable::all_kernels()};
  runtime::LoadOptions options;
  options.kernels = &kernels;
  for (const MethodInfo& info : runtime::method_infos(opened->program)) {
    if (!small(info)) continue;
    auto method = runtime::load_method(opened->program, info.name, options);
    if (!method.ok()) {
      if (method.status().message().empty()) std::abort();
      continue;
    }
    std::vector<std::vector<uint64_t>> held;
    for (const uint8_t fill : {0, 1, 0x7f}) {
      Status status;
      for (size_t i = 0; i < info.inputs.size() && status.ok(); ++i) status = set_input(*method, i, fill, held);
      if (status.ok()) status = method->allocate_outputs();
      if (status.ok()) status = method->execute();
      if (!status.ok() && status.message().empty()) std::abort();
    }
  }
  return 0;
}
