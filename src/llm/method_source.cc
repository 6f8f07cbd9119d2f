#include "llm/method_source.h"

#include <algorithm>
#include <string>

namespace pteron::llm {

const MethodInfo* find_method(std::span<const MethodInfo> infos, std::string_view name) {
  const auto at = std::find_if(infos.begin(), infos.end(), [&](const MethodInfo& info) { return info.name == name; });
  return at == infos.end() ? nullptr : &*at;
}

}  // namespace pteron::llm

namespace pteron {

Result<std::string_view> MethodSource::constant_string(std::string_view name) const {
  const MethodInfo* info = llm::find_method(infos(), name);
  const std::string field(name);
  if (info == nullptr) return Status::error(Code::not_found, "the program has no such constant method", {"", field, "a constant method", "nothing"});
  if (!info->constant || info->outputs.size() != 1 || info->outputs[0].kind != ValueKind::string) {
    return Status::error(Code::invalid_data, "malformed constant method", {"", field, "a constant method that returns one string", "something else"});
  }
  return std::string_view(info->outputs[0].string_value);
}

}  // namespace pteron
