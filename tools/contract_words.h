// An I/O contract in plain words.
#pragma once

#include <string>

#include "tools/verb.h"

namespace pteron::tools {

// A paragraph about layers, windows, cache bytes and, for a prompt of `prompt` tokens (0: none asked), how it is split into calls.
// `contract` is the object of `io_contract`; parts that it lacks are left out.
std::string contract_words(const Json& contract, size_t prompt);

}  // namespace pteron::tools
