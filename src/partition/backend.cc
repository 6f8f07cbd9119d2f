#include "partition/backend.h"

namespace pteron::partition {

Status unknown_option(std::string_view backend, std::string_view key, std::span<const std::string_view> known) {
  std::string list;
  for (std::string_view name : known) list += (list.empty() ? "" : ", ") + std::string(name);
  return Status::error(Code::invalid_argument, "backend " + std::string(backend) + " has no such option",
                       {.expected = list.empty() ? "no options" : "one of " + list, .found = std::string(key)});
}

}  // namespace pteron::partition
