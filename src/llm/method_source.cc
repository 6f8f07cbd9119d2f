#include "llm/method_source.h"

#include <algorithm>

namespace pteron::llm {

const MethodInfo* find_method(std::span<const MethodInfo> infos, std::string_view name) {
  const auto at = std::find_if(infos.begin(), infos.end(), [&](const MethodInfo& info) { return info.name == name; });
  return at == infos.end() ? nullptr : &*at;
}

}  // namespace pteron::llm
